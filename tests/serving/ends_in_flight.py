"""A server that is told to end while it answers, in a process of its own: signals are a process's.

`python ends_in_flight.py MODEL` prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from asked_server import Client

from twofold.serving import ServeRequest, serve
from twofold.serving._served import Served


def main(model: Path) -> None:
    begun, told, answers, opened = threading.Event(), threading.Event(), [], []
    embed = Served.embed

    def embed_once_told(self, features):
        begun.set()
        assert told.wait(60)
        return embed(self, features)

    def ask():
        answers.append(Client(opened[0].address).post("/embed", {"items": [[5.1, 3.5, 1.4, 0.2]]}))

    def end():
        assert begun.wait(60)
        os.kill(os.getpid(), signal.SIGTERM)
        told.set()

    def start(server):
        opened.append(server)
        for thread in threads:
            thread.start()

    Served.embed = embed_once_told
    threads = [threading.Thread(target=ask), threading.Thread(target=end)]
    before = signal.getsignal(signal.SIGTERM)
    closed = serve(ServeRequest(model=model, port=0), on_open=start)
    for thread in threads:
        thread.join(60)
    try:
        Client(opened[0].address).get("/health")
        is_up = True
    except ConnectionError:
        is_up = False
    given_back = signal.getsignal(signal.SIGTERM) is before
    print(json.dumps([answers[0][0], closed.n_requests, given_back, is_up]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
