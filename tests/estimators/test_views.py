"""How features are seen: which views there are, and which one statements choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from little_problems import beside_loud_noise, pairs_within
from little_trials import LOUD, PAIRS, Y, a_setting, right_of
from sklearn.linear_model import Ridge

from twofold import MetricLearner
from twofold._core.warnings import RelationWarning
from twofold.estimators import _feedback as feedback_module
from twofold.estimators._choice import FOLDS_UNLESS_EASY, Choice, Feedback
from twofold.estimators._views import FEW, STIFF, View, views_of
from twofold.estimators._ways import Chosen, Ways
from twofold.regression import fit_raw_map, open_features

N_ITEMS, N_CLASSES = 240, 4
_, LOUD_CLASSES = beside_loud_noise()


def by_loud_directions(n_features: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Return items whose classes are in two loud features, beside many quieter ones of noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=N_ITEMS)
    X = 0.7 * rng.normal(size=(N_ITEMS, n_features))
    X[:, :2] = 3 * np.stack([labels % 2, labels // 2], axis=1) + rng.normal(size=(N_ITEMS, 2))
    return X.astype(np.float32), labels


def by_quiet_directions() -> tuple[np.ndarray, np.ndarray]:
    """Return items whose classes are in ten features, beside seventy louder ones of noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=N_ITEMS)
    X = 2 * rng.normal(size=(N_ITEMS, 80))
    X[:, :10] = rng.normal(size=(N_CLASSES, 10))[labels] + 0.5 * rng.normal(size=(N_ITEMS, 10))
    return X.astype(np.float32), labels


def seen_as(X: np.ndarray, dim: int | None) -> list[View]:
    return views_of(open_features(X, "cpu"), X.shape[1:], dim)


def fitted(X: np.ndarray, labels: np.ndarray, n_pairs: int = 480, **given) -> MetricLearner:
    learner = MetricLearner(embedder=Ridge(), device="cpu", random_state=0, **given)
    return learner.fit(X, relation=pairs_within(labels, n_pairs))


# ---- which views there are ----


def test_many_features_are_seen_in_few_directions_and_in_all():
    X, _ = by_loud_directions()
    views = seen_as(X, None)
    assert [len(view.raw.projection) for view in views[:2]] == [FEW, FEW]
    assert FEW < len(views[2].raw.projection) <= X.shape[1]
    assert [view.stiffness for view in views] == [1, STIFF, 1, STIFF]


@pytest.mark.parametrize(("n_features", "dim"), [(FEW, None), (80, 5), (80, 40), (3, 9)])
def test_few_features_and_a_dimension_of_the_user_s_are_seen_in_one_way(n_features, dim):
    X, _ = by_loud_directions(n_features)
    views = seen_as(X, dim)
    assert [len(view.raw.projection) for view in views] == [dim or n_features] * 2
    assert [view.stiffness for view in views] == [1, STIFF]


def test_images_are_counted_by_their_pixels():
    images = np.random.default_rng(0).random((60, 1, 8, 8), dtype=np.float32)
    assert len(views_of(open_features(images, "cpu"), (1, 8, 8), None)) == 4


def test_a_stiff_map_changes_less():
    X, labels = by_loud_directions(5)
    raw = fit_raw_map(open_features(X, "cpu"))
    moved = []
    for stiffness in (1, STIFF):
        setting = replace(a_setting(Ridge(), X, dim=5), view=View(raw, stiffness))
        ways = Ways(setting, "contrastive", 1.0, np.random.default_rng(0), False)
        learnt = ways.by_map("landmarks", pairs_within(labels, 480), n_rounds=3)
        moved.append(np.linalg.norm(learnt.points - setting.start))
    assert moved[1] < 0.8 * moved[0]


# ---- which one is chosen ----


def test_loud_directions_suffice_where_they_tell():
    X, labels = by_loud_directions()
    learner = fitted(X, labels)
    assert learner.dim_ == FEW
    assert learner.score(X, labels) > fitted(X, labels, dim=74).score(X, labels) + 0.01


