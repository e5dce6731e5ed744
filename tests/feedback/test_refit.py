"""What was selected, fitted to parts: where rows come to, known ones and others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from toy_problems import beside_loud_noise, pairs_within, problem_of

from twofold.feedback import refit_parts, select_candidate
from twofold.relations import PairRelation

X, CLASSES = beside_loud_noise(60)


@pytest.mark.parametrize("embedder", [None, Ridge(1e-3)])
def test_rows_have_the_points_that_the_fitted_map_gives_whether_stated_or_not(embedder):
    some = pairs_within(CLASSES[:50])
    stated = PairRelation(some.left, some.right, some.similar, len(X))
    problem = problem_of(X, stated)
    selection = select_candidate(problem, embedder=embedder, n_rounds=12)
    is_kept = (stated.left < 30) & (stated.right < 30)
    kept = stated.take_pairs(is_kept).take(problem.items)
    part = refit_parts(problem, selection, embedder)(kept)
    rows = np.array([55, 3, 40, 59, 3, 0])  # 50 and later stand in no statement
    by_map = part.last.embedder().predict(X)
    np.testing.assert_allclose(part.points(rows), by_map[rows], atol=1e-4)
    np.testing.assert_array_equal(part.points(np.array([3])), part.points(np.array([3, 55]))[:1])
