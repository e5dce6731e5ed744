"""`twofold ask` as a process of its own, and a page that is a script."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import uuid
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image
from websockets.sync.client import connect

N_ITEMS = 24
N_KINDS = 3


def write_pictures(folder: Path, n: int = N_ITEMS) -> Path:
    """Write small pictures of three kinds, kind `number % 3`, and return the folder."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    patterns = rng.integers(60, 200, size=(N_KINDS, 8, 8))
    for number in range(n):
        pixels = patterns[number % N_KINDS] + rng.integers(-25, 25, size=(8, 8))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:02}.png")
    return folder


def is_same(left: int, right: int) -> bool:
    """Whether two of the pictures are of one kind."""
    return left % N_KINDS == right % N_KINDS


class Running:
    """A server, until `stop`."""

    def __init__(self, data: Path, *arguments: object) -> None:
        self.data, self.project = data, data.with_name(f"{data.stem}.ask")
        arguments = (data, *arguments)
        command = [sys.executable, "-m", "twofold", "ask", *map(str, arguments), "--no-browser"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line)
            if "http://" in line:
                break
        else:
            raise RuntimeError(self.process.stderr.read())
        self.link = self.said[-1].strip()
        parts = urlsplit(self.link)
        self.port, self.token = parts.port, parse_qs(parts.query)["token"][0]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.cookie = f"twofold_ask_{self.port}={self.token}"

    def request(self, path, method="GET", *, cookie=True, body=None, **headers):
        """Return status, headers and content; a header that is None is not sent."""
        wanted = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie if cookie else None}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                if value is not None:
                    link.putheader(name, value)
            if body is not None:
                link.putheader("Content-Length", str(len(body)))
            link.endheaders(body)
            answer = link.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            link.close()

    def page(self, who="Anna"):
        """Return a page that is open."""
        return ScriptedPage(self, who)

    def worker_pid(self) -> int:
        """Return the process that learns: the child that is no resource tracker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in children.split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        raise RuntimeError("There is no worker.")

    def kill(self) -> None:
        """End it as a loss of power would."""
        self.process.kill()
        self._finish()

    def stop(self) -> tuple[int, str]:
        """End it by Ctrl-C; return its exit code and what it said of errors."""
        self.process.send_signal(signal.SIGINT)
        return self._finish()

    def _finish(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


class ScriptedPage:
    """One websocket: says things and waits for what comes back."""

    def __init__(self, server: Running, who: str) -> None:
        self._closing = ExitStack()
        self._socket = self._closing.enter_context(
            connect(
                f"ws://127.0.0.1:{server.port}/live",
                origin=server.origin,
                additional_headers={"Cookie": server.cookie},
                open_timeout=20,
            )
        )
        self.say("hello", who=who)
        self.welcome = self.wait("welcome")

    def say(self, kind, **more):
        """Send a message."""
        self._socket.send(json.dumps({"type": kind, **more}))

    def send(self, text):
        """Send anything."""
        self._socket.send(text)

    def wait(self, *kinds, where=lambda message: True):
        """Return the next message of some kinds that fulfils a condition."""
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message["type"] in kinds and where(message):
                return message

    def questions(self, *kinds):
        """Return questions, as soon as there are some."""
        wanted = kinds or ("pair", "nine")
        self.say("more", have=[], kinds=list(wanted))
        while True:  # some may be on their way that were given before we said what we want
            listed = self.wait("questions")["list"]
            if some := [one for one in listed if one["kind"] in wanted]:
                return some

    def answer(self, question, same="truth", key=None):
        """Answer a question, by default as it is, and return what comes back."""
        if same == "truth":
            first, *others = question["items"]
            alike = [other for other in others if is_same(first, other)]
            same = bool(alike) if question["kind"] == "pair" else alike
        key = key or uuid.uuid4().hex
        self.say("answer", key=key, question=question["id"], same=same, seconds=1.5)
        return self.wait("saved", "refused", where=lambda message: message["key"] == key)

    def close(self):
        """Close the page."""
        self._closing.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
