"""A part of `make faults`: kills at every call that writes, where that takes no time."""

from __future__ import annotations

from itertools import count

import pytest
from fault_scenarios import SCENARIOS, kill_and_check
from killing import why_not


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize(
    ("name", "every"), [("page", 1), ("save over a model", 1), ("checkpoint", 3)]
)
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing(name, every, tmp_path):
    for at_call in count(1, every):
        folder = tmp_path / str(at_call)
        folder.mkdir()
        if not kill_and_check(SCENARIOS[name], folder, at_call):
            break
    assert at_call > 5
