"""`twofold serve` under 64 clients, beside `transform` in the same minute, and under nonsense.

The server is a process of its own, the clients are another: they send a request that was made
before, and read the answer without looking into it. By turns the server is asked and the model is
called in batches of 64, so that both see the same machine. Load goes to 127.0.0.1 alone.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import MetricLearner, Network, load
from twofold.datasets import load_mnist

TITLE = "A model behind HTTP: 64 clients, and 2,000 broken requests"
N_CLIENTS, N_ROWS, N_HOSTILE = 64, 64, 2000
TURNS, TURN_SECONDS, DIRECT_SECONDS = 12, 5.0, 1.0
SHORT_SECONDS = 10.0
PERCENTILE = 0.99
NPY = {"Content-Type": "application/x-npy", "Accept": "application/x-npy"}
JSON = {"Content-Type": "application/json"}
SETTING = {
    "model": "the paper's MNIST network, 784-500-500-16, 20,000 images, one epoch",
    "clients": f"{N_CLIENTS} connections that are kept, the next request when the last is answered",
    "served": f"{TURNS} turns of {TURN_SECONDS:g} s, {N_ROWS} test images a request as a .npy file",
    "transform": f"the same {N_ROWS} images again and again in a process of its own, "
    f"{DIRECT_SECONDS:g} s with one thread and {DIRECT_SECONDS:g} s with all before each turn, the "
    "better of the two",
    "hostile": f"{N_HOSTILE:,} requests of ten kinds: broken JSON, wrong shapes, NaN, bad .npy "
    "files, no HTTP, other hosts, bodies that are too large or end early; seed 0",
}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="twofold-serving-") as name:
        folder = Path(name)
        images = load_mnist("train")
        network = Network("mnist", max_epochs=1)
        learner = MetricLearner(16, targets="fml-dp", embedder=network, random_state=0)
        learner.fit(images.images[:20_000], images.classes[:20_000]).save(folder / "model")
        with _server(folder / "model") as port:
            return [
                *_load_figures(port, folder / "model"),
                *_other_figures(port),
                _hostile_figure(port),
            ]


@contextmanager
def _server(model: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "twofold", "serve", str(model), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = next(line.strip() for line in process.stdout if "http://" in line)
        yield int(address.rstrip("/").rpartition(":")[2])
        process.send_signal(signal.SIGTERM)
        if process.wait(60):
            raise RuntimeError(f"The server ended with {process.returncode}.")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Seconds that each request took, and how often each status came."""

    seconds: np.ndarray
    statuses: Counter[bytes]


def _request(port: int, path: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Return the status of the next answer, which is read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length or 0))
    return head.split(b" ", 2)[1]


async def _client(port: int, request: bytes, until: float, taken: list[float]) -> Counter[bytes]:
    statuses: Counter[bytes] = Counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        began = time.perf_counter()
        writer.write(request)
        statuses[await _read(reader)] += 1
        taken.append(time.perf_counter() - began)
    writer.close()
    return statuses


def ask(port: int, request: bytes, seconds: float) -> Answers:
    """Have all clients send a request again and again."""
    taken: list[float] = []

    async def run() -> list[Counter[bytes]]:
        until = time.monotonic() + seconds
        return await asyncio.gather(
            *(_client(port, request, until, taken) for _ in range(N_CLIENTS))
        )

    statuses: Counter[bytes] = sum(asyncio.run(run()), Counter())
    return Answers(np.array(taken), statuses)


def _images(n_rows: int) -> np.ndarray:
    return load_mnist("test").images[:n_rows]


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _load_figures(port: int, model: Path) -> list[Figure]:
    images = _images(N_ROWS)
    learner = load(model)
    request = _request(port, "/embed", NPY, _npy(images))
    ask(port, request, 1.0)
    rates, parts, statuses = [], [], Counter[bytes]()
    for _ in range(TURNS):
        direct = _direct_rate(learner, images)
        began = time.monotonic()
        answers = ask(port, request, TURN_SECONDS)
        served = N_ROWS * len(answers.seconds) / (time.monotonic() - began)
        rates.append((served, direct))
        parts.append(answers.seconds)
        statuses += answers.statuses
    seconds = np.concatenate(parts)
    median, tail = np.median(seconds), np.quantile(seconds, PERCENTILE)
    served, direct = np.array(rates).T
    n_bad = statuses.total() - statuses[b"200"]
    ratios = served / direct
    return [
        Figure("requests that failed", n_bad, 0, False, f"of {statuses.total():,}"),
        Figure(
            "99th percentile beside the median",
            float(tail / median),
            10,
            at_least=False,
            note=f"{1e3 * tail:.0f} ms and {1e3 * median:.0f} ms, {N_CLIENTS} clients at a time",
        ),
        Figure(
            "items a second beside transform in batches of 64",
            float(served.sum() / direct.sum()),
            0.5,
            note=f"{np.median(served):,.0f} beside {np.median(direct):,.0f}; turns "
            f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f}); load average of "
            f"the machine {os.getloadavg()[0]:.1f}",
        ),
    ]


