"""`solve_targets`: the one door to phase 1."""

from __future__ import annotations

import time
from typing import Any, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice, check_count, check_number
from twofold._core.devices import resolve_device
from twofold._core.limits import refuse_beyond_memory
from twofold._core.random import RandomState, as_generator
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets._adam import Budget, Callback, minimise
from twofold.targets._engine import Objective
from twofold.targets._exact import leaves_classes_out, solve_exactly, why_not_exact
from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss, TripletLoss
from twofold.targets._nystrom import is_too_large, solve_by_sampling
from twofold.targets._own_loss import BUILT_IN, check_pair_loss
from twofold.targets._solution import TargetSolution
from twofold.targets._spread import solve_by_spreading, why_not_spread

N_TABLES = 6
"""Tables of as many numbers as the targets have that a solution holds at a time."""
Loss = Literal["contrastive", "dot"]
Method = Literal["auto", "adam", "exact", "nystrom", "spread"]
Relation = PairRelation | LabelRelation | TripletRelation


def solve_targets(
    relation: Relation,
    n_components: int,
    *,
    loss: Loss | PairLoss = "contrastive",
    method: Method = "auto",
    margin: float = 1.0,
    max_epochs: int = 200,
    tol: float = 1e-3,
    init: ArrayLike | Literal["random"] | None = None,
    prior: ArrayLike | None = None,
    prior_weight: float = 0.0,
    device: str = "auto",
    random_state: RandomState = None,
    callback: Callback | None = None,
) -> TargetSolution:
    """Solve for a target vector for every item, from a relation alone.

    Minimises 1/W Σ w L(t_i, t_j, y_ij) + λ/2n Σ ‖t_i − p_i‖² over free vectors t_i, where W is the
    statements' total weight and the second sum is the optional prior's.

    Parameters
    ----------
    relation : PairRelation, LabelRelation or TripletRelation
        The statements. For `method="adam"` a LabelRelation is sampled, with 10 similar and 10
        dissimilar partners per item.
    n_components : int
        Number of components of a target.
    loss : {"contrastive", "dot"} or PairLoss
        y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)², or ½ (y − a·b)². Triplets always use max(0, m +
        ‖a − p‖² − ‖a − n‖²). Your own loss, see `PairLoss`, is minimised by Adam in NumPy on the
        CPU, six or seven times slower.
    method : {"auto", "adam", "exact", "nystrom", "spread"}
        "exact" solves a LabelRelation as a whole: with the dot product by its leading eigenvectors;
        with the contrastive loss, for classes and `n_components` ≥ classes − 1, by a regular
        simplex. "spread" gives each of any number of classes a point on a sphere, far from all
        others. "nystrom" factors the relation of a sample of the items, and extends the solution to
        all. "auto" uses the exact solution if it has room for every class, "nystrom" if there are
        too many label vectors for it, "spread" if there are more classes than it has room for, and
        Adam for everything else.
    margin : float
        m, how far apart items that are not alike have to be.
    max_epochs : int
        Maximum number of passes of Adam over the statements.
    tol : float
        Adam stops when five epochs have lowered the loss by less than `tol` times the loss of
        targets that are all zero.
    init : array_like of shape (n_items, n_components), "random" or None
        Adam's first points. None: the prior if there is one, otherwise a start that already has the
        relation's coarse shape. "random" is the paper's start.
    prior : array_like of shape (n_items, n_components), optional
        A place that each target is drawn towards.
    prior_weight : float
        λ, how strongly.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where Adam runs, and where the eigenvectors of several labels are computed; other solutions
        run on the CPU.
    random_state : int, Generator or None
        Seed of the start, of sampling and of spreading. On one CPU the same seed gives the same
        bytes; on another, or with another number of threads, the same within rounding.
    callback : callable (epoch, loss) -> bool or None, optional
        Called with 0 and the loss at the start, then after every epoch; returning True stops.

    Returns
    -------
    TargetSolution
        Points, loss, history and whether it converged.

    Examples
    --------
    >>> from twofold.relations import LabelRelation
    >>> solution = solve_targets(LabelRelation(["a", "b", "a", "c"]), 3, loss="dot")
    >>> solution.method, float(solution.points[0] @ solution.points[2])
    ('exact', 1.0)
    """
    began = time.perf_counter()
    if not isinstance(relation, Relation):
        raise TypeError(
            "relation must be a PairRelation, LabelRelation or TripletRelation, got "
            f"{type(relation).__name__}."
        )
    dim = check_count("n_components", n_components)
    if isinstance(loss, str):
        check_choice("loss", loss, get_args(Loss))
    check_choice("method", method, get_args(Method))
    margin = check_number("margin", margin, 0, strict=True)
    prior_weight = check_number("prior_weight", prior_weight, 0)
    if prior_weight and prior is None:
        raise ValueError(
            f"prior_weight={prior_weight:g} needs a prior to draw the targets towards."
        )
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {callback!r}.")
    budget = Budget(check_count("max_epochs", max_epochs), check_number("tol", tol, 0), callback)
    first = None if init is None else _check_init(init, relation.n_items, dim)
    drawn_to = None if prior is None else _check_points("prior", prior, relation.n_items, dim)

    resolved = _resolved_loss(relation, loss, margin)
    is_free = first is None and drawn_to is None
    rng = as_generator(random_state)
    if isinstance(relation, LabelRelation):
        chosen = _resolve_method(relation, resolved, dim, method, is_free)
        if chosen != "adam":
            n_targets = relation.n_occurring if relation.is_partition else relation.n_items
            _refuse_too_large(n_targets, dim)
        if chosen == "exact":
            return solve_exactly(relation, resolved, dim, began, device)
        if chosen == "nystrom":
            return solve_by_sampling(relation, dim, rng, began)
        if chosen == "spread":
            assert not isinstance(resolved, TripletLoss)
            return solve_by_spreading(relation, resolved, dim, rng, began)
    elif method in ("exact", "nystrom", "spread"):
        _refuse(method, "only a LabelRelation knows every pair")
    _refuse_too_large(relation.n_items, dim)
    device = resolve_device(device if isinstance(resolved, (*BUILT_IN, TripletLoss)) else "cpu")
    if isinstance(relation, LabelRelation):
        relation = relation.sample_pairs(random_state=rng)
    objective = Objective(relation, resolved, drawn_to, prior_weight)
    return minimise(objective, dim, first, device, rng, budget, began)


