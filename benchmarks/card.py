"""What a GPU does besides training: targets, embedding, a small fit, and its own start-up.

Each stands beside a floor that is measured in the same process: the bytes that have to be moved, at
the rate of a large copy; or the same work on the processor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from sklearn.datasets import load_digits

from benchmarks.figures import Figure
from benchmarks.relations import nus_wide, why_no_data
from twofold import MetricLearner, PairRelation, solve_targets
from twofold.regression import Network

TITLE = "One GPU: targets, embedding, small fits, start-up"
N_PAIRS, N_ITEMS, DIM = 100_000_000, 5_000_000, 16
N_VECTORS, N_COLUMNS = 10_000_000, 64
N_DIGITS = 1000
RUNS = 3
PARTS = tuple(os.environ.get("CARD", "start-up,exact,digits,vectors,pairs").split(","))
SETTING = {
    "runs": f"medians of {RUNS} after one that is not counted",
    "pairs": f"{N_PAIRS:,} random pairs over {N_ITEMS:,} items, {DIM} components; an epoch is the "
    "difference between 31 and 11; its fewest bytes are each link once and each partner's row once "
    "a link, read, and points and Adam's moments, read and written",
    "vectors": f"{N_VECTORS:,} × {N_COLUMNS}, network 'mlp', 16 components; reading is a sum in "
    "NumPy, copying is from memory that is not pinned",
    "start-up": "a process's first fit of fast-conv, 1 epoch of 4,096 images, less its second; "
    "imports are not counted",
}
_FIRST_FIT = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np, torch
from twofold import MetricLearner
from twofold.regression import Network
images = np.random.default_rng(0).integers(0, 256, (4096, 3, 32, 32)).astype(np.uint8)
classes = np.arange(4096) % 10
for _ in range(2):
    began = time.perf_counter()
    network = Network("{name}", max_epochs=1, augment={augment!r})
    MetricLearner(16, embedder=network, metric="seen", random_state=0).fit(images, classes)
    torch.cuda.synchronize()
    print(time.perf_counter() - began)
"""


def why_not() -> str | None:
    return why_no_data() if torch.cuda.is_available() else "torch sees no CUDA device"


def measure() -> list[Figure]:
    warnings.simplefilter("ignore")
    parts = {
        "start-up": _start_up, "exact": _exact, "digits": _small_fit, "vectors": _vectors,
        "pairs": _pairs,
    }  # fmt: skip
    return [figure for part in PARTS for figure in parts[part]()]


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))


def _start_up() -> list[Figure]:
    figures = []
    for name, augment in (("mlp", None), ("fast-conv", "photographs")):
        code = _FIRST_FIT.format(name=name, augment=augment)
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        first, second = (float(line) for line in answer.stdout.split())
        note = f"first fit {first:.2f} s, second {second:.2f} s"
        figures.append(Figure(f"start-up, {name}: seconds", first - second, 2, False, note))
    return figures


def _exact() -> list[Figure]:
    relation = nus_wide()
    losses = []

    def solve() -> None:
        losses.append(solve_targets(relation, 32, loss="dot", method="exact", device="cuda").loss)

    seconds = _median(solve)
    on_cpu = solve_targets(relation, 32, loss="dot", method="exact", device="cpu").loss
    note = f"loss {losses[-1]:.6f}, on the CPU {on_cpu:.6f}"
    return [Figure("NUS-WIDE's labels, exact, 32 components: seconds", seconds, 0.3, False, note)]


def _small_fit() -> list[Figure]:
    X, y = (array[:N_DIGITS] for array in load_digits(return_X_y=True))
    seconds = {
        device: _median(
            lambda device=device: MetricLearner(device=device, random_state=0).fit(X, y)
        )  # type: ignore[misc]
        for device in ("cuda", "cpu")
    }
    note = f"{seconds['cuda']:.2f} s on the GPU, {seconds['cpu']:.2f} s on its machine's CPU"
    ratio = seconds["cuda"] / seconds["cpu"]
    return [Figure(f"a fit of {N_DIGITS:,} digits, GPU over CPU", ratio, 1.0, False, note)]


def _vectors() -> list[Figure]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_VECTORS, N_COLUMNS), dtype=np.float32)
    few = slice(0, 20_000)
    network = Network("mlp", max_epochs=1)
    learner = MetricLearner(embedder=network, metric="seen", random_state=0)
    learner.fit(X[few], rng.integers(10, size=20_000))
    seconds = _median(lambda: learner.transform(X))
    reading = _median(lambda: X.sum())
    copying = _median(lambda: torch.from_numpy(X).to("cuda"))
    note = f"{seconds:.2f} s; reading {reading:.2f}, copying {copying:.2f}"
    ratio = seconds / (reading + copying)
    return [Figure("transform over reading and copying", ratio, 2.0, False, note)]


def _pairs() -> list[Figure]:
    rng = np.random.default_rng(0)
    left = rng.integers(N_ITEMS, size=N_PAIRS)
    right = (left + 1 + rng.integers(N_ITEMS - 1, size=N_PAIRS)) % N_ITEMS
    similar = (rng.random(N_PAIRS) < 0.5).astype(np.float32)
    relation = PairRelation(left, right, similar, N_ITEMS)

    def seconds_of(n_epochs: int) -> float:
        return _median(
            lambda: solve_targets(
                relation, DIM, loss="contrastive", device="cuda", max_epochs=n_epochs, tol=0,
                random_state=0,
            )
        )  # fmt: skip

    epoch = (seconds_of(31) - seconds_of(11)) / 20
    n_bytes = 2 * N_PAIRS * (4 + 4 + 4 * DIM) + 7 * 4 * N_ITEMS * DIM
    floor = n_bytes / _copy_rate()
    note = f"{1000 * epoch:.1f} ms; {n_bytes / 1e9:.1f} GB take {1000 * floor:.1f} ms"
    return [Figure("an epoch of pairs over its bytes' time", epoch / floor, 3.0, False, note)]


def _copy_rate() -> float:
    """Return the bytes a second, read and written, of a large copy on the device."""
    source = torch.empty(2**32, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    return 2 * source.numel() / _median(lambda: target.copy_(source))
