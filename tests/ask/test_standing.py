"""What stands: counts, verdicts of several opinions, and whether people agree with themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kept_looks import kept

from twofold.ask._standing import StandingAnswers
from twofold.asking import Repeats


def test_counts_are_of_what_stands():
    standing = StandingAnswers([kept(1), kept(2, (3, 4, 5), (False, None), kind="nine")])
    assert standing.counts("Anna") == {
        "looks": 2,
        "answers": 3,
        "same": 1,
        "different": 1,
        "unsure": 1,
        "can_undo": True,
    }
    assert not standing.counts("Ben")["can_undo"]


def test_the_majority_counts_and_a_tie_is_no_verdict():
    standing = StandingAnswers([kept(1, (0, 1)), kept(2, (1, 0), (False,))])
    assert standing.verdict((0, 1)) is None
    assert standing.disputed() == [(0, 1)]
    assert standing.verdicts() == {}
    standing.add(kept(3, (0, 1), (False,)))
    assert standing.verdicts() == {(0, 1): False}


def test_being_unsure_is_an_answer_but_no_verdict():
    standing = StandingAnswers([kept(1, same=(None,))])
    assert standing.is_answered((0, 1))
    assert standing.verdict((0, 1)) is None


def test_agreement_is_of_a_person_with_themselves():
    looks = [kept(1), kept(2, same=(True,)), kept(3, same=(False,)), kept(4, who="Ben")]
    assert StandingAnswers(looks).agreement() == Repeats(2, 1)
    of_two = StandingAnswers([kept(1), kept(2, who="Ben", same=(False,))])
    assert of_two.agreement() == Repeats(0, 0)


def test_what_is_asked_again_was_decided_once_and_long_ago():
    looks = [
        kept(1, (0, 1)),
        kept(2, (2, 3), (None,)),
        kept(3, (4, 5), purpose="test"),
        kept(4, (6, 7), who="Ben"),
        kept(5, (8, 9)),
    ]
    standing = StandingAnswers(looks)
    assert [one.number for one in standing.to_repeat("Anna", 2)] == [1]
    assert [one.number for one in standing.to_repeat("Anna", 0)] == [1, 5]
    standing.add(kept(6, (0, 1), purpose="repeat"))
    assert [one.number for one in standing.to_repeat("Anna", 0)] == [5]


SAID = st.tuples(st.integers(0, 4), st.integers(5, 8), st.sampled_from([True, False, None]))


@given(st.lists(SAID, max_size=12), st.data())
def test_taking_looks_back_leaves_what_never_having_them_would(said, data):
    looks = [kept(n, (left, right), (same,)) for n, (left, right, same) in enumerate(said)]
    removed = data.draw(st.sets(st.sampled_from(range(len(looks))))) if looks else set()
    standing = StandingAnswers(looks)
    for number in removed:
        standing.remove(looks[number])
    never = StandingAnswers([look for look in looks if look.number not in removed])
    assert standing.answers() == never.answers()
    assert standing.counts("Anna") == never.counts("Anna")
    assert standing.verdicts() == never.verdicts()
    assert standing.agreement() == never.agreement()
