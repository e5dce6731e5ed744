"""Which rows the second embedder is trained on, and whose layers what is read from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_layers import kinds

from twofold import LabelRelation, PairRelation, RelationWarning
from twofold.metric import MetricProblem, _solving
from twofold.metric._solving import MOST_CHOSEN_ON


class Trainings:
    """Two embedders that note what they are asked: one of all rows, one without some."""

    def __init__(self, n_classes, n_each, rng):
        self.vectors, self.classes = kinds(n_classes, n_each, rng=rng)
        self.trained_on = None
        self.read_by_trial = []

    def read(self, rows):
        vectors = torch.from_numpy(self.vectors[rows])
        return {"features": vectors, "output": vectors[:, :4]}

    def train(self, rows):
        self.trained_on = rows

        def read(some):
            self.read_by_trial.append(some)
            return self.read(some)

        return read

    def solve(self, rng, with_output=True, relation=None):
        relation = relation or LabelRelation(self.classes)
        problem = MetricProblem(
            relation, self.read, self.train, {"output": 0.0}, with_output, lambda line: None
        )
        return problem.solve(rng)


def test_the_choice_is_made_on_classes_that_the_second_embedder_has_not_seen(rng):
    given = Trainings(10, 30, rng)
    step, selection = given.solve(rng)
    trained, unseen, seen = given.read_by_trial
    np.testing.assert_array_equal(trained, given.trained_on)
    of = given.classes
    assert len(np.unique(of[unseen])) == selection.n_held_out == 2
    assert not np.isin(of[unseen], of[trained]).any()
    assert np.isin(of[seen], of[trained]).all()
    assert not np.isin(seen, trained).any()
    assert len(seen) == 24  # a tenth of the other classes' items
    assert set(selection.scores) == {"features", "output", "seen", "unseen"}
    assert step.transform(given.read(np.arange(5))).shape == (5, step.n_components)


def test_items_of_unknown_class_are_read_by_nobody(rng):
    given = Trainings(6, 30, rng)
    given.classes = np.where(np.arange(180) % 7 == 0, -1, given.classes)
    given.solve(rng)
    assert (given.classes[np.concatenate(given.read_by_trial)] >= 0).all()


def test_many_items_are_chosen_on_a_part_of_them(rng):
    given = Trainings(4, MOST_CHOSEN_ON, rng)
    given.solve(rng)
    assert [len(rows) for rows in given.read_by_trial[1:]] == [MOST_CHOSEN_ON, 200]


@pytest.mark.parametrize("n_each", [10, 100])
def test_many_items_are_looked_at_in_part(rng, monkeypatch, n_each):
    monkeypatch.setattr(_solving, "MOST_USED", 400)
    given = Trainings(2000 // n_each, n_each, rng)
    given.solve(rng, with_output=False)
    trained, unseen = given.read_by_trial
    of = given.classes
    assert 200 < len(given.trained_on) + len(unseen) < 700
    assert not np.isin(of[unseen], of[trained]).any()
    if n_each == 10:  # of small classes some are taken whole
        assert np.unique(of[unseen], return_counts=True)[1].min() == 10


def test_the_output_alone_needs_no_new_items_of_kinds_seen(rng):
    given = Trainings(10, 30, rng)
    _, selection = given.solve(rng, with_output=False)
    assert len(given.trained_on) == 240
    assert set(selection.scores) == {"features", "unseen"}


def test_of_several_labels_whole_labels_are_held_out(rng):
    given = Trainings(10, 30, rng)
    labels = np.eye(10, dtype=int)[given.classes]
    labels[::7, 0] = 1
    _, selection = given.solve(rng, with_output=False, relation=LabelRelation(labels))
    trained, unseen = given.read_by_trial
    assert not labels[trained][:, labels[unseen].any(axis=0)].any()
    assert selection.n_held_out == 2
    assert selection.scores["unseen"] > selection.scores["features"]


def test_of_pairs_whole_groups_are_held_out(rng):
    given = Trainings(12, 30, rng)
    pairs = LabelRelation(given.classes).sample_pairs(6, 6, random_state=0)
    _, selection = given.solve(rng, with_output=False, relation=pairs)
    trained, unseen = given.read_by_trial
    assert not np.isin(given.classes[unseen], given.classes[trained]).any()
    assert selection.n_held_out == 2
    assert selection.scores["unseen"] > selection.scores["features"]


def test_pairs_that_link_all_items_leave_nothing_to_hold_out(rng):
    given = Trainings(4, 10, rng)
    chain = np.arange(39)
    similar = np.append(np.ones(39), np.zeros(1))
    relation = PairRelation(np.append(chain, 0), np.append(chain + 1, 39), similar, 40)
    with pytest.warns(RelationWarning, match="fewer than 4 groups of alike items"):
        _, selection = given.solve(rng, with_output=False, relation=relation)
    assert selection.n_held_out == 0
    assert given.trained_on is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_classes_are_not_trained_on_twice(rng, n_classes):
    given = Trainings(n_classes, 30, rng)
    assert given.solve(rng) is None
    assert given.trained_on is None