def test_quiet_directions_are_kept_where_they_tell():
    X, labels = by_quiet_directions()
    learner = fitted(X, labels)
    assert learner.dim_ > FEW
    few = fitted(X, labels, dim=FEW)
    assert learner.score(X, labels) > few.score(X, labels) + 0.02


def test_views_that_order_statements_clearly_worse_are_not_tried():
    rng = np.random.default_rng(0)
    useless = rng.normal(size=(80, 5)).astype(np.float32)
    settings = [a_setting(Ridge(), X) for X in (useless, useless, orders_pairs())]
    all_ways = [Ways(one, "contrastive", 1.0, rng, False) for one in settings]
    worth = Choice(all_ways, PAIRS, rng, [])._worth_trying
    assert worth == all_ways[2:]
    assert Choice(all_ways[:2], PAIRS, rng, [])._worth_trying == all_ways[:2]


def orders_pairs() -> np.ndarray:
    """Return features by which what is stated alike is near."""
    rng = np.random.default_rng(1)
    return (10 * np.eye(5)[Y % 5] + rng.normal(size=(80, 5))).astype(np.float32)


def test_of_many_statements_some_choose_the_view_and_all_are_learnt(monkeypatch):
    X, labels = by_quiet_directions()
    whole = fitted(X, labels)
    monkeypatch.setattr(feedback_module, "MOST_FOR_VIEWS", 300)
    monkeypatch.setattr(feedback_module, "FEWEST_RARER_FOR_VIEWS", 50)
    sizes = []
    best_view = Choice.best_view

    def watched(self, held_out):
        sizes.append(len(self._statements))
        return best_view(self, held_out)

    monkeypatch.setattr(Choice, "best_view", watched)
    sampled = fitted(X, labels)
    assert sizes == [pytest.approx(300, abs=1)]  # parted kind by kind
    assert sampled.dim_ == whole.dim_
    linked = pairs_within(labels, 480).linked
    assert np.isfinite(sampled.targets_[linked]).all()


def test_a_rare_kind_is_not_sampled_away(monkeypatch):
    labels = np.repeat(np.arange(N_CLASSES), 60)
    statements = pairs_within(labels, 600)
    is_alike = np.flatnonzero(statements.similar == 1)[:20]
    rare = statements.take_pairs(np.r_[is_alike, np.flatnonzero(statements.similar == 0)])
    monkeypatch.setattr(feedback_module, "MOST_FOR_VIEWS", 100)
    rng = np.random.default_rng(0)
    assert feedback_module._some_of(rare, rng) is rare
    monkeypatch.setattr(feedback_module, "FEWEST_RARER_FOR_VIEWS", 10)
    some = feedback_module._some_of(rare, rng)
    assert len(some) == pytest.approx(len(rare) / 2, abs=1)
    assert 0 < (some.similar == 1).sum() < 20


def test_all_that_was_tried_is_on_the_account():
    settings = [a_setting(Ridge(), features=X) for X in (LOUD, LOUD, LOUD)]
    rng = np.random.default_rng(0)
    spent: list[dict[str, float]] = []
    seen = [Ways(one, "contrastive", 1.0, rng, False) for one in settings]
    choice = Choice(seen, pairs_within(LOUD_CLASSES, 400), rng, spent)
    n_folds = len(choice._hold_out(0.2))
    choice.best_view(0.2)
    assert len(spent) == 3 * n_folds


# ---- what is not easy ----


