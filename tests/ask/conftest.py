from __future__ import annotations

import pytest
from running import Running, write_pictures


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all that only talk to it; at its end it said nothing of errors."""
    folder = tmp_path_factory.mktemp("ask")
    running = Running(write_pictures(folder / "pictures"))
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")
