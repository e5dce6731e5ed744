"""`python tests/ask/kills.py [N]`: kill -9 of server or worker at N random moments of an evening.

Every answer that the page saw confirmed must be in the project afterwards, the project must open,
and the next server goes on. Part of `make faults`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from running import Running, write_pictures
from websockets.exceptions import WebSocketException

from twofold.ask import AskRequest, read_ask_items
from twofold.ask._store import AnswerStore


def main(n_kills: int = 100, seed: int = 0) -> int:
    """Kill so often; end with an error at the first answer that is lost."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as room:
        data = write_pictures(Path(room) / "pictures", 200)
        items, confirmed = read_ask_items(AskRequest(data=data)), set()
        done = n_servers = 0
        while done < n_kills:
            running = Running(data)
            n_servers += 1
            try:
                done += one_evening(running, confirmed, rng, n_kills - done)
            finally:
                running.kill()
            store = AnswerStore(running.project / "answers.sqlite", items.ids())
            kept = {look.look.key for look in store.looks()}
            store.close()
            if not confirmed <= kept:
                raise SystemExit(f"after {done} kills {len(confirmed - kept)} answer(s) are lost")
            say(f"{done} kills, {n_servers} of servers: {len(confirmed):,} confirmed answers there")
    return 0


def one_evening(running: Running, confirmed: set[str], rng: random.Random, most: int) -> int:
    """Answer without pause; kill the worker now and then, and at last the server."""
    n_kills, is_asked = 0, threading.Event()
    answering = threading.Thread(target=answer_all, args=(running, confirmed, is_asked))
    answering.start()
    if rng.random() < 0.9:  # else it is killed while it starts
        is_asked.wait(60)
    while n_kills + 1 < most and rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, 3.0))
        with suppress(RuntimeError, ProcessLookupError, FileNotFoundError):  # it is being started
            os.kill(running.worker_pid(), signal.SIGKILL)
            n_kills += 1
    time.sleep(rng.uniform(0.0, 3.0))
    running.process.kill()
    answering.join()
    return n_kills + 1


def answer_all(running: Running, confirmed: set[str], is_asked: threading.Event) -> None:
    """Answer what is asked, and note what is confirmed, until the server is gone."""
    with suppress(WebSocketException, OSError, EOFError):
        page = running.page("Anna")
        while True:
            for question in page.questions():
                is_asked.set()
                key = os.urandom(8).hex()
                if page.answer(question, key=key)["type"] == "saved":
                    confirmed.add(key)


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
