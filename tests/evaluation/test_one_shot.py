"""One-shot accuracy: against every episode there is, against chance, and what is refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import slow_scores
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from twofold.evaluation import _neighbours, _one_shot, one_shot_accuracy

METRICS = ["euclidean", "cosine", "dot"]


def accuracy(points, classes, n_way, **parameters):
    return one_shot_accuracy(points, classes, n_way=n_way, n_resamples=0, **parameters).accuracy


@st.composite
def tied_cases(draw):
    """Points on a small grid, so that many distances are equal; classes of different sizes."""
    n = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = rng.integers(0, 4, n)
    assume(np.unique(classes).size > 1)
    assume(np.bincount(classes).max() > 1)
    return rng.integers(-2, 3, (n, 2)), classes


@settings(max_examples=60)
@given(tied_cases(), st.integers(2, 4), st.sampled_from(["euclidean", "dot"]))
def test_all_episodes_are_those_of_a_loop_where_distances_tie(case, n_way, metric):
    points, classes = case
    n_way = min(n_way, np.unique(classes).size)
    wanted = slow_scores.one_shot(points.tolist(), classes.tolist(), n_way, metric)
    assert accuracy(points, classes, n_way, n_episodes="all", metric=metric) == pytest.approx(
        wanted
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_way", [2, 3, 5])
def test_all_episodes_of_random_points_are_those_of_a_loop(metric, n_way):
    rng = np.random.default_rng(n_way)
    points, classes = rng.normal(size=(14, 3)), np.repeat(np.arange(5), [4, 1, 3, 4, 2])
    wanted = slow_scores.one_shot(points.tolist(), classes.tolist(), n_way, metric)
    assert accuracy(points, classes, n_way, n_episodes="all", metric=metric) == pytest.approx(
        wanted
    )


@pytest.mark.parametrize("metric", METRICS)
def test_drawn_episodes_come_near_to_all_of_them(metric):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(7), [9, 1, 2, 5, 12, 3, 3])
    points = rng.normal(size=(7, 2))[classes] + 0.4 * rng.normal(size=(35, 2))
    every = accuracy(points, classes, 4, n_episodes="all", metric=metric)
    drawn = accuracy(points, classes, 4, n_episodes=20_000, metric=metric, random_state=1)
    assert 0.3 < every < 0.95
    assert drawn == pytest.approx(every, abs=4 * np.sqrt(every * (1 - every) / 20_000))


@pytest.mark.parametrize("n_episodes", [4000, "all"])
@pytest.mark.parametrize("metric", METRICS)
def test_points_that_are_all_one_answer_by_chance(metric, n_episodes):
    points, classes = np.full((12, 3), 0.3), np.arange(12) % 6
    assert accuracy(points, classes, 5, n_episodes=n_episodes, metric=metric) == pytest.approx(0.2)


@pytest.mark.parametrize("n_episodes", [50, "all"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_better_placement_scores_better(metric, n_episodes):
    classes = ["a", "a", "b", "b"]
    good = [[2, 0.1], [2, 0], [0, 2], [0.1, 2]]
    bad = [[2, 0.1], [-2, -0.1], [0, 2], [0.1, -2]]
    assert accuracy(good, classes, 2, n_episodes=n_episodes, metric=metric) == 1.0
    assert accuracy(bad, classes, 2, n_episodes=n_episodes, metric=metric) == 0.0


def test_more_classes_in_an_episode_are_harder():
    rng = np.random.default_rng(0)
    points, classes = rng.normal(size=(40, 2)), np.arange(40) % 10
    ways = [accuracy(points, classes, n_way, n_episodes="all") for n_way in range(2, 11)]
    assert ways == sorted(ways, reverse=True)


def test_a_query_is_never_its_own_example():
    # Each item is nearest to itself, and its class's other item is the farthest there is.
    points = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    assert accuracy(points, [0, 0, 1, 1], 2, n_episodes=200) == 0.0


def test_classes_of_one_item_are_examples_only_and_counted():
    found = one_shot_accuracy([[0.0], [1.0], [0.4]], ["a", "a", "b"], n_way=2, n_episodes="all")
    assert (found.n_classes, found.n_support_only, found.n_episodes) == (2, 1, None)
    assert found.accuracy == 0.0


def test_every_class_counts_alike_whatever_its_size():
    # Both items of class 0 lie at the origin, which is nearer to all of class 1 than its own.
    points, classes = np.concatenate([np.zeros((2, 30)), np.eye(30)]), np.repeat([0, 1], [2, 30])
    assert accuracy(points, classes, 2, n_episodes="all") == 0.5
    drawn = accuracy(points, classes, 2, n_episodes=5000, random_state=0)
    assert drawn == pytest.approx(0.5, abs=0.03)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_order_of_items_names_of_classes_and_a_rotation_change_nothing(seed):
    rng = np.random.default_rng(seed)
    points, classes = rng.normal(size=(20, 3)), np.arange(20) % 4
    turn, items = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(20)
    names = np.array(["d", "b", "a", "c"])
    for metric in METRICS:
        every = {"n_episodes": "all", "metric": metric}
        assert accuracy((points @ turn)[items], names[classes[items]], 3, **every) == pytest.approx(
            accuracy(points, classes, 3, **every)
        )


@pytest.mark.parametrize("n_episodes", [100, "all"])
def test_scores_do_not_depend_on_the_chunks(monkeypatch, n_episodes):
    rng = np.random.default_rng(7)
    points, classes = rng.normal(size=(60, 4)), np.arange(60) % 6

    def score():
        return accuracy(points, classes, 4, n_episodes=n_episodes, random_state=0)

    before = score()
    monkeypatch.setattr(_neighbours, "BLOCK_NUMBERS", 200)
    monkeypatch.setattr(_one_shot, "EPISODE_NUMBERS", 200)
    if n_episodes == "all":
        assert score() == pytest.approx(before)
    else:  # other chunks draw other episodes
        assert score() == pytest.approx(before, abs=0.3)


def test_the_same_seed_gives_the_same_scores():
    rng = np.random.default_rng(2)
    points, classes = rng.normal(size=(60, 3)), np.arange(60) % 12
    one, other, third = (
        one_shot_accuracy(points, classes, n_way=5, n_episodes=300, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert one == other
    assert one != third


@pytest.mark.parametrize("n_episodes", [400, "all"])
def test_the_interval_holds_the_accuracy_and_draws_classes_from_five_on(n_episodes):
    rng = np.random.default_rng(2)
    classes = np.arange(80) % 8
    points = rng.normal(size=(8, 3))[classes] + 0.6 * rng.normal(size=(80, 3))
    found = one_shot_accuracy(points, classes, n_way=5, n_episodes=n_episodes, random_state=0)
    low, high = found.interval
    assert found.resampled == "classes"
    assert 0 < low < found.accuracy < high <= 1
    few = one_shot_accuracy(points, classes % 4, n_way=3, n_episodes=n_episodes, random_state=0)
    assert few.resampled == "items"
    none = one_shot_accuracy(points, classes, n_way=3, n_episodes=n_episodes, n_resamples=0)
    assert (none.interval, none.resampled) == (None, None)


def test_scores_are_frozen():
    found = one_shot_accuracy(np.eye(4), [0, 0, 1, 1], n_way=2)
    assert (found.n_way, found.n_episodes, type(found.accuracy)) == (2, 1000, float)
    with pytest.raises(FrozenInstanceError):
        found.accuracy = 1.0


def test_episodes_that_cannot_be_made_are_refused():
    with pytest.raises(ValueError, match=r"n_way=20 .* there are only 3: set n_way to at most 3"):
        one_shot_accuracy(np.eye(4), [0, 0, 1, 2])
    with pytest.raises(ValueError, match=r"but there are only 1: give more classes"):
        one_shot_accuracy(np.eye(4), [0, 0, 0, 0], n_way=2)
    with pytest.raises(ValueError, match=r"Each of 4 classes has only one item.* needs two items"):
        one_shot_accuracy(np.eye(4), [0, 1, 2, 3], n_way=2)
    with pytest.raises(ValueError, match="n_way must be at least 2, got 1"):
        one_shot_accuracy(np.eye(4), [0, 0, 1, 1], n_way=1)
    with pytest.raises(ValueError, match="n_episodes must be at least 1, got 0"):
        one_shot_accuracy(np.eye(4), [0, 0, 1, 1], n_way=2, n_episodes=0)
    with pytest.raises(ValueError, match="n_episodes must be one of 'all', got 'every'"):
        one_shot_accuracy(np.eye(4), [0, 0, 1, 1], n_way=2, n_episodes="every")


def test_labels_and_points_of_a_wrong_form_are_refused():
    with pytest.raises(TypeError, match=r"labels is a matrix of shape \(3, 3\): for several"):
        one_shot_accuracy(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match=r"points has 3 row\(s\) and labels has 2"):
        one_shot_accuracy(np.eye(3), [0, 0])
    with pytest.raises(ValueError, match=r"labels has 1 item\(s\) of unknown class"):
        one_shot_accuracy(np.eye(3), [0, 0, -1])
    with pytest.raises(ValueError, match=r"points must be finite"):
        one_shot_accuracy([[np.nan], [0.0]], [0, 0])
    with pytest.raises(ValueError, match="metric must be one of"):
        one_shot_accuracy(np.eye(2), [0, 0], metric="manhattan")
