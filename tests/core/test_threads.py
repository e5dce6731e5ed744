"""How many threads our own code may use, and what they share out."""

from __future__ import annotations

import threading

import pytest

from twofold import describe_threads
from twofold._core import threads as threads_module
from twofold._core.threads import VARIABLES, Workers, allowed_threads


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(threads_module, "_n_processors", lambda: 8)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "3,2"}, 3),
        ({"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "4"}, 1),
        ({"MKL_NUM_THREADS": "2"}, 2),
        ({"OMP_NUM_THREADS": "64"}, 8),
        ({"OMP_NUM_THREADS": "0", "MKL_NUM_THREADS": "many"}, 8),
    ],
)
def test_the_usual_variables_are_obeyed(monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert allowed_threads() == expected


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_every_part_is_done_once_and_no_thread_is_left(n_threads):
    before, done = threading.active_count(), []
    with Workers(n_threads) as workers:
        workers.run(lambda number, name: done.append((number, name)), [(k, "a") for k in range(20)])
    assert sorted(done) == [(k, "a") for k in range(20)]
    assert threading.active_count() == before


def test_an_error_in_a_part_is_raised():
    def fail(number: int) -> None:
        raise FloatingPointError(f"part {number}")

    with Workers(2) as workers, pytest.raises(FloatingPointError, match="part 0"):
        workers.run(fail, [(0,), (1,)])


def test_a_user_can_see_which_threads_are_used_and_why(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    told = describe_threads()
    assert told["targets"].startswith("at most 3 Python threads")
    assert "does not survive a fork" in told["targets"]
    assert "OpenMP" in told["networks"]
    assert "OMP_NUM_THREADS" in told["variables"]
