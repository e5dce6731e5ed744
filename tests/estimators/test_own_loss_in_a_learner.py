"""`Targets(loss=mine)`: a loss of one's own from end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from little_problems import OTHER, PAIRS, X, Y, quick_learner
from sklearn.base import clone
from sklearn.linear_model import Ridge

from twofold import LabelRelation, PairMetricLearner, Targets, load


@dataclass(frozen=True)
class Hinge:
    """(‖a − b‖² − near)₊ for the alike, (far − ‖a − b‖²)₊ for others, squared."""

    near: float = 0.1
    far: float = 1.0
    uses_distance = True
    length = 1.0

    def value(self, measure, similar):
        excess, gap = np.maximum(0, measure - self.near), np.maximum(0, self.far - measure)
        return similar * excess**2 + (1 - similar) * gap**2

    def slope(self, measure, similar):
        excess, gap = np.maximum(0, measure - self.near), np.maximum(0, self.far - measure)
        return 2 * (similar * excess - (1 - similar) * gap)


@pytest.mark.parametrize("known", [{"y": Y}, {"relation": PAIRS}], ids=["classes", "pairs"])
def test_a_learner_learns_by_a_loss_of_ones_own(known):
    learner = quick_learner(embedder=Ridge(), targets=Targets(loss=Hinge())).fit(X, **known)
    assert learner.metric_ == "euclidean"
    assert not learner.plan_.uses_feedback
    assert learner.plan_.loss == Hinge()
    assert learner.score(*OTHER) > 0.9


def test_it_is_cloned_and_searched_over_and_updated():
    learner = clone(quick_learner(embedder=Ridge(), targets=Targets(loss=Hinge())))
    learner.set_params(targets__loss=Hinge(far=2.0))
    learner.fit(X, relation=PAIRS)
    assert learner.plan_.loss.far == 2.0
    learner.update(LabelRelation(Y).sample_pairs(1, 1, random_state=0))
    assert learner.score(*OTHER) > 0.9
    pairs = np.stack([X[PAIRS.left], X[PAIRS.right]], axis=1)
    signs = np.where(PAIRS.similar > 0.5, 1, -1)
    by_pairs = PairMetricLearner(3, embedder=Ridge(), targets=Targets(loss=Hinge()), random_state=0)
    assert by_pairs.fit(pairs, signs).get_mahalanobis_matrix().shape == (5, 5)


def test_a_saved_model_embeds_and_knows_the_loss_by_name_alone(tmp_path):
    learner = quick_learner(embedder=Ridge(), targets=Targets(loss=Hinge()))
    learner.fit(X, relation=PAIRS).save(tmp_path / "model")
    opened = load(tmp_path / "model")
    np.testing.assert_array_equal(opened.transform(X), learner.transform(X))
    with pytest.raises(ValueError, match="The loss Hinge is your own code, which is not saved"):
        opened.fit(X, Y)
    opened.set_params(targets__loss=Hinge()).fit(X, Y)
    with pytest.raises(ValueError, match=r"Hinge is your own code.*save it without with_data"):
        learner.save(tmp_path / "other", with_data=True)


def test_feedback_is_refused_for_a_loss_of_ones_own():
    with pytest.raises(ValueError, match=r"feedback=3 .* cannot scale Hinge"):
        quick_learner(targets=Targets(loss=Hinge()), feedback=3).fit(X, relation=PAIRS)
