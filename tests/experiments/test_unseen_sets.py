"""Which items are trained on and which are of kinds never seen, from files made here."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from PIL import Image

from twofold.experiments import UNSEEN_PROTOCOLS, open_unseen, unseen_protocols

SPLITS = {
    # set, architecture, epochs, batch size, weight decay, flips: of the trials in the issue
    "unseen-mnist-0-4": ("mnist", "mnist", 30, 128, 0.3, False),
    "unseen-mnist-5-9": ("mnist", "mnist", 30, 128, 0.3, False),
    "unseen-cifar10-0-4": ("cifar10", "cifar10", 50, 128, 0.6, True),
    "unseen-cifar10-5-9": ("cifar10", "cifar10", 50, 128, 0.6, True),
    "unseen-pubfig83": ("pubfig83", "pubfig83", 150, 128, 1.0, True),
    "unseen-omniglot-1": ("omniglot", "small-conv", 40, 64, 0.0, False),
    "unseen-omniglot-2": ("omniglot", "small-conv", 40, 64, 0.0, False),
    "unseen-digits": ("digits", "mlp", 30, 64, 0.03, False),
}
ALPHABETS = {
    "small1": ("Balinese", "Early_Aramaic", "Greek", "Korean", "Latin"),
    "small2": ("Greek", "Japanese_(katakana)", "Latin", "Sanskrit", "Tagalog"),
}


def test_the_protocols_are_the_eight_of_the_issue():
    assert {
        name: (p.data_set, p.network, p.n_epochs, p.batch_size, p.weight_decay, p.flips)
        for name, p in UNSEEN_PROTOCOLS.items()
    } == SPLITS
    assert {p.n_components for p in UNSEEN_PROTOCOLS.values()} == {512}
    titles = [p.title for p in UNSEEN_PROTOCOLS.values()]
    assert len(set(titles)) == len(titles)
    assert not any("," in title for title in titles), "they stand in lists with commas"


@pytest.mark.parametrize(("data_set", "n_ways"), [("mnist", 2), ("omniglot", 2), ("digits", 1)])
def test_a_set_has_its_ways(data_set, n_ways):
    assert [p.data_set for p in unseen_protocols(data_set)] == [data_set] * n_ways


@pytest.mark.parametrize("data_set", ["nuswide", "yeast", "delicious"])
def test_a_set_of_several_labels_cannot_be_parted(data_set):
    with pytest.raises(ValueError, match=f"{data_set} cannot be split .* choose one of mnist,"):
        unseen_protocols(data_set)


def test_all_digits_are_used_and_no_kind_is_on_both_sides():
    data = open_unseen(UNSEEN_PROTOCOLS["unseen-digits"])
    assert set(data.train.labels) == {0, 1, 2, 3, 4}
    assert set(data.never_seen.labels) == {5, 6, 7, 8, 9}
    assert len(data.train.labels) + len(data.never_seen.labels) == 1797
    assert data.seen is None
    assert data.label_names == tuple("0123456789")


def write_mnist(folder):
    """Write two images a digit to train on and three to test on; each shows its own number."""
    place = folder / "mnist"
    place.mkdir()
    for prefix, n_each, first in (("train", 2, 0), ("t10k", 3, 100)):
        labels = np.repeat(np.arange(10, dtype=np.uint8), n_each)
        images = np.broadcast_to(
            (first + np.arange(len(labels), dtype=np.uint8))[:, None, None], (len(labels), 2, 2)
        )
        for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
            header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
            (place / f"{prefix}-{kind}-ubyte").write_bytes(header + values.tobytes())


@pytest.mark.parametrize(("name", "seen"), [("0-4", range(5)), ("5-9", range(5, 10))])
def test_mnist_trains_on_five_digits_and_scores_test_images_of_the_others(tmp_path, name, seen):
    write_mnist(tmp_path)
    data = open_unseen(UNSEEN_PROTOCOLS[f"unseen-mnist-{name}"], tmp_path)
    assert set(data.train.labels) == set(data.seen.labels) == set(seen)
    assert set(data.never_seen.labels) == set(range(10)) - set(seen)
    shown = {part: getattr(data, part).features[:, 0, 0, 0] for part in ("train", "never_seen")}
    assert shown["train"].tolist() == [2 * digit + k for digit in seen for k in range(2)]
    others = sorted(set(range(10)) - set(seen))
    assert shown["never_seen"].tolist() == [100 + 3 * d + k for d in others for k in range(3)]
    assert len(data.seen.labels) == 15


@pytest.fixture
def omniglot(tmp_path, monkeypatch):
    """Two sets, two characters an alphabet, two drawings a character."""
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "omniglot").mkdir()
    for part, alphabets in ALPHABETS.items():
        top = f"images_background_{part}"
        with zipfile.ZipFile(tmp_path / "omniglot" / f"{top}.zip", "w") as archive:
            for alphabet in alphabets:
                for character in (1, 2):
                    for drawer in (1, 2):
                        file = io.BytesIO()
                        Image.new("1", (105, 105), 1).save(file, "PNG")
                        name = f"{top}/{alphabet}/character{character:02}/0001_{drawer:02}.png"
                        archive.writestr(name, file.getvalue())
    return tmp_path


@pytest.mark.parametrize(
    ("number", "trained", "new"),
    [
        (1, "small1", ("Japanese_(katakana)", "Sanskrit", "Tagalog")),
        (2, "small2", ("Balinese", "Early_Aramaic", "Korean")),
    ],
)
def test_omniglot_scores_only_alphabets_that_the_other_set_lacks(omniglot, number, trained, new):
    data = open_unseen(UNSEEN_PROTOCOLS[f"unseen-omniglot-{number}"], omniglot)
    assert data.train.features.shape == (20, 1, 28, 28)
    assert data.never_seen.features.shape == (12, 1, 28, 28)
    names = {data.label_names[code].split("/")[0] for code in data.never_seen.labels}
    assert names == set(new)
    assert not names & set(ALPHABETS[trained])
    assert data.seen is None


def test_the_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"images_background_small1\.zip"):
        open_unseen(UNSEEN_PROTOCOLS["unseen-omniglot-1"], tmp_path)
