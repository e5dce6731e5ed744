"""Sets with a public download are put where the loaders look, their checksums compared.

A file is downloaded beside its place and moved there once its checksum is right; where one address
does not give it, the next is asked.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from twofold._core.checks import check_choice
from twofold.datasets._data_folder import named_folder
from twofold.datasets._places import PLACES, place_of

CHUNK_BYTES = 1 << 16
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file that anyone can download.

    Attributes
    ----------
    path : str
        Its place in the data folder.
    checksum : str
        The kind and the digest: ``md5:…`` or ``sha256:…``.
    n_bytes : int
        Its size, for the display of progress.
    addresses : tuple of str
        Where it is, best first.
    """

    path: str
    checksum: str
    n_bytes: int
    addresses: tuple[str, ...]


def _mnist_file(name: str, md5: str, n_bytes: int) -> PublicFile:
    sites = (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    )
    addresses = tuple(f"{site}/{name}" for site in sites)
    return PublicFile(f"mnist/{name}", f"md5:{md5}", n_bytes, addresses)


def _omniglot_file(name: str, sha256: str, n_bytes: int) -> PublicFile:
    address = f"https://github.com/brendenlake/omniglot/raw/master/python/{name}"
    return PublicFile(f"omniglot/{name}", f"sha256:{sha256}", n_bytes, (address,))


PUBLIC_FILES: dict[str, tuple[PublicFile, ...]] = {
    "mnist": (
        _mnist_file("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
        _mnist_file("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28_881),
        _mnist_file("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1_648_877),
        _mnist_file("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4_542),
    ),
    "cifar10": (
        PublicFile(
            "cifar10/cifar-10-binary.tar.gz",
            "md5:c32a1d4ab5d03f1284b67883e8d87530",
            170_052_171,
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
        ),
    ),
    "omniglot": (
        _omniglot_file(
            "images_background_small1.zip",
            "f38eb80f801274ac2b4dff5b24289016bfaba4a7d5bb50deebf27104ad6cb8a4",
            1_319_022,
        ),
        _omniglot_file(
            "images_background_small2.zip",
            "3ccaa407515a8778e5d0861875af38b17e418f301ad5bb3b5a6b65d901a41c7f",
            1_580_917,
        ),
    ),
}


def download(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Download a set's official files to where its loader looks, and return their paths.

    An existing file with the right checksum is not downloaded again; one with another checksum is
    replaced once the right one has arrived.

    Parameters
    ----------
    name : str
        ``"mnist"``, ``"cifar10"`` or ``"omniglot"``. For a set without a public download, the error
        message says which files go where.
    data_dir : path, optional
        The data folder, which is made if it is not there; by default the one
        in the variable TWOFOLD_DATA.
    progress : callable, optional
        Called with the number of bytes downloaded so far and in total.
    """
    check_choice("name", name, dict.fromkeys([*PUBLIC_FILES, *PLACES]))
    folder = named_folder(data_dir)
    if name not in PUBLIC_FILES:
        raise FileNotFoundError(f"{name} has no public download: {place_of(name, folder)}.")
    files = PUBLIC_FILES[name]
    bar = _Bar(sum(file.n_bytes for file in files), progress)
    return [_fetch(file, folder, bar) for file in files]


class _Bar:
    """What pooch takes for a progress bar: one over all files of a set."""

    def __init__(self, n_bytes: int, progress: Callable[[int, int], None] | None) -> None:
        self.total = 0  # pooch writes here the size of the file that comes
        self._n_bytes = n_bytes
        self._n_before = 0
        self._n_of_file = 0
        self._progress = progress

    def start_file(self) -> None:
        """Count a file from its beginning."""
        self._n_of_file = 0

    def finish_file(self, n_bytes: int) -> None:
        """Count a file as there, whether it came or was there before."""
        self._n_before += n_bytes
        self._n_of_file = 0
        self._tell()

    def update(self, n_bytes: int) -> None:
        """Count so many more bytes; pooch says a whole chunk for the last one, too."""
        self._n_of_file = min(self._n_of_file + n_bytes, self.total)
        self._tell()

    def reset(self) -> None:
        """Nothing: pooch counts a file anew when it is done, and ours goes on."""

    def close(self) -> None:
        """Nothing: there are more files."""

    def _tell(self) -> None:
        if self._progress is not None:
            n_done = min(self._n_before + self._n_of_file, self._n_bytes)
            self._progress(n_done, self._n_bytes)


def _fetch(file: PublicFile, folder: Path, bar: _Bar) -> Path:
    """Return the path of a file, downloaded from the first address that gives it."""
    path = folder / file.path
    reasons = []
    for address in file.addresses:
        bar.start_file()
        try:
            _retrieve(address, path, file.checksum, bar)
        except _NotGivenError as failure:
            reasons.append(f"{address}: {failure}")
        else:
            bar.finish_file(file.n_bytes)
            return path
    with suppress(OSError):
        path.parent.rmdir()  # only where it is empty
    raise ConnectionError(
        f"{path.name} could not be downloaded ({'; '.join(reasons)}): try again later, or put it "
        f"at {path} yourself."
    )


class _NotGivenError(Exception):
    """An address did not give the file; the message says why in a few words."""


def _retrieve(address: str, path: Path, checksum: str, bar: _Bar) -> None:
    import pooch
    from requests import RequestException

    downloader = pooch.HTTPDownloader(
        progressbar=bar, chunk_size=CHUNK_BYTES, timeout=TIMEOUT_SECONDS
    )
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                address,
                checksum,
                path.name,
                path.parent,
                downloader=downloader,
                processor=_let_all_read,
            )
    except RequestException as error:
        raise _NotGivenError(_in_words(error)) from error
    except ValueError as error:
        raise _NotGivenError("the downloaded file does not have the official checksum") from error
    except OSError as error:
        raise OSError(
            f"{path.name} cannot be written to {path.parent} ({error}): give a writable data "
            "folder."
        ) from error


def _let_all_read(path: str, action: str, _: object) -> str:
    """Give a file that came the usual permissions: pooch's are for its owner alone."""
    if action != "fetch":
        os.chmod(path, 0o644)
    return path


def _in_words(error: OSError) -> str:
    """Return the reason of a failed request, of which requests gives the whole chain of causes."""
    from requests import HTTPError, Timeout

    if isinstance(error, HTTPError) and error.response is not None:
        return f"the answer was {error.response.status_code} {error.response.reason}"
    if isinstance(error, Timeout):
        return f"no answer in {TIMEOUT_SECONDS} s"
    return "no connection, or it was lost"


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from printing what it does: only the command line prints."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
