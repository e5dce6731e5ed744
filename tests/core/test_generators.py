"""Random generators from whatever a `random_state` may be."""

from __future__ import annotations

import numpy as np
import pytest

from twofold._core.random import as_generator


def test_a_seed_gives_the_same_numbers_every_time():
    for seed in (0, 7, np.int64(7)):
        assert as_generator(seed).random() == as_generator(seed).random()
    assert as_generator(1).random() != as_generator(2).random()


def test_a_generator_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


def test_an_old_random_state_gives_a_generator():
    first, again = (as_generator(np.random.RandomState(3)).random() for _ in range(2))
    assert first == again


def test_none_gives_fresh_numbers():
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed", object])
def test_anything_else_is_refused(random_state):
    with pytest.raises(ValueError, match="random_state must be a non-negative integer") as caught:
        as_generator(random_state)
    assert repr(random_state) in str(caught.value)
