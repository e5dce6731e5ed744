"""Something is off: contradictions with the chain that shows them, and what the rest denies."""

from __future__ import annotations

from kept_looks import kept

from twofold.ask._doubts import find_doubts
from twofold.ask._standing import StandingAnswers


def test_a_chain_of_same_between_two_that_are_different_is_shown():
    looks = [kept(1, (0, 4)), kept(2, (4, 9)), kept(3, (9, 0), (False,), who="Ben")]
    (doubt,) = find_doubts(StandingAnswers(looks), {}, 12)
    assert (doubt.why, doubt.chain, doubt.said, doubt.who) == ("chain", (0, 4, 9), False, "Ben")
    assert "2 answers in a chain" in doubt.sentence


def test_a_pair_that_was_called_both_comes_first_and_once():
    looks = [kept(1, (0, 1)), kept(2, (0, 1), (False,)), kept(3, (2, 3))]
    doubts = find_doubts(StandingAnswers(looks), {(0, 1): 0.9, (2, 3): 0.8}, 5)
    assert [(one.left, one.right, one.why) for one in doubts] == [
        (0, 1, "both ways"),
        (2, 3, "unlike the rest"),
    ]
    assert "You said both" in doubts[0].sentence


def test_two_people_who_differ_are_told_so():
    looks = [kept(1, (0, 1)), kept(2, (0, 1), (False,), who="Ben")]
    (doubt,) = find_doubts(StandingAnswers(looks), {}, 5)
    assert "Two people differ" in doubt.sentence


def test_what_the_rest_hardly_contradicts_is_not_listed():
    standing = StandingAnswers([kept(1, (0, 1)), kept(2, (2, 3), (False,))])
    assert find_doubts(standing, {(0, 1): 0.4, (2, 3): 0.5}, 5) == []


def test_a_suspicion_about_a_pair_that_was_taken_back_is_not_listed():
    assert find_doubts(StandingAnswers(), {(0, 1): 0.99}, 5) == []
