"""Which process this is, as torchrun's environment says."""

from __future__ import annotations

import logging

import pytest

from twofold._core.processes import ALONE, VARIABLES, ProcessPlace, process_place
from twofold._core.progress import Reporter


@pytest.fixture
def torchrun(monkeypatch):
    def start(rank: int, n: int, local_rank: int = 0, n_here: int = 1) -> None:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
        for name, value in zip(VARIABLES, (rank, n, local_rank, n_here), strict=True):
            monkeypatch.setenv(name, str(value))

    return start


def test_without_torchrun_a_process_is_alone(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    monkeypatch.setenv("WORLD_SIZE", "4")  # some other launcher's
    assert process_place() is ALONE
    assert ALONE.is_first


def test_torchrun_says_which_process_it_is(torchrun):
    torchrun(5, 8, 1, 4)
    assert process_place() == ProcessPlace(5, 8, 1, 4)
    assert not process_place().is_first


def test_the_only_process_of_torchrun_is_alone(torchrun):
    torchrun(0, 1)
    assert process_place() is ALONE


@pytest.mark.parametrize("rank", ["", "first"])
def test_an_environment_that_says_no_number_is_refused(rank, torchrun, monkeypatch):
    torchrun(0, 2)
    monkeypatch.setenv("RANK", rank)
    with pytest.raises(ValueError, match=rf"does not say which process .* with RANK={rank},"):
        process_place()


def test_an_environment_with_a_part_missing_is_refused(torchrun, monkeypatch):
    torchrun(0, 2)
    monkeypatch.delenv("LOCAL_RANK")
    with pytest.raises(ValueError, match=r"LOCAL_RANK=None, .* or unset TORCHELASTIC_RUN_ID"):
        process_place()


@pytest.mark.parametrize(("rank", "lines"), [(0, ["a line"]), (1, [])])
def test_only_the_first_process_tells_of_progress(rank, lines, torchrun, caplog):
    torchrun(rank, 2, rank, 2)
    with caplog.at_level(logging.INFO, logger="twofold"):
        Reporter(verbose=True).always("a line")
    assert caplog.messages == lines
