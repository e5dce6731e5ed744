"""Memory of `twofold ask` under hostile requests: a thousand at a time, websockets beside."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.figures import Figure

TITLE = "twofold ask: memory under hostile requests"
ROUNDS, MOST_GROWTH = 5, 16.0
SETTING = {
    "a round": "1,000 requests of a stranger: wrong host, origin, token, method and path; a "
    "websocket that says every senseless message, one that sends a megabyte and one that sends "
    "bytes; a POST that announces 2 GiB and sends 40 MiB",
    "rounds": ROUNDS,
    "memory": "resident, of the server's process (not of the worker, whom no request reaches)",
    "project": "24 pictures",
}


def why_not() -> str | None:
    return None if find_spec("websockets") else "websockets is not installed"


def measure() -> list[Figure]:
    running, strangers = _tests()
    with tempfile.TemporaryDirectory() as place:
        server = running.Running(running.write_pictures(Path(place) / "pictures"))
        try:
            return _figures(server, strangers)
        finally:
            server.kill()


def _tests() -> tuple[ModuleType, ModuleType]:
    """Return the tests' server, and their requests."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ask"))
    import running
    import test_strangers

    return running, test_strangers


def _figures(server: Any, strangers: ModuleType) -> list[Figure]:
    memory = [_mebibytes(server)]
    for number in range(ROUNDS):
        refused = _attack(server, strangers, np.random.default_rng(number))
        memory.append(_mebibytes(server))
    note = ", ".join(f"{value:.0f}" for value in memory) + " MiB before and after each round"
    grown = max(memory[2:]) - memory[1]
    return [
        Figure("requests refused in the last round", refused, strangers.N_REQUESTS),
        Figure("MiB grown by the first round", memory[1] - memory[0], note=note),
        Figure("MiB grown by the four after it", grown, MOST_GROWTH, at_least=False),
    ]


def _attack(server: Any, strangers: ModuleType, rng: np.random.Generator) -> int:
    """Be hostile in every way; return how many requests were refused."""
    refused = 0
    for path, method, headers in strangers.strangers(server, rng):
        status, _, content = server.request(path, method, **headers)
        refused += 400 <= status < 500 and b"Traceback" not in content
    for message in (*strangers.MESSAGES, "a" * 2**20, b"\x00\xff"):
        with contextlib.suppress(Exception), server.page("Max") as page:
            page.send(message)
            page.wait("refused")
    strangers.test_a_message_or_a_picture_that_is_too_large_is_refused(server)
    return refused


def _mebibytes(server: Any) -> float:
    """Return the resident memory of the server's process."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 2**10
