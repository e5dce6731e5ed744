"""Information-Theoretic Metric Learning: the metric nearest to the Euclidean that obeys pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold._core.checks import check_count, check_number
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import RelationWarning, unsaid, warn_user
from twofold.baselines._flat_features import dense_rows
from twofold.baselines._itml_projections import DistanceConstraints, project_onto_constraints
from twofold.baselines._linear import LinearLearner, factorise
from twofold.relations import LabelRelation, PairRelation, Relation, TripletRelation

N_DISTANCES = 10_000
"""Pairs of items whose distances give the bounds."""
PERCENTILES = (5, 95)
CONSTRAINTS_PER_SQUARED_CLASS = 20


@dataclass(eq=False, repr=False)
class ITMLLearner(LinearLearner):
    """Information-Theoretic Metric Learning (Davis et al. 2007): Bregman projections onto pairs.

    The M nearest to the identity, by LogDet divergence, with (x_i − x_j)ᵀ M (x_i − x_j) ≤ u for
    pairs that are alike and ≥ l for others, where u and l may give way. They are the 5th and the
    95th percentile of the squared distances between items. A sweep takes O(n_constraints d²).

    Parameters
    ----------
    n_components : int or None
        Number of components of the embedding: the leading ones of M; None for all.
    gamma : float
        γ, how costly it is to change a bound. A pair's weight multiplies it.
    n_similar, n_dissimilar : int
        Partners per item that are sampled from labels.
    n_constraints : int or "auto"
        Maximum number of pairs to learn from, drawn at random from those stated or sampled. "auto":
        for labels 20 c², where c is the number of classes; for stated pairs, all.
    max_iter : int
        Maximum number of sweeps over the constraints.
    tol : float
        It stops when a sweep changes the multipliers by less than this share.
    random_state : int, Generator or None
        Seed of the samples.

    Attributes
    ----------
    bounds_ : tuple of float
        (u, l), squared distances.
    """

    n_components: int | None = None
    _: KW_ONLY
    gamma: float = 1.0
    n_similar: int = 10
    n_dissimilar: int = 10
    n_constraints: int | Literal["auto"] = "auto"
    max_iter: int = 1000
    tol: float = 1e-3
    random_state: RandomState = None
    bounds_: tuple[float, float] = field(init=False)

    def _learn(self, X: Any, relation: Relation) -> tuple[NDArray[np.float64], dict[str, Any]]:
        n_components = self._n_kept(X.shape[1])
        gamma = check_number("gamma", self.gamma, 0, strict=True)
        tol = check_number("tol", self.tol, 0, strict=True)
        max_iter = check_count("max_iter", self.max_iter)
        rng = as_generator(self.random_state)
        pairs = self._stated_pairs(relation, rng)
        known = relation.known if isinstance(relation, LabelRelation) else pairs.linked
        self.bounds_ = distance_bounds(dense_rows(X, np.flatnonzero(known)), rng)
        constraints = distance_constraints(X, pairs, self.bounds_, gamma)
        solution = project_onto_constraints(constraints, tol, max_iter)
        changes = solution.history
        if not solution.converged:
            warn_user(
                f"ITMLLearner stopped after max_iter={max_iter} sweeps; the last one changed the "
                f"multipliers by {changes[-1]:.2%} (tol={tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
            )
        history = {"change": changes, "n_iter": len(changes), "converged": solution.converged}
        return factorise(solution.metric, n_components), history

    def _stated_pairs(self, relation: Relation, rng: np.random.Generator) -> PairRelation:
        """Return the pairs to learn from, at most `n_constraints`."""
        if isinstance(relation, TripletRelation):
            raise TypeError(
                "ITMLLearner learns from pairs or labels; for triplets use TripletLearner."
            )
        if isinstance(relation, LabelRelation):
            pairs = relation.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
            most = CONSTRAINTS_PER_SQUARED_CLASS * relation.n_occurring**2
        else:
            pairs, most = relation, relation.n_pairs
        if isinstance(self.n_constraints, str):
            if self.n_constraints != "auto":
                raise ValueError(
                    f"n_constraints must be a number or 'auto', got {self.n_constraints!r}."
                )
        else:
            most = check_count("n_constraints", self.n_constraints)
        return pairs if pairs.n_pairs <= most else _some_pairs(pairs, most, rng)


def _some_pairs(pairs: PairRelation, n_pairs: int, rng: np.random.Generator) -> PairRelation:
    """Choose statements at random, in their order."""
    chosen = np.sort(rng.choice(pairs.n_pairs, n_pairs, replace=False))
    with unsaid(RelationWarning):
        # Contradictions were said when the relation was made.
        return PairRelation(
            pairs.left[chosen],
            pairs.right[chosen],
            pairs.similar[chosen],
            pairs.n_items,
            None if pairs.weight is None else pairs.weight[chosen],
        )


def distance_bounds(rows: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, float]:
    """Return the 5th and 95th percentile of squared distances: of all pairs, or of a sample.

    Both are above 0: what coincides would need an infinite metric.
    """
    n_items = len(rows)
    if n_items * (n_items - 1) // 2 <= N_DISTANCES:
        left, right = np.triu_indices(n_items, 1)
    else:
        left = rng.integers(n_items, size=N_DISTANCES)
        right = (left + rng.integers(1, n_items, size=N_DISTANCES)) % n_items
    squared = np.square(rows[left] - rows[right]).sum(axis=1)
    upper, lower = np.percentile(squared, PERCENTILES)
    if lower <= 0:
        raise ValueError(
            "All or nearly all training items have equal features, so that there is no distance "
            "to learn."
        )
    return float(max(upper, 1e-9 * lower)), float(lower)


def distance_constraints(
    X: Any, pairs: PairRelation, bounds: tuple[float, float], gamma: float
) -> DistanceConstraints:
    """Return pairs as constraints; a grade above one half is alike.

    A pair of weight 0 says nothing, and one whose features are equal has distance 0 whatever M is:
    they are left out, the latter with a warning if it is to be apart.
    """
    used, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    rows = dense_rows(X, used)
    differences = rows[place[: pairs.n_pairs]] - rows[place[pairs.n_pairs :]]
    alike = pairs.similar > 0.5
    weight = np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight.astype(np.float64)
    coincide = ~differences.any(axis=1)
    _warn_of_inseparable(pairs, coincide & ~alike)
    kept = ~coincide & (weight > 0)
    return DistanceConstraints(
        differences[kept],
        np.where(alike[kept], 1.0, -1.0),
        np.where(alike[kept], bounds[0], bounds[1]),
        gamma * weight[kept],
    )


def _warn_of_inseparable(pairs: PairRelation, rows: NDArray[np.bool_]) -> None:
    if rows.any():
        row = np.flatnonzero(rows)[0]
        warn_user(
            f"{np.count_nonzero(rows)} pair(s) are not alike but have equal features, first items "
            f"{pairs.left[row]} and {pairs.right[row]}: no metric can tell these apart, so they "
            "are left out.",
            RelationWarning,
        )
