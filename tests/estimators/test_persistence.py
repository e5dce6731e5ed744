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
import safetensors.torch
import skops.io
import torch
from little_problems import (
    OwnNetwork,
    Rows,
    beside_loud_noise,
    pairs_within,
    quick_learner,
    three_blobs,
    triplets_within,
)
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import twofold
from twofold import MetricLearner, Network, PairRelation, Targets, TripletRelation, load

X, Y = beside_loud_noise()
PAIRS = pairs_within(Y)
IMAGES = np.arange(60 * 3 * 8 * 8).astype(np.uint8).reshape(60, 3, 8, 8)
BY_FEEDBACK = {"validation_fraction": 0, "feedback": 5}


def own(n_features: int = 5, n_components: int = 4) -> Network:
    return Network(OwnNetwork(n_features, n_components), max_epochs=2)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A saved model of a network."""
    return quick_learner().fit(X, Y).save(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def model(saved, tmp_path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def change_card(folder: Path, **entries) -> None:
    card = json.loads((folder / "model.json").read_text())
    card["embedder"].update({name: entries.pop(name) for name in card["embedder"].keys() & entries})
    (folder / "model.json").write_text(json.dumps(card | entries))


def contents(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in folder.iterdir()}


def digest(place: Path) -> str:
    return hashlib.sha256(place.read_bytes()).hexdigest()


def misaligned(array):
    """Return the same numbers a few bytes off, where sums may be taken in another order."""
    room = np.empty(array.nbytes + 4, dtype=np.uint8)
    copy = room[4:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


# ---- round trips ----


@pytest.mark.parametrize(
    ("parameters", "features", "given"),
    [
        ({}, X, {"y": Y}),
        ({"targets": "fml-c"}, X, {"y": Y}),
        ({"embedder": Network("mnist", max_epochs=1)}, X, {"y": Y}),
        ({"embedder": Network("cifar10", max_epochs=1, augment="flips")}, IMAGES, {"y": Y}),
        ({"embedder": Ridge()}, X, {"y": Y}),
        ({"embedder": Ridge(), "n_components": 1}, X, {"y": Y}),
        ({"embedder": make_pipeline(StandardScaler(), Ridge())}, X, {"y": Y}),
        ({"feedback": 0}, X, {"relation": PAIRS}),
        ({"embedder": "auto", **BY_FEEDBACK}, X, {"relation": PAIRS}),
        ({"embedder": "auto", "feedback": 5}, X, {"relation": PAIRS}),
        ({"embedder": "auto", "targets": Targets("dot"), **BY_FEEDBACK}, X, {"relation": PAIRS}),
        (BY_FEEDBACK, X, {"relation": PAIRS}),
        ({"embedder": Ridge(), **BY_FEEDBACK}, X, {"relation": PAIRS}),
        ({"embedder": "auto", **BY_FEEDBACK}, X, {"relation": triplets_within(Y)}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_model_is_the_same_within_rounding_after_a_round_trip(
    parameters, features, given, tmp_path
):
    learner = quick_learner(**parameters).fit(features, **given)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert type(again) is MetricLearner
    assert (again.metric_, again.n_components_) == (learner.metric_, learner.n_components_)
    np.testing.assert_allclose(
        again.transform(misaligned(features)), learner.transform(features), atol=1e-4
    )
    twice = load(again.save(tmp_path / "twice"), device="cpu")
    np.testing.assert_allclose(
        twice.pair_similarity(features[:20], features[20:40]),
        learner.pair_similarity(features[:20], features[20:40]),
        atol=1e-4,
    )
    told, kept = learner.selection_, again.selection_
    assert (told is None) == (kept is None)
    if told is not None:
        for name in ("candidate", "metric", "n_rounds", "expected", "scores", "n_validated"):
            assert getattr(kept, name) == getattr(told, name)


@pytest.mark.parametrize(
    "embedder",
    [RandomForestRegressor(3), KNeighborsRegressor(1), HistGradientBoostingRegressor(max_iter=2)],
    ids=lambda embedder: type(embedder).__name__,
)
def test_a_regressor_is_opened_with_the_types_that_the_refusal_names(embedder, tmp_path):
    with threadpool_limits(1):  # threads of boosting that wait for others cost seconds
        learner = quick_learner(embedder=embedder).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match="not trusted by themselves") as refusal:
        load(folder)
    trusted = str(refusal.value).partition("by themselves: ")[2].partition(". If")[0].split(", ")
    again = load(folder, trusted=trusted)
    np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-5)
    assert type(again.embedder_.regressor) is type(learner.embedder_.regressor)


@pytest.mark.parametrize("nested", [False, True])
def test_a_users_network_has_to_be_passed_again(nested, tmp_path):
    embedder = own() if nested else OwnNetwork()
    learner = quick_learner(embedder=embedder).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"whose code is not in the folder.*embedder=MyNetwork\("):
        load(folder)
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        load(folder, embedder=OwnNetwork(n_features=6))
    again = load(folder, embedder=OwnNetwork(), device="cpu")
    np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-5)
    assert again.fit(X, Y).transform(X).shape == (60, 4)


def test_a_map_needs_no_code_of_a_users_network(tmp_path):
    blobs, y = three_blobs()
    learner = quick_learner(embedder=own())
    with pytest.warns(twofold.RelationWarning, match="features as given"):
        learner.fit(blobs, relation=pairs_within(y))
    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_array_equal(again.transform(blobs), blobs)


def test_parameters_threshold_and_names_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    targets, network = Targets("contrastive", margin=2.0), Network(max_epochs=1, dropout=0.25)
    learner = quick_learner(targets=targets, embedder=network, feedback=0).fit(frame, Y)
    learner.calibrate_threshold(frame, Y)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    nested = {"targets": None, "embedder": None}
    assert again.get_params() | nested == learner.get_params() | nested
    assert again.threshold_ == learner.threshold_
    assert again.feature_names_in_.tolist() == list("abcde")
    assert (again.n_features_in_, again.input_shape_) == (5, (5,))
    A, B = frame[:20], frame[20:40]
    np.testing.assert_array_equal(again.predict_pairs(A, B), learner.predict_pairs(A, B))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame[list("edcba")])


def test_a_model_without_a_threshold_has_none_after_loading(saved):
    with pytest.raises(ValueError, match="There is no threshold yet"):
        load(saved).predict_pairs(X, X)


def test_numpy_parameters_are_kept_as_plain_numbers_and_what_json_cannot_hold_is_not(tmp_path):
    embedder = Network(max_epochs=np.int32(1), callback=lambda epoch: None)
    learner = quick_learner(
        n_components=np.int64(4),
        embedder=embedder,
        targets=Targets(margin=np.float32(0.5)),
        random_state=np.random.default_rng(0),
    )
    again = load(learner.fit(X, Y).save(tmp_path / "model"))
    parameters = again.get_params()
    assert parameters["n_components"] == 4
    assert (parameters["embedder__max_epochs"], parameters["targets__margin"]) == (1, 0.5)
    assert parameters["embedder__callback"] is parameters["random_state"] is None


def test_a_loaded_model_can_be_fitted_again(saved):
    again = load(saved, device="cpu")
    np.testing.assert_allclose(
        load(saved, device="cpu").fit(X, Y).transform(X), again.transform(X), atol=1e-4
    )


# ---- with the data ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame])
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
def test_a_model_saved_with_its_data_goes_on(form, parameters, kind, tmp_path, request):
    features = form(X)
    if form is pd.DataFrame:
        features.columns = list("abcde")
        if isinstance(parameters.get("embedder"), Ridge):
            reason = "the table's columns are not restored for a regressor"
            request.applymarker(pytest.mark.xfail(reason=reason))
    if parameters is BY_FEEDBACK:
        reason = "a network that was opened goes on with another dropout"
        request.applymarker(pytest.mark.xfail(reason=reason))
    weighted = PairRelation(PAIRS.left, PAIRS.right, PAIRS.similar, 60, np.full(len(PAIRS), 0.5))
    relation = weighted if kind == "pairs" else triplets_within(Y)
    more = PairRelation([0, 1], [5, 9], (Y[[0, 1]] == Y[[5, 9]]), 60)
    if kind == "triplets":
        more = TripletRelation(
            relation.anchor[:3], relation.positive[:3], relation.negative[:3], 60
        )
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
    assert twice.update(more).metric_ == learner.metric_


def test_a_model_without_its_data_says_how_to_save_it(tmp_path):
    learner = quick_learner(feedback=0).fit(X, relation=PAIRS)
    again = load(learner.save(tmp_path / "model"))
    for call in (
        lambda: again.update(PAIRS),
        lambda: again.suggest_pairs(3),
        lambda: again.save(tmp_path / "copy", with_data=True),
    ):
        with pytest.raises(ValueError, match=r"saved without .* save\(folder, with_data=True\)"):
            call()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("learner", "features", "given", "sentence"),
    [
        (quick_learner(), X, {"y": Y}, "goes on from statements; .* fitted to labels"),
        (
            quick_learner(feedback=0),
            Rows(X),
            {"relation": PAIRS},
            "fitted to a torch Dataset, which stays",
        ),
        (
            quick_learner(feedback=0, embedder=make_pipeline(OrdinalEncoder(), Ridge())),
            pd.DataFrame({"colour": ["red", "blue", "green"] * 20, "size": range(60)}),
            {"relation": PAIRS},
            "fitted to columns of other types",
        ),
    ],
    ids=["labels", "dataset", "text"],
)
def test_what_cannot_be_saved_with_its_data_is_said(learner, features, given, sentence, tmp_path):
    learner.fit(features, **given)
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
    if damage == "removed":
        place.unlink()
    elif damage == "pickle":
        RUN.clear()
        with place.open("wb") as file:
            np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    else:
        cut = place.read_bytes()[:200]
        place.write_bytes({"emptied": b"", "cut": cut}.get(damage, b"no such thing"))
    with pytest.raises(ValueError, match=r"The training data in .* cannot be read"):
        load(folder)
    assert not RUN


# ---- the folder ----


def test_a_folder_holds_two_files_that_the_card_describes_and_no_pickle(saved, tmp_path):
    assert sorted(contents(saved)) == ["model.json", "weights.safetensors"]
    of_ridge = quick_learner(embedder=Ridge()).fit(X, Y).save(tmp_path / "ridge")
    assert sorted(contents(of_ridge)) == ["embedder.skops", "model.json"]
    assert (of_ridge / "embedder.skops").read_bytes()[:2] == b"PK"
    card = json.loads((saved / "model.json").read_text())
    assert (card["format"], card["format_version"]) == ("twofold-model", 2)
    assert (card["learner"], card["metric"], card["has_data"]) == ("MetricLearner", "dot", False)
    assert card["embedder"]["network"] == "mlp"
    assert card["embedder"]["input_shape"] == [5]
    assert card["versions"]["torch"] == torch.__version__


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_the_files_mode_follows_the_umask(umask, embedder, tmp_path):
    learner = quick_learner(embedder=embedder, feedback=0).fit(X, relation=PAIRS)
    before = os.umask(umask)
    try:
        folder = learner.save(tmp_path / "model", with_data=True)
    finally:
        os.umask(before)
    modes = {place.name: place.stat().st_mode & 0o777 for place in folder.iterdir()}
    assert set(modes.values()) == {0o666 & ~umask}, modes
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


def test_an_older_model_is_replaced(model):
    learner = quick_learner(embedder=Ridge()).fit(X, Y)
    assert learner.save(model) == model
    assert sorted(contents(model)) == ["embedder.skops", "model.json"]
    np.testing.assert_allclose(load(model).transform(X), learner.transform(X), atol=1e-5)
    assert [place.name for place in model.parent.iterdir()] == ["model"]


def test_a_folder_with_other_things_or_nowhere_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    learner = quick_learner().fit(X, Y)
    with pytest.raises(FileExistsError, match="holds other things and is left alone"):
        learner.save(tmp_path / "thesis")
    assert contents(tmp_path / "thesis") == {"chapter.txt": b"years of work"}
    with pytest.raises(FileNotFoundError, match="nowhere does not exist: make it first"):
        learner.save(tmp_path / "nowhere" / "model")
    assert [place.name for place in tmp_path.iterdir()] == ["thesis"]


@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_an_interrupted_save_leaves_the_old_model(model, embedder, monkeypatch):
    before = contents(model)
    learner = quick_learner(embedder=embedder).fit(X + 1, Y)

    def fail(_, place):
        Path(place).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    monkeypatch.setattr(skops.io, "dump", fail)
    with pytest.raises(OSError, match="disk full"):
        learner.save(model)
    assert contents(model) == before
    assert [place.name for place in model.parent.iterdir()] == ["model"]


# ---- refusals ----


def test_what_is_no_model_folder_is_refused(model, tmp_path):
    for place in (tmp_path / "nowhere", model / "model.json"):
        with pytest.raises(FileNotFoundError, match="There is no model folder"):
            load(place)
    with pytest.raises(FileNotFoundError, match=r"is no Twofold model: it has no model\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is damaged"),
        (b'{"format": "twofo', "is damaged"),
        (b"\xff\xfe\x00", "is damaged"),
        (b"{}", "does not say 'twofold-model'"),
        (b"[1, 2]", "does not say 'twofold-model'"),
        (b'{"format": "onnx"}', "does not say 'twofold-model'"),
    ],
)
def test_a_damaged_or_foreign_card_is_refused(model, data, sentence):
    (model / "model.json").write_bytes(data)
    with pytest.raises(ValueError, match=rf"model\.json.*{sentence}"):
        load(model)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (3, "newer than version 2, .* update Twofold"),
        ("2", "newer"),
        (None, "newer"),
        (1, "of an older Twofold; .* fit and save the model again"),
    ],
)
def test_another_format_is_refused_with_its_number(model, version, sentence):
    change_card(model, format_version=version)
    with pytest.raises(ValueError, match=f"has format version {version}, .*{sentence}"):
        load(model)


@pytest.mark.parametrize("entry", ["metric", "input_shape", "has_data", "selection"])
def test_a_card_that_lacks_something_is_refused_with_what(model, entry):
    card = json.loads((model / "model.json").read_text())
    del card[entry]
    (model / "model.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=rf"model\.json is damaged: it lacks {entry}\."):
        load(model)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"learner": "Path"}, "holds a 'Path', which this Twofold does not know"),
        ({"file": "../secret"}, "is damaged: it names the file"),
        ({"file": "/etc/passwd"}, "is damaged: it names the file"),
        ({"file": "model.json"}, "is damaged: it names the file"),
        ({"network": "resnet"}, "needs the network 'resnet', which is not known here"),
        ({"sha256": "0" * 64}, "damaged or was changed: its digest is not the one noted"),
    ],
)
def test_a_card_that_says_something_else_is_refused(model, entries, sentence):
    change_card(model, **entries)
    with pytest.raises(ValueError, match=sentence):
        load(model)


@pytest.mark.parametrize("damage", ["truncated", "one bit", "emptied"])
def test_weights_that_changed_are_refused(model, damage):
    place = model / "weights.safetensors"
    data = bytearray(place.read_bytes())
    if damage == "one bit":
        data[-1] ^= 1
    place.write_bytes(bytes(data[: {"truncated": 1000, "emptied": 0}.get(damage, len(data))]))
    with pytest.raises(ValueError, match="damaged or was changed"):
        load(model)
    place.unlink()
    with pytest.raises(FileNotFoundError, match=r"no weights\.safetensors: the model is not whole"):
        load(model)


def test_files_of_another_kind_are_refused(model, tmp_path):
    (model / "weights.safetensors").write_bytes(b"no such thing")
    change_card(model, sha256=digest(model / "weights.safetensors"))
    with pytest.raises(ValueError, match=r"weights\.safetensors cannot be read"):
        load(model)
    other = (
        quick_learner(embedder=Network("mnist", max_epochs=1)).fit(X, Y).save(tmp_path / "other")
    )
    shutil.copy(other / "weights.safetensors", model)
    change_card(model, sha256=digest(model / "weights.safetensors"))
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        load(model)
    folder = quick_learner(embedder=Ridge()).fit(X, Y).save(tmp_path / "ridge")
    (folder / "embedder.skops").write_bytes(b"no such thing")
    change_card(folder, sha256=digest(folder / "embedder.skops"))
    with pytest.raises(ValueError, match=r"embedder\.skops cannot be read"):
        load(folder)


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
    folder = quick_learner(embedder=Wicked()).fit(X, Y).save(tmp_path / "wicked")
    RUN.clear()
    with pytest.raises(ValueError, match=r"not trusted by themselves: test_persistence\.Wicked"):
        load(folder)
    (model / "weights.safetensors").write_bytes(pickle.dumps(Trap()))
    change_card(model, sha256=digest(model / "weights.safetensors"))
    with pytest.raises(ValueError, match="cannot be read"):
        load(model)
    assert not RUN


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_model_is_not_opened_on_a_device_that_is_not_there(saved):
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        load(saved, device="cuda")
