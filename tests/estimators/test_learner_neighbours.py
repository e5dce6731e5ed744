from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from twofold import MetricLearner


@pytest.fixture(scope="module")
def learner():
    X = np.repeat(np.eye(4), 5, axis=0) + 0.01 * np.random.default_rng(0).random((20, 4))
    return MetricLearner(3, embedder=Ridge(), random_state=0).fit(X, np.arange(20) // 5), X


def test_neighbours_are_of_one_class_and_never_the_item_itself(learner):
    fitted, X = learner
    answer = fitted.neighbours(X, 4)
    assert answer.rows.shape == (20, 4)
    assert (answer.rows != np.arange(20)[:, None]).all()
    assert (answer.rows // 5 == np.arange(20)[:, None] // 5).all()
    assert (np.diff(answer.distance, axis=1) >= 0).all()


def test_similarities_are_those_of_the_learner(learner):
    fitted, X = learner
    answer = fitted.neighbours(X, 3)
    for place in range(3):
        similarity = fitted.pair_similarity(X, X[answer.rows[:, place]])
        np.testing.assert_allclose(answer.similarity[:, place], similarity, atol=1e-4)


def test_among_others_nothing_is_left_out(learner):
    fitted, X = learner
    answer = fitted.neighbours(X[[7, 3]], 5, among=X[::-1])
    assert np.sort(answer.rows).tolist() == [[10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]


def test_there_are_no_more_neighbours_than_other_items(learner):
    fitted, X = learner
    assert fitted.neighbours(X[:3], 10).rows.shape == (3, 2)
    assert fitted.neighbours(X[:1], 10).rows.shape == (1, 0)


def test_copies_of_an_item_are_its_neighbours(learner):
    fitted, X = learner
    answer = fitted.neighbours(np.repeat(X[:1], 6, axis=0), 2)
    assert (answer.rows != np.arange(6)[:, None]).all()
    assert answer.rows[5].tolist() == [0, 1]
    with pytest.raises(ValueError, match="k must be at least 1"):
        fitted.neighbours(X, 0)
