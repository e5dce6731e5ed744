"""The definitions of phase 1 as slow loops in float64: what every fast path must agree with.

Nothing here is shared with the package but the types that carry an objective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import ContrastiveLoss, DotLoss, TripletLoss
from twofold.targets._engine import AdamStep, Objective

Points = NDArray[np.float64]


def contrastive(a: Points, b: Points, similar: float, margin: float) -> float:
    distance = np.sqrt(np.sum((a - b) ** 2))
    return similar * distance**2 + (1 - similar) * max(0.0, margin - distance) ** 2


def contrastive_gradient(a: Points, b: Points, similar: float, margin: float) -> Points:
    """With respect to a; b has its negative. Zero in direction where the two coincide."""
    distance = np.sqrt(np.sum((a - b) ** 2))
    pull = 2 * similar * (a - b)
    if distance == 0 or distance >= margin:
        return pull
    return pull - 2 * (1 - similar) * (margin - distance) * (a - b) / distance


def dot(a: Points, b: Points, similar: float) -> float:
    return 0.5 * (similar - np.sum(a * b)) ** 2


def dot_gradient(a: Points, b: Points, similar: float) -> Points:
    """With respect to a; exchange a and b for the other."""
    return (np.sum(a * b) - similar) * b


def triplet(a: Points, p: Points, n: Points, margin: float) -> float:
    return max(0.0, margin + np.sum((a - p) ** 2) - np.sum((a - n) ** 2))


def triplet_gradients(
    a: Points, p: Points, n: Points, margin: float
) -> tuple[Points, Points, Points]:
    if triplet(a, p, n, margin) == 0:
        return np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    return 2 * (a - p) - 2 * (a - n), -2 * (a - p), 2 * (a - n)


def pair_loss(loss: ContrastiveLoss | DotLoss, a: Points, b: Points, similar: float) -> float:
    if isinstance(loss, ContrastiveLoss):
        return contrastive(a, b, similar, loss.margin)
    return dot(a, b, similar)


def _weight(relation: PairRelation, k: int) -> float:
    return 1.0 if relation.weight is None else float(relation.weight[k])


def value(objective: Objective, points: NDArray[np.floating]) -> float:
    """F(T) = 1/W Σ w L + λ/2n Σ ‖t − p‖², one statement after the other."""
    t = np.asarray(points, dtype=np.float64)
    relation, loss = objective.relation, objective.loss
    total, total_weight = 0.0, 0.0
    for k in range(len(relation)):
        if isinstance(relation, TripletRelation):
            assert isinstance(loss, TripletLoss)
            a, p, n = relation.anchor[k], relation.positive[k], relation.negative[k]
            total += triplet(t[a], t[p], t[n], loss.margin)
            total_weight += 1
        else:
            assert not isinstance(loss, TripletLoss)
            i, j, weight = relation.left[k], relation.right[k], _weight(relation, k)
            total += weight * pair_loss(loss, t[i], t[j], float(relation.similar[k]))
            total_weight += weight
    mean = total / total_weight
    if objective.prior is not None:
        for i in range(relation.n_items):
            away = t[i] - objective.prior[i]
            mean += objective.prior_weight / (2 * relation.n_items) * np.sum(away**2)
    return float(mean)


def gradient(objective: Objective, points: NDArray[np.floating]) -> Points:
    """dF/dT, one statement after the other."""
    t = np.asarray(points, dtype=np.float64)
    relation, loss = objective.relation, objective.loss
    slope, total_weight = np.zeros_like(t), 0.0
    for k in range(len(relation)):
        if isinstance(relation, TripletRelation):
            assert isinstance(loss, TripletLoss)
            a, p, n = relation.anchor[k], relation.positive[k], relation.negative[k]
            of_a, of_p, of_n = triplet_gradients(t[a], t[p], t[n], loss.margin)
            slope[a] += of_a
            slope[p] += of_p
            slope[n] += of_n
            total_weight += 1
        else:
            i, j, weight = relation.left[k], relation.right[k], _weight(relation, k)
            similar = float(relation.similar[k])
            if isinstance(loss, ContrastiveLoss):
                of_i = contrastive_gradient(t[i], t[j], similar, loss.margin)
                of_j = -of_i
            else:
                of_i = dot_gradient(t[i], t[j], similar)
                of_j = dot_gradient(t[j], t[i], similar)
            slope[i] += weight * of_i
            slope[j] += weight * of_j
            total_weight += weight
    slope /= total_weight
    if objective.prior is not None:
        slope += objective.prior_weight / relation.n_items * (t - objective.prior)
    return slope


class AdamOracle:
    """Adam on n F, as its paper writes it."""

    def __init__(self, objective: Objective, start: NDArray[np.floating]) -> None:
        self.objective = objective
        self.points = np.asarray(start, dtype=np.float64)
        self.first = np.zeros_like(self.points)
        self.second = np.zeros_like(self.points)

    def step(self, step: AdamStep) -> float:
        """Return F at the present points and go on to the next ones."""
        loss = value(self.objective, self.points)
        slope = len(self.points) * gradient(self.objective, self.points)
        self.first = step.keep_first * self.first + (1 - step.keep_first) * slope
        self.second = step.keep_second * self.second + (1 - step.keep_second) * slope**2
        first = self.first / (1 - step.keep_first ** (step.epoch - step.forgotten))
        second = self.second / (1 - step.keep_second**step.epoch)
        self.points = self.points - step.rate * first / (np.sqrt(second) + 1e-8)
        return loss


def spread(
    relation: PairRelation, points: NDArray[np.floating], n_passes: int, momentum: float
) -> Points:
    """D⁻¹ S T − momentum · (T one pass before), `n_passes` times, with dense matrices."""
    signed = np.zeros((relation.n_items, relation.n_items))
    strength = np.zeros(relation.n_items)
    for k in range(relation.n_pairs):
        i, j = relation.left[k], relation.right[k]
        sign = _weight(relation, k) * (2 * float(relation.similar[k]) - 1)
        signed[i, j] += sign
        signed[j, i] += sign
        strength[i] += abs(sign)
        strength[j] += abs(sign)
    mean = np.zeros_like(signed)
    mean[strength > 0] = signed[strength > 0] / strength[strength > 0, None]
    before, present = np.zeros(points.shape), np.asarray(points, dtype=np.float64)
    for _ in range(n_passes):
        before, present = present, mean @ present - momentum * before
    return present


def grade_of(a: NDArray[np.floating], b: NDArray[np.floating], grade: str) -> float:
    """How alike two label vectors are."""
    shared = float(np.sum((a > 0) & (b > 0)))
    either = float(np.sum((a > 0) | (b > 0)))
    if grade == "overlap":
        return float(shared > 0)
    return shared / either if either else 0.0


def grades(labels: NDArray[np.floating], grade: str) -> Points:
    """The whole relation of a label matrix, diagonal included."""
    n = len(labels)
    return np.array(
        [[grade_of(labels[i], labels[j], grade) for j in range(n)] for i in range(n)]
    ).reshape(n, n)


def exact_gram(labels: NDArray[np.floating], grade: str, dim: int) -> tuple[Points, float]:
    """T Tᵀ of the best factorisation of the n × n relation, and the eigenvalue gap after dim.

    The diagonal is in the sum that is minimised. No distinct label vectors, no weights: just the
    items.
    """
    values, vectors = np.linalg.eigh(grades(labels, grade))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = np.maximum(values[:dim], 0)
    following = max(values[dim], 0.0) if dim < len(values) else 0.0
    gap = np.inf if kept[-1] == 0 else kept[-1] - following
    return (vectors[:, :dim] * kept) @ vectors[:, :dim].T, float(gap)


def mean_loss_of_all_pairs(
    relation: LabelRelation, points: NDArray[np.floating], loss: ContrastiveLoss | DotLoss
) -> float:
    """The mean of L over all i ≠ j of known items."""
    t = np.asarray(points, dtype=np.float64)
    labels = relation.indicator.toarray()
    known = np.flatnonzero(relation.known)
    losses = [
        pair_loss(loss, t[i], t[j], grade_of(labels[i], labels[j], relation.grade))
        for i in known
        for j in known
        if i != j
    ]
    return float(np.mean(losses))


def all_pairs(relation: LabelRelation) -> PairRelation:
    """Every pair i < j of a relation without unknown items."""
    left, right = np.triu_indices(relation.n_items, 1)
    return relation.pairs(left, right)


def least_similarity_gap(relation: PairRelation, points: NDArray[np.floating], kind: str) -> float:
    """The smallest similarity of an alike pair less the largest of one not alike."""
    t = np.asarray(points, dtype=np.float64)
    values = []
    for i, j in zip(relation.left, relation.right, strict=True):
        values.append(
            np.sum(t[i] * t[j]) if kind == "dot" else -np.sqrt(np.sum((t[i] - t[j]) ** 2))
        )
    similarity = np.array(values)
    return float(similarity[relation.similar == 1].min() - similarity[relation.similar == 0].max())
