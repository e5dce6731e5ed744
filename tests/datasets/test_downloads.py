"""Downloads, by pooch, from a server on this machine: the right bytes, or one sentence."""

import gzip
import hashlib
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from twofold.datasets import MULTILABEL_SETS, download, load_mnist
from twofold.datasets import _downloads as downloads
from twofold.datasets._downloads import PUBLIC_FILES, PublicFile

pytest.importorskip("pooch", reason="downloads need pooch")

IMAGES = gzip.compress(struct.pack(">HBB3I", 0, 8, 3, 2, 1, 1) + bytes([5, 6]))
LABELS = gzip.compress(struct.pack(">HBBI", 0, 8, 1, 2) + bytes([3, 4]))
LARGE = np.random.default_rng(0).bytes(300_000)
CONTENTS = {"images.gz": IMAGES, "labels.gz": LABELS, "large.bin": LARGE}


class _Handler(BaseHTTPRequestHandler):
    """Gives what CONTENTS has; below /broken/ the connection ends half-way."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = CONTENTS.get(self.path.rpartition("/")[2])
        if content is None or "/nowhere/" in self.path:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = len(content) // 2
        self.wfile.write(content[:half] if "/broken/" in self.path else content)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    asked: list[str]

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def _file(name: str, path: str, *sites: str, checksum: str | None = None) -> PublicFile:
    checksum = checksum or f"md5:{hashlib.md5(CONTENTS[name]).hexdigest()}"
    addresses = tuple(f"{site}/{name}" for site in sites)
    return PublicFile(path, checksum, len(CONTENTS[name]), addresses)


def _offer(monkeypatch: pytest.MonkeyPatch, *files: PublicFile) -> None:
    monkeypatch.setitem(PUBLIC_FILES, "mnist", files)


def _offer_mnist(monkeypatch: pytest.MonkeyPatch, *sites: str) -> None:
    _offer(
        monkeypatch,
        _file("images.gz", "mnist/t10k-images-idx3-ubyte.gz", *sites),
        _file("labels.gz", "mnist/t10k-labels-idx1-ubyte.gz", *sites),
    )


def _nothing_but_folders(folder: Path) -> bool:
    return all(path.is_dir() for path in folder.rglob("*"))


def test_files_come_to_where_the_loader_looks(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer_mnist(monkeypatch, server.site)
    data = tmp_path / "new" / "data"
    paths = download("mnist", data)
    assert load_mnist("test", data).classes.tolist() == [3, 4]
    assert sorted(paths) == sorted((data / "mnist").iterdir())
    assert paths[0].stat().st_mode & 0o777 == 0o644


def test_the_data_folder_may_come_from_the_variable(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer_mnist(monkeypatch, server.site)
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path))
    download("mnist")
    assert len(load_mnist("test").images) == 2


def test_nothing_is_printed(
    tmp_path: Path,
    server: _Server,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    _offer_mnist(monkeypatch, server.site)
    download("mnist", tmp_path)
    assert capfd.readouterr() == ("", "")


def test_what_is_there_is_not_asked_for_again(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer_mnist(monkeypatch, server.site)
    download("mnist", tmp_path)
    told: list[tuple[int, int]] = []
    download("mnist", tmp_path, progress=lambda *counts: told.append(counts))
    assert server.asked == ["/images.gz", "/labels.gz"]
    assert told[-1] == (len(IMAGES) + len(LABELS),) * 2


def test_a_damaged_file_is_replaced(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer_mnist(monkeypatch, server.site)
    download("mnist", tmp_path)[0].write_bytes(IMAGES[:10])
    download("mnist", tmp_path)
    assert len(load_mnist("test", tmp_path).images) == 2


def test_progress_grows_over_all_files_to_the_whole(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = (_file("large.bin", f"mnist/{i}.bin", server.site) for i in range(2))
    _offer(monkeypatch, *large)
    told: list[tuple[int, int]] = []
    download("mnist", tmp_path, progress=lambda *counts: told.append(counts))
    done = [n_done for n_done, _ in told]
    assert {total for _, total in told} == {2 * len(LARGE)}
    assert done == sorted(done)
    assert len(set(done)) >= 8
    assert done[-1] == 2 * len(LARGE)


@pytest.mark.parametrize("first", ["nowhere", "broken", "closed"])
def test_the_next_address_is_asked_where_the_first_fails(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    failing = "http://127.0.0.1:1" if first == "closed" else f"{server.site}/{first}"
    _offer_mnist(monkeypatch, failing, server.site)
    download("mnist", tmp_path)
    assert len(load_mnist("test", tmp_path).images) == 2
    assert {path.suffix for path in (tmp_path / "mnist").iterdir()} == {".gz"}


@pytest.mark.parametrize(
    ("site", "reason"),
    [
        ("{site}/nowhere", "the answer was 404 Not Found"),
        ("{site}/broken", "(no connection, or it was lost|.* checksum)"),
        ("http://127.0.0.1:1", "no connection, or it was lost"),
    ],
)
def test_a_failed_download_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch, site: str, reason: str
) -> None:
    _offer_mnist(monkeypatch, site.format(site=server.site))
    sentence = (
        rf"^t10k-images-idx3-ubyte\.gz could not be downloaded \(http://127.*images\.gz: {reason}\)"
        rf": try again later, or put it at {tmp_path}/mnist/t10k-images-idx3-ubyte\.gz yourself\.$"
    )
    with pytest.raises(ConnectionError, match=sentence):
        download("mnist", tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_answer_that_never_comes_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _offer_mnist(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ConnectionError, match=r"images\.gz: no answer in 0\.1 s"):
            download("mnist", tmp_path)


@pytest.mark.parametrize("checksum", ["md5:" + "0" * 32, "sha256:" + "0" * 64])
def test_a_wrong_checksum_is_refused_and_leaves_nothing(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch, checksum: str
) -> None:
    _offer(monkeypatch, _file("images.gz", "mnist/a.gz", server.site, checksum=checksum))
    with pytest.raises(ConnectionError, match=r"a\.gz could .* not have the official checksum"):
        download("mnist", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_may_be_known_by_its_sha256(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = f"sha256:{hashlib.sha256(LARGE).hexdigest()}"
    _offer(monkeypatch, _file("large.bin", "mnist/a.bin", server.site, checksum=checksum))
    (path,) = download("mnist", tmp_path)
    assert path.read_bytes() == LARGE


def test_a_wrong_checksum_leaves_what_was_there(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "a.gz").write_bytes(b"before")
    _offer(monkeypatch, _file("images.gz", "mnist/a.gz", server.site, checksum="md5:" + "0" * 32))
    with pytest.raises(ConnectionError, match="checksum"):
        download("mnist", tmp_path)
    assert [path.read_bytes() for path in (tmp_path / "mnist").iterdir()] == [b"before"]


def test_an_interruption_leaves_nothing_half_written(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    _offer(monkeypatch, _file("large.bin", "mnist/a.bin", server.site))
    with pytest.raises(KeyboardInterrupt):
        download("mnist", tmp_path, progress=interrupt)
    assert _nothing_but_folders(tmp_path)


def test_a_place_that_cannot_be_written_is_said(
    tmp_path: Path, server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer_mnist(monkeypatch, server.site)
    (tmp_path / "mnist").touch()
    sentence = (
        r"images-idx3-ubyte\.gz cannot be written to .*mnist \(.*\): give a writable data folder"
    )
    with pytest.raises(OSError, match=sentence):
        download("mnist", tmp_path)


@pytest.mark.parametrize("name", ["pubfig83", "nus_wide", *MULTILABEL_SETS])
def test_a_set_without_a_download_says_which_files_go_where(tmp_path: Path, name: str) -> None:
    sentence = rf"^{name} has no public download: put .*{tmp_path}/(pubfig83|nus_wide|multilabel)"
    with pytest.raises(FileNotFoundError, match=sentence):
        download(name, tmp_path)


def test_an_unknown_set_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'mnist', 'cifar10', .* 'imagenet'"):
        download("imagenet", tmp_path)


def test_the_official_registry_is_whole() -> None:
    files = [file for files in PUBLIC_FILES.values() for file in files]
    assert len(files) == 7
    for file in files:
        kind, _, digest = file.checksum.partition(":")
        assert len(digest) == {"md5": 32, "sha256": 64}[kind]
        assert int(digest, 16)
    assert all(address.startswith("https://") for file in files for address in file.addresses)
    assert all(
        address.endswith(Path(file.path).name) for file in files for address in file.addresses
    )
