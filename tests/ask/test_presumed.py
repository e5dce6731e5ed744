"""Far pairs that are presumed to be different."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.ask._presumed import N_PRESUMED, Presumed
from twofold.asking import Askable
from twofold.evaluation import pair_similarity

POINTS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.mark.parametrize("n_left", [None, 20])
def test_they_are_far_allowed_and_few(n_left):
    askable = Askable(60, n_left)
    unlike = Presumed(POINTS, askable, 0).unlike(frozenset())
    left, right = np.array([*unlike]).T
    assert 0.7 * N_PRESUMED <= len(unlike) <= N_PRESUMED
    assert not any(unlike.values())
    assert askable.allows(left, right).all()
    every = pair_similarity(POINTS, *np.triu_indices(60, 1))
    assert (pair_similarity(POINTS, left, right) < np.quantile(every, 0.65)).all()


def test_what_somebody_was_asked_about_is_not_presumed():
    presumed = Presumed(POINTS, Askable(60), 0)
    first, *others = presumed.unlike(frozenset())
    assert [*presumed.unlike(frozenset([first]))] == others


def test_the_seed_decides():
    one, same, other = (
        Presumed(POINTS, Askable(60), seed).unlike(frozenset()) for seed in (0, 0, 1)
    )
    assert one == same != other