def _refuse_too_large(n_targets: int, dim: int) -> None:
    refuse_beyond_memory(
        f"Targets of {n_targets} items in {dim} dimensions",
        N_TABLES * 4 * n_targets * dim,
        "Lower n_components, or only number the items that are in some statement.",
    )


def _resolved_loss(
    relation: Relation, loss: Loss | PairLoss, margin: float
) -> PairLoss | TripletLoss:
    if not isinstance(loss, str):
        checked = check_pair_loss(loss)
        if isinstance(relation, TripletRelation):
            raise TypeError(
                f"{type(loss).__name__} is a loss for pairs, but triplets only compare: use "
                "pairs, or leave out loss."
            )
        return checked
    if isinstance(relation, TripletRelation):
        return TripletLoss(margin)
    return ContrastiveLoss(margin) if loss == "contrastive" else DotLoss()


def _resolve_method(
    relation: LabelRelation,
    objective: PairLoss | TripletLoss,
    dim: int,
    method: Method,
    is_free: bool,
) -> Literal["adam", "exact", "nystrom", "spread"]:
    """Return the method that "auto" stands for, or say why the one asked for is not possible."""
    if method == "adam":
        return "adam"
    if not isinstance(objective, BUILT_IN):
        if method != "auto":
            _refuse(method, "your own loss is minimised over pairs")
        return "adam"
    not_exact = why_not_exact(relation, objective, dim, is_free)
    not_spread = why_not_spread(relation, dim, is_free)
    if method == "nystrom" and (relation.is_partition or not isinstance(objective, DotLoss)):
        _refuse(method, "it is for the dot product, and for several labels per item")
    if method != "auto":
        why_not = not_spread if method == "spread" else not_exact
        if why_not is not None:
            _refuse(method, why_not)
        return method
    if not_exact is None and not leaves_classes_out(relation, objective, dim):
        return "nystrom" if is_too_large(relation) else "exact"
    return "spread" if not_spread is None else "adam"


def _refuse(method: Method, why_not: str) -> NoReturn:
    raise ValueError(f"method={method!r} is not possible: {why_not}. Use method='auto' or 'adam'.")


def _check_init(init: Any, n_items: int, dim: int) -> NDArray[np.float32] | Literal["random"]:
    if isinstance(init, str):
        if init != "random":
            raise ValueError(f"init must be an array, 'random' or None, got {init!r}.")
        return "random"
    return _check_points("init", init, n_items, dim)


def _check_points(name: str, points: Any, n_items: int, dim: int) -> NDArray[np.float32]:
    try:
        array = np.asarray(points)
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers.") from None
    if array.shape != (n_items, dim):
        raise ValueError(
            f"{name} must have shape (n_items, n_components) = ({n_items}, {dim}), "
            f"got {array.shape}."
        )
    largest = np.finfo(np.float32).max
    wrong = np.flatnonzero(~(np.abs(array) <= largest).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"{name} must be finite; {wrong.size} row(s) are not, first row {wrong[0]}."
        )
    return array.astype(np.float32)
