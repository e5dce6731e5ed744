"""Warnings of ours can be kept back without touching the process's filters."""

from __future__ import annotations

import warnings
from threading import Barrier, Thread

import pytest

from twofold import RelationWarning, TargetWarning
from twofold._core.warnings import gathered, unsaid, warn_user


def test_what_is_kept_back_is_not_said_and_the_rest_is():
    with unsaid(RelationWarning):
        warn_user("kept back", RelationWarning)
        with pytest.warns(TargetWarning, match="said"):
            warn_user("said", TargetWarning)
    with pytest.warns(RelationWarning, match="said again"):
        warn_user("said again", RelationWarning)


def test_filters_of_the_process_are_not_touched():
    before = list(warnings.filters)
    with unsaid(RelationWarning):
        assert warnings.filters == before


def test_another_thread_goes_on_warning():
    inside, said = Barrier(2), []

    def keep_back() -> None:
        with unsaid(RelationWarning):
            inside.wait()
            inside.wait()

    thread = Thread(target=keep_back)
    thread.start()
    inside.wait()
    with pytest.warns(RelationWarning, match="said") as heard:
        warn_user("said", RelationWarning)
    said.extend(heard)
    inside.wait()
    thread.join()
    assert len(said) == 1


def test_what_is_gathered_is_not_warned_of_and_comes_once():
    with gathered() as sentences:
        for message in ("one", "two", "one"):
            warn_user(message, RelationWarning)
        with unsaid(RelationWarning):
            warn_user("three", RelationWarning)
    assert sentences == ["one", "two"]
    with pytest.warns(RelationWarning, match="four"):
        warn_user("four", RelationWarning)
