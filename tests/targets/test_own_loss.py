"""A loss of one's own: minimised like the built-in ones, and checked when it is handed in."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import ContrastiveLoss, DotLoss, Targets, as_targets, solve_targets
from twofold.targets._engine import AdamStep, Objective
from twofold.targets._engine_cpu import CpuEngine
from twofold.targets._engine_numpy import NumpyEngine

CLASSES = np.arange(90) % 3


class OwnContrastive:
    """The contrastive loss, written again in NumPy."""

    uses_distance, length = True, 1.5

    def value(self, measure, similar):
        gap = np.maximum(0, 1.5 - np.sqrt(measure))
        return similar * measure + (1 - similar) * gap**2

    def slope(self, measure, similar):
        distance = np.sqrt(measure)
        gap = np.maximum(0, 1.5 - distance)
        return similar - (1 - similar) * gap / np.maximum(distance, 1e-12)


class OwnDot:
    """The dot-product loss, written again."""

    uses_distance, length = False, 1.0

    def value(self, measure, similar):
        return 0.5 * (similar - measure) ** 2

    def slope(self, measure, similar):
        return measure - similar


class Logistic(OwnDot):
    """None of the built-in ones."""

    def value(self, measure, similar):
        return np.logaddexp(0, 4 * measure - 2) - similar * (4 * measure - 2)

    def slope(self, measure, similar):
        return 4 / (1 + np.exp(2 - 4 * measure)) - 4 * similar


def sampled_pairs(seed: int = 0) -> PairRelation:
    return LabelRelation(CLASSES).sample_pairs(4, 4, random_state=seed)


def weighted_pairs() -> PairRelation:
    rng = np.random.default_rng(0)
    left = rng.integers(9, size=30)
    right = (left + rng.integers(1, 9, size=30)) % 9
    return PairRelation(left, right, rng.uniform(0, 0.5, 30), 10, rng.uniform(0.1, 3, 30))


@pytest.mark.parametrize(
    ("own", "built_in"), [(OwnContrastive(), ContrastiveLoss(1.5)), (OwnDot(), DotLoss())]
)
@pytest.mark.parametrize("prior_weight", [0.0, 0.7])
def test_the_numpy_engine_takes_the_steps_of_the_compiled_one(own, built_in, prior_weight):
    relation, rng = weighted_pairs(), np.random.default_rng(1)
    start, prior = rng.normal(scale=0.5, size=(2, 10, 3)).astype(np.float32)
    given = prior if prior_weight else None
    engines = [
        NumpyEngine(Objective(relation, own, given, prior_weight), start),
        CpuEngine(Objective(relation, built_in, given, prior_weight), start),
    ]
    assert engines[0].sweep(AdamStep(0.01, 0.5, 0.99, 1)) == pytest.approx(
        oracle.value(Objective(relation, built_in, given, prior_weight), start.astype(float)),
        rel=1e-5,
    )
    engines[1].sweep(AdamStep(0.01, 0.5, 0.99, 1))
    for engine in engines:
        engine.advance()
        engine.sweep(AdamStep(0.02, 0.5, 0.99, 2))
        engine.retreat()
        engine.spread(2, 0.1)
        engine.blend(1.5, start)
        engine.sweep(AdamStep(0.02, 0.5, 0.99, 3, forgotten=2))
        engine.advance()
        engine.zero_unlinked()
    one, other = (engine.points() for engine in engines)
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert not one[9].any()
    np.testing.assert_array_equal(engines[0].rows(np.array([3, 1])), one[[3, 1]])


@pytest.mark.parametrize(
    ("own", "name", "margin", "metric"),
    [(OwnContrastive(), "contrastive", 1.5, "euclidean"), (OwnDot(), "dot", 1.0, "dot")],
)
def test_a_built_in_loss_written_again_gives_targets_as_good(own, name, margin, metric):
    pairs, other = sampled_pairs(), sampled_pairs(seed=1)
    mine = solve_targets(pairs, 4, loss=own, random_state=0)
    theirs = solve_targets(pairs, 4, loss=name, margin=margin, random_state=0, device="cpu")
    assert mine.method == "adam"
    assert mine.device == "cpu"
    assert mine.loss == pytest.approx(theirs.loss, rel=0.05, abs=1e-3)
    scores = [
        pair_auroc(other.similar, pair_similarity(solution.points, other.left, other.right, metric))
        for solution in (mine, theirs)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)
    assert scores[0] > 0.99


def test_another_loss_is_minimised_and_labels_are_sampled_for_it():
    solution = solve_targets(LabelRelation(CLASSES), 3, loss=Logistic(), random_state=0)
    assert solution.method == "adam"
    assert solution.history[-1] < 0.7 * solution.history[0]
    points = solution.points
    products = points @ points.T
    alike = CLASSES[:, None] == CLASSES
    assert products[alike].mean() > 0.5 + products[~alike].mean()
    again = solve_targets(LabelRelation(CLASSES), 3, loss=Logistic(), random_state=0)
    np.testing.assert_array_equal(points, again.points)


class DoubledSlope(OwnDot):
    def slope(self, measure, similar):
        return 2 * (measure - similar)


class SlopeOfTheDistance(OwnContrastive):
    """The usual mistake: dL/d‖a − b‖ in place of dL/d‖a − b‖²."""

    def slope(self, measure, similar):
        distance = np.sqrt(measure)
        return 2 * similar * distance - 2 * (1 - similar) * np.maximum(0, 1.5 - distance)


class WrongForOthers(OwnContrastive):
    def slope(self, measure, similar):
        return similar + 0 * measure


class FlippedSlope(OwnDot):
    def slope(self, measure, similar):
        return similar - measure


class Flipped(OwnDot):
    """Right by finite differences, and the wrong way round."""

    def value(self, measure, similar):
        return super().value(measure, 1 - similar)

    def slope(self, measure, similar):
        return super().slope(measure, 1 - similar)


class DistanceTakenForProduct(OwnDot):
    uses_distance = True


class Infinite(OwnContrastive):
    def slope(self, measure, similar):
        with np.errstate(divide="ignore"):
            distance = np.sqrt(measure)
            return similar - (1 - similar) * np.maximum(0, 1.5 - distance) / distance


class OneNumber(OwnDot):
    def value(self, measure, similar):
        return super().value(measure, similar).mean()


class NoLength(OwnDot):
    length = 0.0


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (DoubledSlope(), r"DoubledSlope\.slope is not the slope .* at q = -2\.7, similar = 1"),
        (SlopeOfTheDistance(), r"first at q = .*, similar = 1: it is .* slope is dL/dq"),
        (WrongForOthers(), r"first at q = 0\.02925, similar = 0: it is 0, but the value changes"),
        (FlippedSlope(), r"FlippedSlope\.slope is not the slope"),
        (
            Flipped(),
            r"points the wrong way: an alike pair has a loss of 0\.5 at q = 1 and 0 at q = 0",
        ),
        (DistanceTakenForProduct(), r"points the wrong way.*the squared distance"),
        (Infinite(), r"Infinite\.slope is nan at q = 0, similar = 1: it must be finite"),
        (OneNumber(), r"OneNumber\.value must return one number per pair, .* got shape \(\)"),
        (NoLength(), r"NoLength\.length must be a finite number above 0, got 0\.0"),
        (OwnDot, "loss is the class OwnDot: pass an instance of it"),
        (3, "int has no uses_distance"),
    ],
)
def test_a_loss_that_is_wrong_is_refused_with_a_sentence(loss, sentence):
    kind = TypeError if loss in (OwnDot, 3) else ValueError
    with pytest.raises(kind, match=sentence):
        solve_targets(sampled_pairs(), 2, loss=loss)
    with pytest.raises(kind, match=sentence):
        as_targets(Targets(loss=loss))


@pytest.mark.parametrize("loss", [OwnContrastive(), OwnDot(), Logistic(), ContrastiveLoss(2.0)])
def test_a_loss_that_is_right_is_taken(loss):
    assert as_targets(Targets(loss=loss)).loss is loss


def test_triplets_and_exact_methods_have_no_use_for_a_loss_of_pairs():
    triplets = TripletRelation([0, 1], [1, 0], [2, 2], 3)
    with pytest.raises(TypeError, match="OwnDot is a loss for pairs, but triplets only compare"):
        solve_targets(triplets, 2, loss=OwnDot())
    with pytest.raises(ValueError, match="method='exact' is not possible: your own loss"):
        solve_targets(LabelRelation(CLASSES), 2, loss=OwnDot(), method="exact")
