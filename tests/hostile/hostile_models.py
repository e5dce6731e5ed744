"""Models as a stranger might send them: mutated anywhere, signed again as if nothing had happened.

`fuzz_load` is one target of a fuzzer: bytes in, nothing out, an error if `twofold.load` let through
what is not finite, or failed with anything but a sentence of its own.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import shutil
import tempfile
import warnings
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sklearn.linear_model import Ridge

from twofold import LabelRelation, MetricLearner, Network, PairRelation, load
from twofold.datasets import Records
from twofold.matching import PairClassifier
from twofold.preparation import TablePreparation
from twofold.tasks import Decision, PreparedModel

RNG = np.random.default_rng
Y = np.arange(60) % 4
X = (RNG(0).standard_normal((60, 5)) + 2 * np.eye(4, 5)[Y]).astype(np.float32)
PAIRS = LabelRelation(Y).sample_pairs(2, 2, random_state=0)
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, -5, 1, 2, 3, 7, 10**6, 10**30, 0.5, -0.5, 1e-320, 1e38, 1e39, 1e308,
    10**400,
    "", "..", "/etc/passwd", "auto", "cuda:9", "mlp", "no such thing", "x" * 2000, [], [0], [-1],
    [[1]], [1e38] * 4, {}, {"Network": {}}, {"Network": {"checkpoint": "/tmp/owned"}},
    {"Network": {"max_epochs": -3}}, {"Path": {}}, [None], ["a"] * 5,
)  # fmt: skip
ODD_NUMBERS = (math.nan, math.inf, -math.inf, 0.0, 1e38, -1e38, 1e-45)
ODD_INTEGERS = (0, 1, 2, 34, 91, 127)


def small_learner(**parameters: Any) -> MetricLearner:
    return MetricLearner(4, random_state=0, device="cpu", **parameters)


@cache
def models() -> dict[str, Path]:
    """Return small models of every kind, made once in a process."""
    place = Path(tempfile.mkdtemp(prefix="twofold-models-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    quick = Network(max_epochs=1)
    learners = {
        "network": (small_learner(metric="seen", embedder=quick).fit(X, Y), False),
        "metric": (small_learner(embedder=quick).fit(X, Y), False),
        "map": (
            small_learner(feedback=2, validation_fraction=0).fit(X, relation=PAIRS),
            True,
        ),
        "regressor": (
            small_learner(feedback=0, embedder=Ridge()).fit(X, relation=PAIRS),
            True,
        ),
    }
    return {
        name: learner.save(place / name, **({"with_data": True} if with_data else {}))
        for name, (learner, with_data) in learners.items()
    }


def products(n_items: int = 24) -> Any:
    """Return a small table of every kind of column, each two rows being the same thing."""
    import pyarrow as pa

    things = ("lamp", "chair", "table", "printer")
    numbers = np.arange(n_items) // 2
    return pa.table(
        {
            "title": [f"{things[k % 4]} no {k} {'of' if row % 2 else 'by'} acme"
                      for row, k in enumerate(numbers)],
            "price": [float(10 + 3 * k) for k in numbers],
            "colour": [("red", "blue")[k % 2] for k in numbers],
            "since": [f"2020-01-{1 + k:02d}" for k in numbers],
        }
    )  # fmt: skip


@cache
def prepared_models() -> dict[str, Path]:
    """Return small models as `twofold fit` writes them, by what decides; made once in a process."""
    place = Path(tempfile.mkdtemp(prefix="twofold-prepared-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    table = products()
    first = np.arange(0, table.num_rows, 2)
    pairs = np.concatenate(
        [np.column_stack([first, first + 1]), np.column_stack([first, np.roll(first, 1)])]
    )
    similar = np.arange(len(pairs)) < first.size
    relation = PairRelation(*pairs.T, similar.astype(np.float32), table.num_rows)
    preparation = TablePreparation().fit(table)
    features = preparation.transform(table)
    learner = small_learner(feedback=2, validation_fraction=0).fit(features, relation=relation)
    made = {}
    for name, model in (("forest", "boosted"), ("linear", "logistic"), ("embedding", None)):
        classifier, decision = None, Decision("embedding", 0.5)
        if model is not None:
            classifier = PairClassifier(table, model=model, random_state=0).fit(pairs, similar)
            decision = Decision("pair model", classifier.threshold_)
        prepared = PreparedModel(learner, "table", preparation, decision, None, classifier)
        made[name] = prepared.save(place / name)
    return made


def copied(name: str, place: Path) -> Path:
    """Return a copy of a model, to be changed."""
    return Path(shutil.copytree({**models(), **prepared_models()}[name], place / "model"))


def sign(folder: Path) -> None:
    """Have the card note the digests that its files have."""
    file = folder / "model.json"
    try:
        card = json.loads(file.read_text())
        card["embedder"]["sha256"] = _digest(folder / card["embedder"]["file"])
        if card.get("metric_step"):
            card["metric_step"]["sha256"] = _digest(folder / "metric.safetensors")
        file.write_text(json.dumps(card))
    except (ValueError, OSError, LookupError, TypeError):
        pass  # so damaged that there is nothing to sign
    try:
        prepared = json.loads((folder / "prepared.json").read_text())
        prepared["sha256"] = {
            file.relative_to(folder).as_posix(): _digest(file)
            for file in folder.glob("*/*.safetensors")
        }
        (folder / "prepared.json").write_text(json.dumps(prepared))
    except (ValueError, OSError, TypeError):
        pass


def change_card(folder: Path, path: str, value: Any, file: str = "model.json") -> None:
    """Put a value at a place like "embedder/mean" of a card; DELETED removes the place."""
    card = json.loads((folder / file).read_text())
    *parents, last = path.split("/")
    part = card
    for name in parents:
        part = part[int(name) if isinstance(part, list) else name]
    key = int(last) if isinstance(part, list) else last
    if value is DELETED:
        del part[key]
    else:
        part[key] = value
    (folder / file).write_text(json.dumps(card))


def change_tensor(folder: Path, file: str, name: str, change: Any) -> None:
    """Replace a tensor of a file by what `change` makes of it; sign the model again."""
    tensors = load_file(folder / file)
    changed = change(tensors.pop(name))
    if changed is not None:
        tensors[name] = changed
    save_file({name: value.contiguous() for name, value in tensors.items()}, folder / file)
    sign(folder)


DELETED = object()


def mutate(folder: Path, rng: np.random.Generator, kept: Collection[str] = ()) -> None:
    """Change a model at random: its cards, its tensors, or bytes of any file but those `kept`."""
    files = [place for place in sorted(folder.rglob("*")) if place.is_file()]
    files = [place for place in files if place.name not in kept]
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.choice(["card", "card", "tensor", "bytes"])
        if kind == "card":
            _mutate_card(_some(files, ".json", rng), rng)
        elif kind == "tensor":
            _mutate_tensor(_some(files, ".safetensors", rng), rng)
        else:
            _mutate_bytes(_some(files, "", rng), rng)
    if rng.random() < 0.8:
        sign(folder)


def _some(files: list[Path], suffix: str, rng: np.random.Generator) -> Path:
    """Return one of the files that end so, if it is still there; else a name without a file."""
    places = [file for file in files if file.name.endswith(suffix)]
    return places[int(rng.integers(len(places)))] if places else Path("no such file")


def _mutate_card(file: Path, rng: np.random.Generator) -> None:
    try:
        card = json.loads(file.read_text())
    except (ValueError, OSError):  # mutated before
        return
    part = card
    while isinstance(part, dict | list) and part:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = keys[int(rng.integers(len(keys)))]
        inner = part[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            part = inner
            continue
        if rng.random() < 0.2:
            del part[key]
        elif isinstance(inner, float) and rng.random() < 0.5:
            part[key] = float(rng.choice(ODD_NUMBERS))
        else:
            part[key] = ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
        break
    file.write_text(json.dumps(card))


def _mutate_tensor(file: Path, rng: np.random.Generator) -> None:
    try:
        tensors = load_file(file)
    except Exception:  # mutated before
        return
    name = sorted(tensors)[int(rng.integers(len(tensors)))] if tensors else None
    if name is None:
        return
    tensor, kind = tensors[name], rng.integers(7)
    if kind == 0:
        del tensors[name]
    elif kind == 1 and tensor.numel():
        flat = tensor.flatten().clone()
        odd = ODD_NUMBERS if tensor.is_floating_point() else ODD_INTEGERS
        flat[int(rng.integers(flat.numel()))] = odd[int(rng.integers(len(odd)))]
        tensors[name] = flat.reshape(tensor.shape)
    elif kind == 2:
        tensors[name] = tensor[None]
    elif kind == 3 and tensor.ndim and len(tensor) > 1:
        tensors[name] = tensor[:-1]
    elif kind == 4:
        tensors[name] = tensor.to(torch.float64)
    elif kind == 5:
        tensors[f"{name}x"] = tensors.pop(name)
    else:
        tensors[name] = tensor * 1e38
    save_file({name: value.contiguous() for name, value in tensors.items()}, file)


def _mutate_bytes(file: Path, rng: np.random.Generator) -> None:
    if not file.is_file():  # taken away before
        return
    content = bytearray(file.read_bytes())
    kind = rng.integers(4)
    if kind == 0:
        content = content[: int(rng.integers(len(content) + 1))]
    elif kind == 1:
        file.unlink()
        return
    else:
        for _ in range(int(rng.integers(1, 9))):
            if content:
                # Heads matter more than numbers.
                at = int(rng.integers(min(len(content), 400 if kind == 2 else len(content))))
                content[at] = int(rng.integers(256))
    file.write_bytes(bytes(content))


def fuzz_load(data: bytes) -> str:
    """Mutate, open and use a model as the bytes say; return "used" or the sentence it was refused.

    Raises AssertionError for a number that is not finite, and lets any foreign error through.
    """
    rng = RNG(int.from_bytes(hashlib.sha256(data).digest()[:8]))
    with tempfile.TemporaryDirectory() as room, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = sorted(models())[int(rng.integers(len(models())))]
        folder = copied(name, Path(room))
        mutate(folder, rng)
        return load_and_use(folder)


def fuzz_prepared(data: bytes) -> str:
    """Mutate, open and use a model with its preparation; see `fuzz_load`."""
    rng = RNG(int.from_bytes(hashlib.sha256(data).digest()[:8]))
    with tempfile.TemporaryDirectory() as room, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = sorted(prepared_models())[int(rng.integers(len(prepared_models())))]
        folder = copied(name, Path(room))
        mutate(folder, rng, kept=("model.json", "weights.safetensors"))
        return open_and_use(folder)


def open_and_use(folder: Path) -> str:
    """Open a prepared model and score pairs by it; return "used", or our sentence."""
    table = products(6)
    records = Records(folder / "records.csv", np.arange(table.num_rows), table)
    pairs = np.array([[0, 1], [0, 4], [2, 5]])
    try:
        model = PreparedModel.open(folder, device="cpu")
        points = model.embed(records)
        scores = [model.pair_scores(records, records, pairs)]
        if model.pair_classifier is not None:
            scores += model.pair_classifier.explain(pairs, records=table).values()
    except (ValueError, TypeError, FileNotFoundError) as error:
        sentence = str(error)
        if str(folder) not in sentence and not any(known in sentence for known in OWN_SENTENCES):
            raise AssertionError(f"foreign: {sentence}") from error
        if "\n" in sentence:
            raise AssertionError(f"several lines: {sentence}") from error
        return sentence
    assert np.isfinite(points).all()
    assert all(np.isfinite(score).all() for score in scores)
    threshold = model.decision.threshold
    assert threshold is None or math.isfinite(threshold)
    return "used"


OWN_SENTENCES = ("not finite", "X has", "text_model must be a folder")


def load_and_use(folder: Path) -> str:
    """Open a model and embed by it; return "used", or the sentence of ours that refuses it."""
    try:
        learner = load(folder, device="cpu")
        n_features = learner.n_features_in_ if hasattr(learner, "n_features_in_") else 5
        points = learner.transform(np.zeros((3, n_features), dtype=np.float32) + X[:3, :1])
    except (ValueError, FileNotFoundError) as error:
        sentence = str(error)
        if not any(known in sentence for known in (str(folder), "not finite", "X has")):
            raise AssertionError(f"foreign: {sentence}") from error
        return sentence
    assert np.isfinite(points).all()
    assert points.shape == (3, learner.n_components_)
    return "used"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
