"""Two processes that torchrun started against one: losses, models, seconds, and a killed process.

`torchrun -m benchmarks.distributed FOLDER` is what `measure` starts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.figures import Figure
from twofold import LabelRelation, MetricLearner, Network
from twofold.regression import _checkpoint

TITLE = "Two processes on a CPU against one, the same global batch"
BAR = 1e-4
N_PROCESSES = 2
KILLED_AFTER = 6
N_SPEED, D_SPEED, SPEED_BATCH = 20_000, 256, 1024
SETTING = {
    "lightning-fabric": version("lightning-fabric") if find_spec("lightning_fabric") else "none",
    "processes": f"torchrun --standalone --nproc-per-node {N_PROCESSES}, gloo, one thread each; "
    "the process they are held to has one thread as well",
    "data": "scikit-learn's digits, 1,797 items; test parts have no part in it",
    "seed": 0,
    "loss difference": "the largest of all epochs, training and validation",
    "speed": f"{N_SPEED:,} made-up items of {D_SPEED} numbers in 10 classes, batches of "
    f"{SPEED_BATCH:,}, three epochs, seconds of training as history tells them",
    "killed": f"the second process by SIGKILL after epoch {KILLED_AFTER} of ten; one process goes "
    "on from the checkpoint",
}

Fit = Callable[[], MetricLearner]


def why_not() -> str | None:
    return None if find_spec("lightning_fabric") else "Lightning Fabric is not installed"


def _digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


def _learner(network: Network, **options: Any) -> MetricLearner:
    options = {"metric": "seen", "random_state": 0, "device": "cpu"} | options
    return MetricLearner(embedder=network, **options)


def _default() -> MetricLearner:
    return _learner(Network(), metric="auto").fit(*_digits())


def _uneven() -> MetricLearner:
    network = Network(loss="squared", batch_size=63, max_epochs=10)
    return _learner(network, validation_fraction=0.2).fit(*_digits())


def _batch_norm() -> MetricLearner:
    X, y = _digits()
    network = Network("conv", augment="characters", max_epochs=5)
    return _learner(network).fit(X.reshape(-1, 1, 8, 8), y)


def _pairs() -> MetricLearner:
    X, y = _digits()
    pairs = LabelRelation(y).sample_pairs(10, 10, random_state=0)
    return _learner(Network(max_epochs=10), feedback=0).fit(X, relation=pairs)


def _speed() -> MetricLearner:
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=N_SPEED)
    X = rng.normal(size=(10, D_SPEED))[y] + 2 * rng.normal(size=(N_SPEED, D_SPEED))
    network = Network(batch_size=SPEED_BATCH, max_epochs=3)
    return _learner(network).fit(X.astype(np.float32), y)


EQUAL: dict[str, Fit] = {
    "defaults (mlp, dropout 0.2, metric step)": _default,
    "squared error, batches of 63, validated": _uneven,
    "conv, batch norm, images turned": _batch_norm,
    "10 + 10 sampled pairs an item": _pairs,
}


def _losses(learner: MetricLearner) -> list[float]:
    return [*learner.history_["regression"], *learner.history_["validation"]]


def _kept(learner: MetricLearner) -> dict[str, Any]:
    X, y = _digits()
    rows = X.reshape(-1, *learner.embedder_.input_shape)
    points = learner.transform(rows)
    return {
        "losses": _losses(learner),
        "best epoch": learner.history_["best_epoch"],
        "bytes": points.tobytes().hex()[:4096],
        "auroc": learner.score(rows, y),
    }


def _resumable(path: Path, callback: Callable[[Any], Any] | None = None) -> MetricLearner:
    network = Network(max_epochs=10, checkpoint=path, callback=callback)
    return _learner(network).fit(*_digits())


def _fit_and_keep(folder: Path) -> None:
    """Be one of the processes."""
    found = {name: _kept(fit()) for name, fit in EQUAL.items()}
    found["speed"] = _speed().timing_["regression"]
    (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(found))


def _be_killed(folder: Path) -> None:
    """Be one of the processes, of which the second kills itself."""
    _checkpoint.LARGEST_SHARE = float("inf")  # every epoch is kept
    pid = folder / "pid"
    if os.environ["RANK"] == "1":
        pid.write_text(str(os.getpid()))

    def kill(epoch: Any) -> None:
        if epoch.number == KILLED_AFTER + 1:
            os.kill(int(pid.read_text()), signal.SIGKILL)

    _resumable(folder / "training.safetensors", kill)


def _start(what: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    arguments = [str(N_PROCESSES), "-m", "benchmarks.distributed", what, str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command + arguments, capture_output=True, text=True, env=environment)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="twofold-distributed-") as name:
        folder = Path(name)
        began = time.perf_counter()
        done = _start("fit", folder)
        if done.returncode:
            raise RuntimeError(done.stderr)
        print(f"two processes: {time.perf_counter() - began:.0f} s", flush=True)
        ranks = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(N_PROCESSES)]
        figures = [_compared(name, fit, ranks) for name, fit in EQUAL.items()]
        same = sum(ranks[0][name]["bytes"] == ranks[1][name]["bytes"] for name in EQUAL)
        figures.append(Figure("fits whose processes hold the same model", same, len(EQUAL)))
        return [*figures, *_killed(folder), _speed_figure(ranks)]


def _compared(name: str, fit: Fit, ranks: list[dict[str, Any]]) -> Figure:
    alone, together = _kept(fit()), ranks[0][name]
    difference = np.abs(np.subtract(alone["losses"], together["losses"])).max()
    note = (
        f"losses {alone['losses'][0]:.3f} to {alone['losses'][-1]:.3f}; best epoch "
        f"{alone['best epoch']} and {together['best epoch']}; training AUROC "
        f"{alone['auroc']:.5f} and {together['auroc']:.5f}"
    )
    return Figure(f"loss difference, {name}", float(difference), BAR, at_least=False, note=note)


def _killed(folder: Path) -> list[Figure]:
    done = _start("be-killed", folder)
    path = folder / "training.safetensors"
    n_said = done.stderr.count(f"What was trained is kept in {path}")
    seen: list[int] = []
    resumed = _resumable(path, lambda epoch: seen.append(epoch.number))
    whole = _learner(Network(max_epochs=10)).fit(*_digits())
    difference = np.abs(np.subtract(_losses(resumed), _losses(whole))).max()
    return [
        Figure("sentences of the run whose process was killed", n_said, 1),
        Figure(
            "loss difference, killed and gone on with one process",
            float(difference),
            BAR,
            at_least=False,
            note=f"went on with epoch {seen[0]} of 10",
        ),
    ]


def _speed_figure(ranks: list[dict[str, Any]]) -> Figure:
    together, alone = ranks[0]["speed"], _speed().timing_["regression"]
    note = f"{alone:.1f} s by one process, load average {os.getloadavg()[0]:.1f} on two cores"
    return Figure("seconds of training, two processes", together, note=note)


if __name__ == "__main__":
    {"fit": _fit_and_keep, "be-killed": _be_killed}[sys.argv[1]](Path(sys.argv[2]))