def _direct_rate(learner: MetricLearner, images: np.ndarray) -> float:
    """Return the items a second of the model alone, with as many threads as suit it better."""
    rates = []
    for n_threads in (1, len(os.sched_getaffinity(0))):
        torch.set_num_threads(n_threads)
        n_calls, began = 0, time.monotonic()
        while time.monotonic() - began < DIRECT_SECONDS:
            learner.transform(images)
            n_calls += 1
        rates.append(n_calls * len(images) / (time.monotonic() - began))
    return max(rates)


def _other_figures(port: int) -> list[Figure]:
    """Return what JSON costs, and requests of one item."""
    figures = []
    for n_rows in (N_ROWS, 1):
        images = _images(n_rows)
        body = json.dumps({"items": images.reshape(n_rows, -1).tolist()}).encode()
        for kind, headers, content in (("JSON", JSON, body), (".npy", NPY, _npy(images))):
            if (kind, n_rows) == (".npy", N_ROWS):
                continue
            answers = ask(port, _request(port, "/embed", headers, content), SHORT_SECONDS)
            median, tail = np.median(answers.seconds), np.quantile(answers.seconds, PERCENTILE)
            figures.append(
                Figure(
                    f"{n_rows} item(s) a request as {kind}: items a second",
                    n_rows * len(answers.seconds) / SHORT_SECONDS,
                    note=f"median {1e3 * median:.0f} ms, 99 % under {1e3 * tail:.0f} ms",
                )
            )
    return figures


def _hostile_figure(port: int) -> Figure:
    rng = np.random.default_rng(0)
    statuses = Counter(asyncio.run(_say(port, _nonsense(port, rng))) for _ in range(N_HOSTILE))
    good = _request(port, "/embed", NPY, _npy(_images(2)))
    is_up = asyncio.run(_say(port, good)) == b"200"
    n_refused = sum(count for status, count in statuses.items() if status.startswith(b"4"))
    said = ", ".join(f"{count} × {status.decode()}" for status, count in sorted(statuses.items()))
    return Figure(
        "broken requests that were answered by 4xx",
        n_refused,
        N_HOSTILE,
        note=f"{said}; {'still up' if is_up else 'NOT UP'} at the end",
    )


async def _say(port: int, content: bytes) -> bytes:
    """Return the status that comes back, b"none" if none does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(content)
        return (await reader.readline()).split(b" ")[1]
    except (ConnectionError, IndexError):
        return b"none"
    finally:
        writer.close()


def _nonsense(port: int, rng: np.random.Generator) -> bytes:
    """Return a request that no server should take."""
    noise = rng.bytes(int(rng.integers(1, 3000)))
    good = json.dumps({"items": rng.random((2, 784)).round(3).tolist()}).encode()
    cut = int(rng.integers(1, len(good)))
    file = _npy(rng.random((2, 784)))
    bodies = (
        (JSON, noise),
        (JSON, good[:cut]),
        (JSON, good.replace(b"0.", b"NaN, ", 1)),
        (JSON, json.dumps({"items": rng.random((2, int(rng.integers(1, 783)))).tolist()}).encode()),
        (JSON, b"[" * int(rng.integers(1, 100_000))),
        (NPY, file[: int(rng.integers(1, len(file) - 1))]),
        (NPY, noise),
        ({**JSON, "Origin": "http://elsewhere.example"}, good),
    )
    kind = int(rng.integers(0, len(bodies) + 2))
    if kind < len(bodies):
        headers, body = bodies[kind]
        return _request(port, "/embed", headers, body)
    if kind == len(bodies):
        return b"@" + noise.replace(b"\n", b"@") + b"\r\n\r\n"
    head = f"POST /embed HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {rng.integers(2**25, 2**50)}\r\n\r\n".encode() + noise
