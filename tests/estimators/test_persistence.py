"""Models on disk: whole or not there, the same within rounding, and nothing in them is run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from little_problems import PAIRS, TRIPLETS, OwnNetwork, Rows, X, Y, quick_learner, table
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from twofold import MetricLearner, Network, PairRelation, Targets, TripletRelation, load
from twofold.regression import Augment

IMAGES = np.arange(60 * 3 * 8 * 8).astype(np.uint8).reshape(60, 3, 8, 8)
BY_FEEDBACK = {"validation_fraction": 0, "feedback": 5}


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A saved model of a network."""
    return quick_learner().fit(X, Y).save(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def model(saved, tmp_path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


DELETED = object()


def change_card(folder: Path, **entries) -> None:
    """Change or delete entries of a card, or of its embedder's description."""
    card = json.loads((folder / "model.json").read_text())
    for name, value in entries.items():
        part = card["embedder"] if name in card["embedder"] and name not in card else card
        part[name] = value
        if value is DELETED:
            del part[name]
    (folder / "model.json").write_text(json.dumps(card))


def refuse(folder: Path, error: type[Exception], sentence: str, **given) -> None:
    with pytest.raises(error, match=sentence):
        load(folder, **given)


def contents(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in folder.iterdir()}


def sign(folder: Path) -> None:
    """Have the card note the digest that changed weights have."""
    data = (folder / "weights.safetensors").read_bytes()
    change_card(folder, sha256=hashlib.sha256(data).hexdigest())


def misaligned(array):
    """Return the same numbers a few bytes off, where sums may be taken in another order."""
    room = np.empty(array.nbytes + 4, dtype=np.uint8)
    copy = room[4:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize(
    ("parameters", "features", "given"),
    [
        ({}, X, {"y": Y}),
        ({"embedder": Network("mnist", max_epochs=1)}, X, {"y": Y}),
        ({"embedder": Network("cifar10", max_epochs=1, augment="flips")}, IMAGES, {"y": Y}),
        ({"embedder": Network("mnist", max_epochs=1, views=3)}, IMAGES, {"y": Y}),
        ({"embedder": Ridge(), "n_components": 1}, X, {"y": Y}),
        ({"feedback": 0}, X, {"relation": PAIRS}),
        ({"embedder": "auto", "feedback": 5}, X, {"relation": PAIRS}),
        (BY_FEEDBACK, X, {"relation": PAIRS}),
        ({"embedder": Ridge(), **BY_FEEDBACK}, X, {"relation": PAIRS}),
        ({"embedder": "auto", **BY_FEEDBACK}, X, {"relation": TRIPLETS}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_round_trip_gives_the_same_within_rounding(parameters, features, given, tmp_path):
    learner = quick_learner(**parameters).fit(features, **given)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert type(again) is MetricLearner
    assert (again.metric_, again.n_components_) == (learner.metric_, learner.n_components_)
    points = learner.transform(features)
    np.testing.assert_allclose(again.transform(misaligned(features)), points, atol=1e-4)
    twice = load(again.save(tmp_path / "twice"), device="cpu")
    np.testing.assert_allclose(twice.transform(features), points, atol=1e-4)
    told, kept = learner.selection_, again.selection_
    assert (told is None) == (kept is None)
    if told is not None:
        for name in ("candidate", "metric", "n_rounds", "expected", "scores", "n_validated"):
            assert getattr(kept, name) == getattr(told, name)


@pytest.mark.filterwarnings("ignore:The network has no inner layer")
@pytest.mark.parametrize("embedder", [Network(OwnNetwork(), max_epochs=2), OwnNetwork()])
def test_a_users_network_has_to_be_passed_again(embedder, tmp_path):
    learner = quick_learner(embedder=embedder).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    refuse(folder, ValueError, r"whose code is not in the folder.*embedder=MyNetwork\(")
    again = load(folder, embedder=OwnNetwork(), device="cpu")
    np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-5)
    assert again.fit(X, Y).transform(X).shape == (60, 4)


def test_parameters_threshold_and_names_are_kept_as_far_as_json_can(tmp_path):
    frame = table(X)
    network = Network(max_epochs=np.int32(1), dropout=0.25, callback=lambda epoch: None)
    targets = Targets("contrastive", margin=np.float32(0.5))
    learner = quick_learner(n_components=np.int64(4), targets=targets, embedder=network)
    learner.fit(frame, Y).calibrate_threshold(frame, Y)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    left_out = {"targets": None, "embedder": None, "embedder__callback": None}
    assert again.get_params() | left_out == learner.get_params() | left_out
    assert (again.embedder.callback, again.threshold_) == (None, learner.threshold_)
    assert (again.n_features_in_, again.input_shape_) == (5, (5,))
    A, B = frame[:20], frame[20:40]
    np.testing.assert_array_equal(again.predict_pairs(A, B), learner.predict_pairs(A, B))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame[list("edcba")])


def test_how_images_are_changed_and_seen_is_kept(tmp_path):
    augment = Augment(flips=True, shift=np.int64(1), rotation=np.float32(7.5), cutout=2)
    network = Network("mnist", max_epochs=1, augment=augment, averaged=0.5, views=2)
    learner = quick_learner(embedder=network, metric="seen").fit(IMAGES, Y)
    folder = learner.save(tmp_path / "model")
    again = load(folder, device="cpu").embedder
    assert again.augment.get_params() == augment.get_params()
    assert (again.averaged, again.views) == (0.5, 2)
    unknown = {"Augment": {"flips": True, "blur": 3}}
    card = json.loads((folder / "model.json").read_text())
    card["parameters"]["embedder"]["Network"]["augment"] = unknown
    (folder / "model.json").write_text(json.dumps(card))
    refuse(folder, ValueError, "is damaged: Augment has no parameter 'blur'")


def test_images_that_were_not_to_be_changed_are_not(tmp_path):
    network = Network("mnist", max_epochs=1, augment=None)
    learner = quick_learner(embedder=network, metric="seen").fit(IMAGES, Y)
    assert load(learner.save(tmp_path / "model"), device="cpu").embedder.augment is None


def test_a_model_of_before_there_were_views_has_one(model):
    points = load(model, device="cpu").transform(X)
    change_card(model, n_views=DELETED)
    again = load(model, device="cpu")
    assert again.embedder_.n_views == 1
    np.testing.assert_array_equal(again.transform(X), points)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, table])
@pytest.mark.parametrize(
    "parameters",
    [
        {"embedder": "auto", **BY_FEEDBACK},
        {"embedder": "auto", "feedback": 5},
        BY_FEEDBACK,
        {"feedback": 0},
        {"embedder": Ridge(), **BY_FEEDBACK},
    ],
    ids=["map", "selected", "network", "no feedback", "regressor"],
)
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_a_model_saved_with_its_data_goes_on(form, parameters, kind, tmp_path):
    features = form(X)
    relation, more = TRIPLETS, TripletRelation([0, 1], [5, 9], [10, 11], 60)
    if kind == "pairs":
        weight = np.full(len(PAIRS), 0.5)
        relation = PairRelation(PAIRS.left, PAIRS.right, PAIRS.similar, 60, weight)
        more = PairRelation([0, 1], [5, 9], (Y[[0, 1]] == Y[[5, 9]]), 60)
    learner = quick_learner(**parameters).fit(features, relation=relation)
    again = load(learner.save(tmp_path / "model", with_data=True), device="cpu")
    np.testing.assert_allclose(again.targets_, learner.targets_)
    if kind == "pairs":
        ours, theirs = (one.suggest_pairs(8, random_state=0) for one in (learner, again))
        np.testing.assert_allclose(theirs.probability, ours.probability, atol=0.02)
    learner.update(more)
    again.update(more)
    np.testing.assert_allclose(again.transform(features), learner.transform(features), atol=5e-3)
    twice = load(again.save(tmp_path / "twice", with_data=True), device="cpu")
    np.testing.assert_array_equal(twice.targets_, again.targets_)
    assert twice.update(more).metric_ == learner.metric_


def test_what_cannot_be_saved_with_its_data_is_said(tmp_path):
    text = pd.DataFrame({"colour": ["red", "blue", "green"] * 20, "size": range(60)})
    encoded = quick_learner(feedback=0, embedder=make_pipeline(OrdinalEncoder(), Ridge()))
    for learner, sentence in (
        (quick_learner().fit(X, Y), "needs a model fitted to statements, .* fitted to labels"),
        (quick_learner(feedback=0).fit(Rows(X), relation=PAIRS), "fitted to a torch Dataset"),
        (encoded.fit(text, relation=PAIRS), "was fitted to columns of other types"),
    ):
        with pytest.raises(TypeError, match=sentence):
            learner.save(tmp_path / "model", with_data=True)
        assert not (tmp_path / "model").exists()


@pytest.mark.filterwarnings("ignore:Exception ignored in")  # NumPy leaves the cut file open
@pytest.mark.parametrize("name", ["features.npy", "statements.npz"])
@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "no such thing", "pickle"])
def test_damaged_data_is_refused_and_not_run(name, damage, tmp_path):
    learner = quick_learner(feedback=0, embedder=Ridge()).fit(X, relation=PAIRS)
    folder = learner.save(tmp_path / "model", with_data=True)
    place = folder / name
    cut = place.read_bytes()[:200]
    place.write_bytes({"emptied": b"", "cut": cut}.get(damage, b"no such thing"))
    if damage == "removed":
        place.unlink()
    elif damage == "pickle":
        with place.open("wb") as file:
            np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    RUN.clear()
    refuse(folder, ValueError, r"The training data in .* cannot be read")
    assert not RUN


