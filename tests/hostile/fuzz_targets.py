"""What is fuzzed: every reader of files, one a row, and when its answer is right.

A file must end in a success with finite values, or in one sentence of ours. To fuzz one more
reader, add a row to `TARGETS` and a folder of small good files to `corpus/`.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hostile_models import fuzz_load, fuzz_prepared
from scipy import sparse

import twofold
from twofold.datasets import (
    Records,
    iterate_records,
    load_cifar10,
    load_entity_pairs,
    load_mnist,
    load_multilabel,
    load_nus_wide_labels,
    load_pairs,
    load_table,
    read_pairs,
    read_records,
    read_triplets,
)
from twofold.experiments import read_record
from twofold.experiments._gallery import read_gallery
from twofold.preparation import ImagePreparation, TablePreparation
from twofold.regression import load_features
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Checkpoint, Trainer
from twofold.regression._draws import Draws
from twofold.relations import PairRelation, diagnose

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
PACKAGE = str(Path(twofold.__file__).parent)
SENTENCES = (ValueError, TypeError, FileNotFoundError, IsADirectoryError)
"""What a reader may raise of a file: these themselves, and none of their kinds by others."""
LONGEST_SENTENCE = 2000


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    name : str
        Also of the folder of its corpus.
    read : callable (Path) -> object
        Given a file, or the folder that holds it as `place`.
    place : str
        Where in a folder the file has to lie; "" if the reader takes the file itself, called as it
        is in the corpus.
    beside : mapping of str to str
        Other files that the folder needs: their places, and their names in the corpus.
    """

    name: str
    read: Callable[[Path], Any]
    place: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)

    def seeds(self) -> dict[str, bytes]:
        """Return the good files that are mutated, and bad ones that were found, by name."""
        beside = set(self.beside.values())
        return {
            path.name: path.read_bytes()
            for path in sorted((CORPUS / self.name).iterdir())
            if path.name not in beside
        }

    def prepare(self, folder: Path) -> None:
        """Put what is needed beside the file into a folder."""
        for place, name in self.beside.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes((CORPUS / self.name / name).read_bytes())

    def write(self, folder: Path, name: str, content: bytes) -> Path:
        """Write a file to its place, and return what the reader takes."""
        path = folder / (self.place or name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return folder if self.place else path


def _read_pairs(path: Path) -> Any:
    return _used(load_pairs(path))


def _read_pairs_of_keys(path: Path) -> Any:
    return _used(load_pairs(path, keys=[*"abcdefgh", *map(str, range(12))]))


def _used(pairs: Any) -> Any:
    """Have compiled code go through what was read."""
    relation = PairRelation(pairs.left, pairs.right, pairs.similar, pairs.n_items, pairs.weight)
    diagnose(relation)
    return pairs


def _read_table(path: Path) -> Any:
    table = load_table(path)
    return table, _multiplied(table.features)


def _multiplied(features: Any) -> Any:
    """Have compiled code follow every index; in float64, where nothing overflows."""
    return features.astype(np.float64) @ np.ones(features.shape[1])


RECORDS = Records(Path("records.csv"), np.array([*"abcdefgh", *map(str, range(12))], dtype=object))


def _read_records(path: Path) -> Any:
    """Read records whole and in pieces, and make features of them."""
    records = read_records(path)
    pieces = [piece.ids for piece in iterate_records(path, n_rows=2)]
    for row in (0, records.n_items - 1):
        records.place(row), records.fields(row)
    if records.table is None:
        return _multiplied(records.features), pieces
    preparation = TablePreparation().fit(records.table)
    return _multiplied(preparation.transform(records.table)), pieces


def _read_named_pairs(path: Path) -> Any:
    return read_pairs(path, RECORDS), read_pairs(path, RECORDS, RECORDS)


def _read_named_triplets(path: Path) -> Any:
    return read_triplets(path, RECORDS)


def _read_preparation(folder: Path) -> Any:
    description = json.loads((folder / "description.json").read_text(encoding="utf-8"))
    preparation = TablePreparation.open(description, folder)
    return _multiplied(preparation.transform({"title": ["red chair", ""], "price": [1.0, None]}))


def _read_image(path: Path) -> Any:
    return ImagePreparation(size=8, cache=False).fit([path]).decode([path]).images


def _read_multilabel(folder: Path) -> Any:
    stored = load_multilabel("scene", folder)
    return stored, _multiplied(stored.features)


def _read_features(folder: Path) -> Any:
    features = load_features(folder)
    is_matrix = features.ndim == 2 and features.dtype.kind in "biuf"
    return _multiplied(features) if is_matrix and np.isfinite(_values(features)).all() else None


def _read_checkpoint(path: Path) -> Any:
    network = torch.nn.Linear(2, 1)
    with torch.no_grad():
        network.weight.fill_(0.5), network.bias.zero_()
    rate = torch.tensor(0.1)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    rng = np.random.default_rng(0)
    average = WeightAverage(network, 1, 0.0)
    trainer = Trainer(network, (optimiser,), rng, Draws(rng, "cpu"), average)
    progress = Checkpoint(path, {"epochs": 3}, network, first_loss=1.0).restore(trainer)
    return progress.losses, [weights.detach().numpy() for weights in network.parameters()]


def _use_model(path: Path) -> None:
    fuzz_load(path.read_bytes())


def _use_prepared_model(path: Path) -> None:
    fuzz_prepared(path.read_bytes())


TARGETS = (
    Target("pairs", _read_pairs),
    Target("pairs-of-keys", _read_pairs_of_keys),
    Target("table", _read_table),
    Target("records", _read_records),
    Target("named-pairs", _read_named_pairs),
    Target("named-triplets", _read_named_triplets),
    Target(
        "table-preparation",
        _read_preparation,
        "table_preparation.safetensors",
        {"description.json": "description.json"},
    ),
    Target("image", _read_image),
    Target("record", read_record),
    Target("gallery", read_gallery),
    Target("features-npz", _read_features, "features.npz"),
    Target("features-npy", _read_features, "features.npy"),
    Target("multilabel", _read_multilabel, "multilabel/scene.npz"),
    Target("checkpoint", _read_checkpoint),
    Target(
        "mnist",
        lambda folder: load_mnist("test", folder),
        "mnist/t10k-images-idx3-ubyte.gz",
        {"mnist/t10k-labels-idx1-ubyte.gz": "labels"},
    ),
    Target(
        "entity-pairs",
        lambda folder: load_entity_pairs("dblp-acm", folder),
        "entity_pairs/dblp-acm/train.txt.gz",
        {f"entity_pairs/dblp-acm/{part}.txt.gz": "other" for part in ("valid", "test")},
    ),
    Target(
        "cifar10",
        lambda folder: load_cifar10("test", folder),
        "cifar10/cifar-10-binary.tar.gz",
    ),
    Target(
        "nus-wide",
        lambda folder: load_nus_wide_labels("test", folder),
        "nus_wide/nus-wide-groundtruth.tar.xz",
    ),
)


def complaint(target: Target, given: Path) -> str | None:
    """Read a file; return what is wrong with the answer, None if it is right."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # NumPy's, of numbers that overflow or are not numbers: it means that one got through.
            warnings.simplefilter("error", RuntimeWarning)
            found = target.read(given)
    except SENTENCES as error:
        return _wrong_sentence(error)
    except BaseException as error:
        return f"a foreign {type(error).__name__}: {error}"
    return None if _is_finite(found) else "a number that is not finite got through"


def _wrong_sentence(error: Exception) -> str | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = trace.tb_frame.f_code.co_filename if trace is not None else ""
    words = str(error)
    if not where.startswith(PACKAGE):
        return f"a foreign {type(error).__name__} from {where}: {words}"
    if "\n" in words or not words.endswith(".") or len(words) > LONGEST_SENTENCE:
        return f"no sentence: {words!r}"
    return None


def _values(array: Any) -> Any:
    return array.data if sparse.issparse(array) else array


def _is_finite(found: Any) -> bool:
    """Whether all numbers in what was read, at any depth, are finite."""
    if isinstance(found, np.ndarray) or sparse.issparse(found):
        values = _values(found)
        return values.dtype.kind != "f" or bool(np.isfinite(values).all())
    if dataclasses.is_dataclass(found):
        return all(_is_finite(getattr(found, one.name)) for one in dataclasses.fields(found))
    if isinstance(found, Mapping):
        return all(map(_is_finite, found.values()))
    if isinstance(found, list | tuple):
        return all(map(_is_finite, found))
    return not isinstance(found, float) or bool(np.isfinite(found))


MODELS = (Target("model", _use_model), Target("prepared-model", _use_prepared_model))
"""Models, mutated as the bytes of a file say: slower, so that only `make fuzz` opens them."""
