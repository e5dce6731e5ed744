"""The same Adam solver on a GPU: NUS-WIDE's labels, 2.5 M pairs, d = 32, 80 epochs."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from benchmarks.figures import Figure
from benchmarks.relations import nus_wide, why_no_data
from twofold import TargetSolution, solve_targets
from twofold.evaluation import pair_auroc, pair_similarity

TITLE = "Adam on a GPU: NUS-WIDE's labels, 2.5 M pairs, d = 32, 80 epochs"
EPOCHS = 80
RUNS = 5
SETTING = {
    "runs": RUNS, "epochs": EPOCHS, "dim": 32, "statistic": "median of warm runs, copies to and "
    "from the device counted in",
    "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
}  # fmt: skip


def why_not() -> str | None:
    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    return why_no_data()


def measure() -> list[Figure]:
    relation = nus_wide()
    labelled = np.diff(relation.indicator.indptr) > 0
    pairs = relation.take(labelled).sample_pairs(random_state=0)
    figures = []
    for name, loss, metric in (("FML-C", "contrastive", "euclidean"), ("FML-DP", "dot", "dot")):
        runs = [_solve(pairs, loss) for _ in range(RUNS + 1)]
        seconds = [run.seconds for run in runs[1:]]
        similarity = pair_similarity(runs[-1].points, pairs.left, pairs.right, metric)
        figures.append(
            Figure(
                f"{name}: seconds",
                float(np.median(seconds)),
                0.25,
                at_least=False,
                note=(
                    f"{pairs.n_pairs:,} pairs, {runs[-1].n_epochs} epochs, loss "
                    f"{runs[-1].loss:.4g}, AUROC on its pairs "
                    f"{pair_auroc(pairs.similar, similarity):.4f}; {min(seconds):.3f} to "
                    f"{max(seconds):.3f} s, first run {runs[0].seconds:.2f} s"
                ),
            )
        )
    return figures


def _solve(pairs: object, loss: str) -> TargetSolution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve_targets(
            pairs, 32, loss=loss, device="cuda", max_epochs=EPOCHS, tol=0, random_state=0
        )
