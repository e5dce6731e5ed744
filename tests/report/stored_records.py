"""Run records as a reproduction leaves them, made up so that their figures are known."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from twofold.experiments import CurvePoint, RunRecord, Scores, write_record

CPU = {
    "processor": "Xeon",
    "cores": "2",
    "system": "Linux",
    "python": "3.11.7",
    "numpy": "2.4.6",
    "torch": "2.13.0+cpu",
}
CUDA = CPU | {"cores": "16", "gpu": "NVIDIA H200", "torch": "2.11.0", "python": "3.12.3"}
ITEMS = {
    "mnist": (58_000, 2_000, 10_000),
    "pubfig83": (9_466, 1_052, 2_490),
    "yeast": (1_350, 150, 917),
    "scene": (1_090, 121, 1_196),
    "nuswide": (161_789, 0, 0),
}
EPOCHS = (1, 10, 60)

# Seconds of phase 1, seconds at the epochs, AUROC there, score of the neighbours: of seed 0.
MNIST: dict[str, tuple[float, tuple[float, ...], tuple[float, ...], float]] = {
    "fml-c": (0.3, (5.0, 50.0, 300.0), (0.98, 0.996, 0.998), 0.980),
    "fml-dp": (0.4, (5.0, 50.0, 300.0), (0.97, 0.990, 0.994), 0.975),
    "twofold": (0.01, (4.0, 40.0, 240.0), (0.985, 0.997, 0.999), 0.984),
    "siamese": (0.0, (10.0, 100.0, 600.0), (0.95, 0.990, 0.995), 0.972),
}
YEAST = {
    "fml-c": (0.02, (0.2, 0.8, 1.7), (0.52, 0.538, 0.540), 0.484),
    "twofold": (0.01, (0.2, 0.9, 1.8), (0.55, 0.570, 0.576), 0.554),
    "siamese": (0.0, (0.4, 1.5, 3.0), (0.51, 0.535, 0.541), 0.440),
}
SCENE = {
    "fml-c": (0.02, (0.2, 0.7, 1.5), (0.75, 0.820, 0.830), 0.761),
    "twofold": (0.01, (0.2, 0.7, 1.5), (0.80, 0.870, 0.881), 0.750),
    "siamese": (0.0, (0.4, 1.2, 2.4), (0.74, 0.830, 0.844), 0.731),
}


def record(
    data_set: str,
    method: str,
    seed: int = 0,
    *,
    targets: float = 0.3,
    seconds: tuple[float, ...] = (5.0, 50.0, 300.0),
    auroc: tuple[float, ...] = (0.98, 0.996, 0.998),
    neighbours: float = 0.98,
    score: str = "accuracy",
    metric: Any = "euclidean",
    device: str = "cuda",
    timed: tuple[float, ...] | None = None,
    **changes: Any,
) -> RunRecord:
    """Return one record; each seed is 0.001 better than the one before, and as fast."""
    train, validation, test = ITEMS[data_set]
    better = 0.001 * seed
    fields: dict[str, Any] = {
        "data_set": data_set,
        "method": method,
        "seed": seed,
        "configuration": {},
        "data": {
            "n_train": train,
            "n_validation": validation,
            "n_test": test,
            "n_labels": 10,
            "n_pairs": 20 * train,
        },
        "score": score,
        "measured": "2026-11-16",
        "commit": "abc1234",
        "machine": CPU if device == "cpu" else CUDA,
        "device": device,
        "seconds": {"targets": targets, "training": seconds[-1] - targets},
        "targets_seconds": timed if timed is not None else (targets,) * (3 if targets else 0),
        "curve": tuple(
            CurvePoint(epoch, second, min(value + better, 1.0), 0.5)
            for epoch, second, value in zip(EPOCHS, seconds, auroc, strict=False)
        ),
        "scores": Scores(
            auroc=min(auroc[-1] + better, 1.0),
            neighbours=neighbours + better,
            neighbour_metric=metric,
            epoch=EPOCHS[-1] - seed,
            validation=neighbours,
            retrieval={"recall_at_1": 0.9, "map_at_r": neighbours - 0.1},
        ),
    }
    return RunRecord(**fields | changes)


def several(
    data_set: str,
    figures: dict[str, tuple[float, tuple[float, ...], tuple[float, ...], float]],
    seeds: tuple[int, ...] = (0, 1, 2),
    **settings: Any,
) -> list[RunRecord]:
    """Return the records of several methods and seeds."""
    return [
        record(
            data_set,
            method,
            seed,
            targets=targets,
            seconds=seconds,
            auroc=auroc,
            neighbours=neighbours,
            **settings,
        )
        for method, (targets, seconds, auroc, neighbours) in figures.items()
        for seed in seeds
    ]


def phase_1_only(method: str, timed: tuple[float, ...]) -> RunRecord:
    """Return a record of NUS-WIDE's labels."""
    return record(
        "nuswide", method, score="jaccard", device="cpu", timed=timed, curve=(), scores=None
    )


def stored_records() -> list[RunRecord]:
    """Return records of two image sets, two multi-label sets and NUS-WIDE, from two machines."""
    multilabel = {"score": "jaccard", "metric": "dot"}
    return [
        *several("mnist", MNIST),
        record("mnist", "fml-c", device="cpu", timed=(0.2, 0.3, 0.4), curve=(), scores=None),
        record("pubfig83", "fml-c", neighbours=0.7),
        *several("yeast", YEAST, **multilabel),
        *several("scene", SCENE, **multilabel),
        phase_1_only("fml-c", (1.0, 2.0)),
        phase_1_only("fml-dp", (4.0, 4.0)),
        phase_1_only("twofold", (2.5,)),
    ]


def write_records(folder: Path, records: list[RunRecord]) -> None:
    """Write records where `reproduce` does, each machine's in a folder of its own."""
    for one in records:
        (folder / one.device).mkdir(parents=True, exist_ok=True)
        write_record(folder / one.device, one)


def image(shade: int) -> str:
    """Return a small grey image as data."""
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8), shade, dtype=np.uint8)).save(buffer, "png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def gallery_content(n_items: int = 3) -> dict[str, Any]:
    """Return a gallery as it stands in its file: the last neighbour of each item is wrong."""
    return {
        "format": "twofold-gallery",
        "format_version": 1,
        "set": "mnist",
        "method": "twofold",
        "seed": 0,
        "items": [
            {
                "image": image(10 * number),
                "label": "three",
                "neighbours": [
                    {
                        "image": image(100 + number + place),
                        "label": "three" if place < 4 else "eight",
                        "alike": place < 4,
                    }
                    for place in range(5)
                ],
            }
            for number in range(n_items)
        ],
    }


def write_gallery(folder: Path, content: dict[str, Any]) -> Path:
    """Write a gallery's file to its place."""
    path = folder / content["set"] / f"{content['method']}-seed{content['seed']}.gallery.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
