"""Which rows the second embedder is trained on, and whose layers what is read from."""

from __future__ import annotations

import numpy as np
import pytest
from toy_layers import kinds

from twofold.metric import ClassMetric
from twofold.metric._solving import MOST_CHOSEN_ON


class Trainings:
    """Two embedders that note what they are asked: one of all rows, one without some."""

    def __init__(self, n_classes, n_each, rng):
        self.vectors, self.classes = kinds(n_classes, n_each, rng=rng)
        self.trained_on = None
        self.read_by_trial = []

    def read(self, rows):
        return {"features": self.vectors[rows], "output": self.vectors[rows, :4]}

    def train(self, rows):
        self.trained_on = rows

        def read(some):
            self.read_by_trial.append(some)
            return self.read(some)

        return read

    def solve(self, rng, with_output=True):
        metric = ClassMetric(self.classes, self.read, self.train, with_output, lambda line: None)
        return metric.solve(rng)


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
    assert step.transform(given.read(np.arange(5))).shape == (5, step.n_components)


def test_items_of_unknown_class_are_read_by_nobody(rng):
    given = Trainings(6, 30, rng)
    given.classes = np.where(np.arange(180) % 7 == 0, -1, given.classes)
    given.solve(rng)
    assert (given.classes[np.concatenate(given.read_by_trial)] >= 0).all()


def test_many_items_are_chosen_on_a_part_of_them(rng):
    given = Trainings(4, MOST_CHOSEN_ON, rng)
    given.solve(rng, with_output=False)
    assert [len(rows) for rows in given.read_by_trial[1:]] == [MOST_CHOSEN_ON, 400]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_classes_are_not_trained_on_twice(rng, n_classes):
    given = Trainings(n_classes, 30, rng)
    assert given.solve(rng) is None
    assert given.trained_on is None