class Foreseen(Ways):
    """Ways whose judges see what they are told to."""

    def __init__(self, found: float, stiffness: float) -> None:
        setting = replace(a_setting(Ridge()), view=View(a_setting().view.raw, stiffness))
        super().__init__(setting, "contrastive", 1.0, np.random.default_rng(0), False)
        self.found = found
        self.n_tried = 0

    def by_map(self, map_, statements, judge=None, n_rounds=None, rows=None):
        self.n_tried += 1
        learnt = super().by_map(map_, statements, None, 1, rows)
        judge.found[:] = [0.5, self.found]
        n_right = round(100 * self.found)
        judge._seen[:] = [[right_of(50)] * 2, [right_of(n_right)] * 2]
        return learnt


def chosen_of(*all_ways: Foreseen) -> Foreseen:
    statements = pairs_within(LOUD_CLASSES, 3000)
    choice = Choice(all_ways, statements, np.random.default_rng(0), [])
    return choice._try_views(choice._hold_out(0.2)).ways


def test_what_is_easy_is_tried_once_and_without_stiff_maps():
    usual, stiff = Foreseen(0.95, 1), Foreseen(0.99, STIFF)
    assert chosen_of(usual, stiff) is usual
    assert (usual.n_tried, stiff.n_tried) == (1, 0)


def test_what_is_not_easy_is_judged_by_more_and_without_stiff_maps_too():
    few, stiff, all_ = Foreseen(0.8, 1), Foreseen(0.99, STIFF), Foreseen(0.88, 1)
    assert chosen_of(few, stiff, all_) is all_
    assert few.n_tried == all_.n_tried == FOLDS_UNLESS_EASY
    assert stiff.n_tried == 0


def test_what_is_hard_is_learnt_by_stiff_maps_alone():
    usual, stiff, pliant = Foreseen(0.7, 1), Foreseen(0.6, STIFF), Foreseen(0.99, 1)
    assert chosen_of(usual, stiff, pliant) is stiff
    assert (usual.n_tried, stiff.n_tried, pliant.n_tried) == (1, FOLDS_UNLESS_EASY, 0)


@pytest.mark.parametrize("found", [0.6, 0.8, 0.95])
def test_where_there_is_one_view_it_is_chosen(found):
    only = Foreseen(found, 1)
    assert chosen_of(only) is only


def test_of_equals_fewer_directions_are_preferred():
    few, all_ = Foreseen(0.8, 1), Foreseen(0.8, 1)
    assert chosen_of(few, all_) is few
    assert chosen_of(few, Foreseen(0.89, 1)) is not few


# ---- statements that come later ----


def test_views_are_compared_again_once_statements_are_many_more():
    X, labels = by_quiet_directions()
    pool = pairs_within(labels, 480)
    learner = MetricLearner(embedder=Ridge(), device="cpu", random_state=0)
    with pytest.warns(RelationWarning):
        learner.fit(X, relation=pool.take_pairs(np.arange(24)))
    assert learner._feedback.n_compared == 24
    learner.update(pool.take_pairs(np.arange(24, 300)))
    assert learner._feedback.n_compared == 300
    assert learner.dim_ > FEW


def test_views_stay_while_statements_are_a_few_more():
    X, labels = by_loud_directions()
    pool = pairs_within(labels, 480)
    learner = MetricLearner(device="cpu", random_state=0)
    learner.fit(X, relation=pool.take_pairs(np.arange(400)))
    view = learner._feedback.view
    learner.update(pool.take_pairs(np.arange(400, 470)))
    assert learner._feedback.view is view
    assert learner._feedback.n_compared == 400


@pytest.mark.parametrize(
    ("n_then", "is_outgrown"), [(10, True), (60, True), (61, False), (134, False), (135, True)]
)
def test_statements_outgrow_a_map_but_no_embedder(n_then, is_outgrown):
    ninety = PAIRS.take_pairs(np.arange(90))
    view = View(fit_raw_map(open_features(LOUD, "cpu")))
    before = Feedback(Chosen("landmarks"), None, None, view, None, {}, {}, n_compared=n_then)
    assert before.is_outgrown_by(ninety) == is_outgrown
    assert not replace(before, chosen=Chosen("embedder")).is_outgrown_by(ninety)
