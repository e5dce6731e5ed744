"""Answers on disk: kept once, taken back step by step, and there after whatever happens."""

from __future__ import annotations

import os
import signal
import sqlite3

import pytest

from twofold.ask._store import AnswerStore, Look, stored_ids

IDS = [(0, f"item {number}") for number in range(12)]
MANY_IDS = [(0, str(number)) for number in range(500)]


def pair(key, items=(0, 1), same=True, who="Anna", **more):
    return Look(key, who, "pair", items, (same,), **more)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def store(file):
    store = AnswerStore(file, IDS)
    yield store
    store.close()


def said(store):
    return [(kept.look.items, kept.look.same) for kept in store.looks()]


def test_a_look_comes_back_as_it_was_given(store, file):
    look = Look("k", "Anna", "nine", (4, 5, 6), (True, None), "learn", 1.0, 6.5)
    kept = store.add(look)
    assert kept.look == look
    again = AnswerStore(file, IDS)
    assert [one.look for one in again.looks()] == [look]
    again.close()


def test_an_answer_that_is_sent_twice_counts_once(store):
    assert store.add(pair("k")) is not None
    assert store.add(pair("k", same=False)) is None
    assert said(store) == [((0, 1), (True,))]


def test_the_draw_of_a_test_is_kept_with_its_weight(store):
    store.add(pair("k", purpose="test", weight=0.1 + 0.2))
    (kept,) = store.looks()
    assert (kept.look.purpose, kept.look.weight) == ("test", 0.1 + 0.2)


def test_undo_takes_back_any_number_of_a_persons_looks_and_nobody_elses(store, file):
    for number in range(3):
        store.add(pair(f"a{number}", items=(number, number + 1)))
    store.add(pair("b", items=(7, 8), who="Ben"))
    assert store.undo("Anna", "u1").look.items == (2, 3)
    store.close()
    tomorrow = AnswerStore(file, IDS)
    assert tomorrow.undo("Anna", "u2").look.items == (1, 2)
    assert tomorrow.undo("Anna", "u3").look.items == (0, 1)
    assert tomorrow.undo("Anna", "u4") is None
    assert said(tomorrow) == [((7, 8), (True,))]
    tomorrow.close()


def test_an_undo_that_is_sent_twice_takes_back_one_look(store):
    store.add(pair("a", items=(0, 1)))
    store.add(pair("b", items=(2, 3)))
    assert store.undo("Anna", "u").look.key == "b"
    assert store.undo("Anna", "u").look.key == "b"
    assert said(store) == [((0, 1), (True,))]


def test_items_are_known_by_their_ids_when_rows_move_and_are_added(store, file):
    store.add(pair("k", items=(0, 3)))
    store.close()
    moved = AnswerStore(file, [(0, "new"), *reversed(IDS)])
    assert said(moved) == [((12, 9), (True,))]
    moved.close()


def test_answers_about_items_that_are_gone_are_set_aside_and_not_lost(store, file):
    store.add(pair("k", items=(0, 3)))
    store.add(pair("l", items=(1, 2)))
    store.close()
    fewer = AnswerStore(file, IDS[1:])
    assert fewer.n_gone == 1
    assert said(fewer) == [((0, 1), (True,))]
    fewer.close()
    whole = AnswerStore(file, IDS)
    assert len(said(whole)) == 2
    whole.close()


def test_equal_ids_of_two_tables_are_two_items(file):
    store = AnswerStore(file, [(0, "7"), (1, "7")])
    store.add(pair("k", items=(0, 1)))
    assert said(store) == [((0, 1), (True,))]
    assert stored_ids(file) == {(0, "7"), (1, "7")}
    store.close()


def test_what_is_no_database_is_a_sentence(file):
    file.write_bytes(b"left,right,similar\n" * 100)
    with pytest.raises(ValueError, match="cannot be read as answers"):
        AnswerStore(file, IDS)


def test_a_database_of_something_else_or_of_another_version_is_refused(store, file, tmp_path):
    store.close()
    base = sqlite3.connect(file)
    base.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
    base.commit()
    base.close()
    with pytest.raises(ValueError, match="has version 99"):
        AnswerStore(file, IDS)
    other = tmp_path / "other.sqlite"
    base = sqlite3.connect(other)
    base.execute("CREATE TABLE facts (name TEXT, value TEXT)")
    base.commit()
    base.close()
    with pytest.raises(ValueError, match="something other than answers"):
        AnswerStore(other, IDS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill -9")
def test_what_was_confirmed_outlives_a_kill(file):
    """A process confirms each answer on its output after `add`, and is killed on the way."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _confirm_answers(file, writing)
    os.close(writing)
    with open(reading) as output:
        confirmed = [output.readline().strip() for _ in range(23)]
        os.kill(child, signal.SIGKILL)
        confirmed += [line.strip() for line in output if line.endswith("\n")]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    store = AnswerStore(file, MANY_IDS)
    assert all(confirmed)
    assert set(confirmed) <= {kept.look.key for kept in store.looks()}
    store.close()


def _confirm_answers(file, output):
    """Add one answer after the other, say so, and never come back."""
    try:
        store = AnswerStore(file, MANY_IDS)
        for number in range(len(MANY_IDS) - 1):
            store.add(Look(f"k{number}", "me", "pair", (number, number + 1), (True,)))
            os.write(output, f"k{number}\n".encode())
        signal.pause()
    finally:
        os._exit(1)
