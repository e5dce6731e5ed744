"""What checking input costs, as a share of the smallest fit: 20 M pairs, 200,000 × 100 features.

The fit is `PairRelation(...)` of the caller's arrays, targets solved from a warm start, and one
epoch of a network: whoever trains longer, or lets feedback choose, pays less. Checks are all that
`PairRelation` does whenever one is made, in the fit too (copies, ranges, pairs with oneself,
contradictions), and all that `check_features`, `as_relation` and the second look of float32 do.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from twofold import LabelRelation, MetricLearner, Network, PairRelation
from twofold.estimators import _metric_learner
from twofold.relations import _pairs

TITLE = "Checks of 20 M pairs and 200,000 × 100 features beside the fit"
N_ITEMS, N_FEATURES, N_CLASSES, N_PARTNERS = 200_000, 100, 100, 50
ROUNDS = 3
MOST_SHARE = 0.05
CHECKS: tuple[tuple[str, Any, str], ...] = (
    ("relations", PairRelation, "__post_init__"),
    ("of these, contradictions", _pairs, "warn_of_contradictions"),
    ("features", _metric_learner, "check_features"),
    ("both kinds of pairs", _metric_learner, "as_relation"),
)
"""What each is called, and where it is looked up. The second is a part of the first."""
SETTING = {
    "rounds": ROUNDS,
    "pairs": 2 * N_PARTNERS * N_ITEMS,
    "features": f"{N_ITEMS} x {N_FEATURES}",
    "fit": "MetricLearner(16, embedder=Network('mlp', max_epochs=1), feedback=0): the dot product",
    "statistic": "median of shares of CPU seconds, both of one run",
}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    figures = []
    for dtype in (np.float32, np.float64):
        X, pairs = _problem(dtype)
        runs = [_fit(X, pairs) for _ in range(ROUNDS)]
        figures += _figures(f"features of {np.dtype(dtype).name}", runs)
    return figures


def _figures(name: str, runs: list[Counter[str]]) -> list[Figure]:
    shares = [_share(run) for run in runs]
    median = {part: float(np.median([run[part] for run in runs])) for part in runs[0]}
    note = ", ".join(f"{part} {median[part]:.2f} s" for part, *_ in CHECKS)
    note += f" of {median['fit']:.1f} CPU seconds; shares {min(shares):.3f} to {max(shares):.3f}"
    return [Figure(f"{name}: share", float(np.median(shares)), MOST_SHARE, False, note)]


def _share(run: Counter[str]) -> float:
    return (run["relations"] + run["features"] + run["both kinds of pairs"]) / run["fit"]


def _problem(dtype: type) -> tuple[NDArray[Any], tuple[NDArray[Any], ...]]:
    """Return features, and the arrays of pairs as a caller has them."""
    rng = np.random.default_rng(0)
    classes = rng.integers(N_CLASSES, size=N_ITEMS)
    X = (rng.normal(size=(N_CLASSES, N_FEATURES))[classes]).astype(dtype)
    X += rng.normal(size=X.shape).astype(dtype)
    drawn = LabelRelation(classes).sample_pairs(N_PARTNERS, N_PARTNERS, random_state=0)
    return X, (drawn.left.copy(), drawn.right.copy(), drawn.similar.copy())


def _fit(X: NDArray[Any], pairs: tuple[NDArray[Any], ...]) -> Counter[str]:
    """Return the CPU seconds of a fit and of its checks."""
    with _timed_checks() as seconds:
        began = time.process_time()
        relation = PairRelation(*pairs, n_items=N_ITEMS)  # type: ignore[misc]
        learner = MetricLearner(
            16, embedder=Network("mlp", max_epochs=1), feedback=0, device="cpu", random_state=0
        )
        learner.fit(X, relation=relation)
        seconds["fit"] = time.process_time() - began
    return seconds


@contextmanager
def _timed_checks() -> Iterator[Counter[str]]:
    """Add up the CPU seconds that checks take meanwhile."""
    seconds: Counter[str] = Counter()

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*values: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return function(*values, **named)
            finally:
                seconds[name] += time.process_time() - began  # type: ignore[assignment]

        return run

    with ExitStack() as stack:
        for name, place, attribute in CHECKS:
            wrapped = timed(name, getattr(place, attribute))
            stack.enter_context(patch.object(place, attribute, wrapped))
        yield seconds
