"""`twofold search` and `twofold match` on files of a million and 100,000 rows.

Each command runs in a process of its own, whose seconds and memory these are. FAISS's flat index
answers the same queries in turns with it: before and after the command that finds its index kept.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure

TITLE = "Commands on large files: twofold search and twofold match"
N_POINTS, N_QUERIES, DIM, K = 1_000_000, 10_000, 64, 10
N_MATCHED, N_FITTED, N_GROUPS = 100_000, 2_000, 100
THRESHOLD = 0.6
SETTING = {
    "search": f"{N_POINTS:,} Gaussian rows of {DIM} numbers (.npy), {N_QUERIES:,} queries, k = {K};"
    " beside IndexFlatL2 on the same points, timed before and after",
    "match": f"{N_MATCHED:,} rows that are found again, moved a little, among {N_MATCHED:,}; {DIM} "
    f"numbers (.npy), threshold {THRESHOLD}",
    "model": f"fitted to pairs of {N_FITTED:,} rows in {N_GROUPS} groups",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What a command printed as JSON, and what it took."""

    said: dict
    seconds: float
    gib: float


def why_not() -> str | None:
    return None if find_spec("faiss") else "FAISS is not installed"


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_files(folder)
        _run(folder, "fit fitted.npy --pairs pairs.csv --out model")
        return [*_match_figures(folder), *_search_figures(folder)]


def _write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((N_POINTS, DIM), dtype=np.float32)
    moved = points[:N_MATCHED] + 0.3 * rng.standard_normal((N_MATCHED, DIM), dtype=np.float32)
    group = np.arange(N_FITTED) % N_GROUPS
    centres = rng.standard_normal((N_GROUPS, DIM), dtype=np.float32)
    fitted = centres[group] + 0.7 * rng.standard_normal((N_FITTED, DIM), dtype=np.float32)
    arrays = {"items": points, "queries": moved[:N_QUERIES], "fitted": fitted}
    for name, array in {**arrays, "left": points[:N_MATCHED], "right": moved}.items():
        np.save(folder / f"{name}.npy", array)
    rows = np.arange(N_FITTED - N_GROUPS)
    other = rows + rng.integers(1, N_GROUPS, size=rows.size)
    lines = [f"{i},{i + N_GROUPS},1\n{i},{j},0" for i, j in zip(rows, other, strict=True)]
    (folder / "pairs.csv").write_text("\n".join(["left,right,similar", *lines]) + "\n")


def _run(folder: Path, command: str) -> Run:
    """Run a command; the memory is that of the largest so far, so the small ones come first."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "twofold", *command.split(), "--json"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return Run(json.loads(done.stdout), seconds, gib)


def _match_figures(folder: Path) -> list[Figure]:
    run = _run(folder, f"match model left.npy right.npy --threshold {THRESHOLD} --out m.parquet")
    phases = ", ".join(f"{name} {value:.1f}" for name, value in run.said["seconds"].items())
    note = f"{run.said['n_matches']:,} matches; {phases}"
    return [
        Figure("twofold match: seconds", run.seconds, 300, at_least=False, note=note),
        Figure("twofold match: GiB", run.gib, 4, at_least=False),
    ]


def _search_figures(folder: Path) -> list[Figure]:
    command = f"search model --index items.npy --query queries.npy -k {K}"
    first = _run(folder, command)
    flat = [_flat_seconds(folder)]
    kept = _run(folder, command)
    flat.append(_flat_seconds(folder))
    ours, theirs = kept.said["seconds"]["searching"], float(np.mean(flat))
    phases = ", ".join(f"{name} {value:.1f}" for name, value in kept.said["seconds"].items())
    return [
        Figure(
            "twofold search: seconds of the queries beside IndexFlatL2",
            ours / theirs,
            1.2,
            at_least=False,
            note=f"{ours:.1f} s, in which queries are embedded, beside {flat[0]:.1f} and "
            f"{flat[1]:.1f}",
        ),
        Figure("twofold search: seconds, index kept", kept.seconds, note=phases),
        Figure("twofold search: seconds, index made", first.seconds),
        Figure("twofold search: GiB", kept.gib),
    ]


def _flat_seconds(folder: Path) -> float:
    """Return FAISS's seconds for the same queries, on the points as they stand in the file."""
    import faiss

    index = faiss.IndexFlatL2(DIM)
    index.add(np.load(folder / "items.npy"))
    queries = np.load(folder / "queries.npy")
    began = time.perf_counter()
    index.search(queries, K)
    return time.perf_counter() - began