@pytest.mark.parametrize("umask", [0o022, 0o077])
@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_the_files_mode_follows_the_umask(umask, embedder, tmp_path):
    learner = quick_learner(embedder=embedder, feedback=0).fit(X, relation=PAIRS)
    before = os.umask(umask)
    try:
        folder = learner.save(tmp_path / "model", with_data=True)
    finally:
        os.umask(before)
    modes = {place.name: place.stat().st_mode & 0o777 for place in folder.iterdir()}
    weights = "weights.safetensors" if isinstance(embedder, Network) else "embedder.skops"
    assert modes.keys() == {"model.json", weights, "features.npy", "statements.npz"}
    assert set(modes.values()) == {0o666 & ~umask}, modes
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


def test_an_older_model_is_replaced_and_anything_else_is_left_alone(model, tmp_path):
    learner = quick_learner(embedder=Ridge()).fit(X, Y)
    assert learner.save(model) == model
    assert sorted(contents(model)) == ["embedder.skops", "model.json"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="contains other files and was left alone"):
        learner.save(tmp_path / "thesis")
    assert contents(tmp_path / "thesis") == {"chapter.txt": b"years of work"}
    with pytest.raises(FileNotFoundError, match="nowhere does not exist: create it first"):
        learner.save(tmp_path / "nowhere" / "model")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["model", "thesis"]


