"""Whether to go on, in a sentence."""

from __future__ import annotations

import pytest

from twofold.ask import Quality, advice


def history(*values, width=0.04):
    return [
        (50 * (k + 1), Quality(value, value - width / 2, min(1.0, value + width / 2), 10, 10))
        for k, value in enumerate(values)
    ]


@pytest.mark.parametrize("known", [[], [(10, None), (20, None)], history(0.8, 0.85)])
def test_with_too_little_to_go_by_it_says_so(known):
    said = advice(known)
    assert (said.enough, said.n_more) == (False, None)
    assert "too few answers" in said.sentence


def test_while_the_curve_rises_more_will_help():
    said = advice(history(0.7, 0.8, 0.86, 0.9))
    assert not said.enough
    assert 10 <= said.n_more <= 500
    assert said.sentence.startswith(f"Continue: about {said.n_more} more answers will help.")


def test_where_it_is_flat_and_known_well_one_can_stop():
    flat = advice(history(0.95, 0.95, 0.95, 0.95))
    assert flat.enough
    assert flat.sentence.startswith("You can stop")


def test_where_it_is_flat_but_hardly_known_it_does_not_say_stop():
    said = advice(history(0.9, 0.9, 0.9, 0.9, width=0.3))
    assert not said.enough
    assert "not certain" in said.sentence


def test_a_perfect_metric_needs_no_more():
    assert advice(history(0.9995, 0.9996, 0.9996, 0.9996)).enough