@pytest.mark.parametrize("data", [b"", b'{"format": "twofo', b"\xff\xfe\x00", b"{}", b"[1, 2]"])
def test_what_is_no_model_is_refused(model, data, tmp_path):
    (model / "model.json").write_bytes(data)
    refuse(model, ValueError, r"model\.json.*(is damaged|does not say 'twofold-model')")
    refuse(model / "model.json", FileNotFoundError, "There is no model folder")
    refuse(tmp_path, FileNotFoundError, r"is not a Twofold model: it has no model\.json")


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"format": "onnx"}, "does not say 'twofold-model'"),
        ({"format_version": 4}, "has format version 4, newer than version 3, .* update Twofold"),
        (
            {"format_version": 1},
            "has format version 1, written by an older .* fit and save the model again",
        ),
        ({"metric": DELETED}, r"model\.json is damaged: it lacks metric\."),
        ({"has_data": DELETED, "selection": DELETED}, "it lacks has_data, selection"),
        ({"learner": "Path"}, "holds a 'Path', which this Twofold does not know"),
        ({"file": "../secret"}, r"is damaged: at embedder/file, '\.\./secret' is not one of"),
        ({"n_views": 4}, r"is damaged: at embedder/n_views, 4 is not one of \[1, 2, 3, 6\]"),
        ({"n_views": 6}, "is damaged: it averages views of items that are not images"),
    ],
)
def test_a_card_that_says_something_else_is_refused(model, entries, sentence):
    change_card(model, **entries)
    refuse(model, ValueError, sentence)


def test_what_is_in_the_place_of_weights_is_refused(model):
    (model / "weights.safetensors").write_bytes(b"no such thing")
    refuse(model, ValueError, "damaged or was changed: its digest does not match")
    sign(model)
    refuse(model, ValueError, r"weights\.safetensors cannot be read")
    (model / "weights.safetensors").unlink()
    refuse(model, FileNotFoundError, "the model is incomplete")


RUN: list[str] = []


class Wicked(Ridge):
    """A regressor that leaves a trace when it is made or filled."""

    def __new__(cls, *args, **kwargs):
        RUN.append("made")
        return super().__new__(cls)

    def __setstate__(self, state):
        RUN.append("filled")
        self.__dict__.update(state)


class Trap:
    """Something that leaves a trace when it is unpickled."""

    def __reduce__(self):
        return RUN.append, ("pickled",)


def test_nothing_of_a_hostile_folder_is_run(model, tmp_path):
    learner = quick_learner(embedder=Wicked()).fit(X, Y)
    points, folder = learner.transform(X), learner.save(tmp_path / "wicked")
    RUN.clear()
    refuse(folder, ValueError, r"not trusted by default: test_persistence\.Wicked")
    assert not RUN
    trusted = ["test_persistence.Wicked"]  # as the refusal names it
    np.testing.assert_allclose(load(folder, trusted=trusted).transform(X), points, atol=1e-5)
    RUN.clear()
    (model / "weights.safetensors").write_bytes(pickle.dumps(Trap()))
    sign(model)
    refuse(model, ValueError, "cannot be read")
    assert not RUN
