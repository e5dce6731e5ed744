"""Models on disk: whole or not there, equal to the bit, and nothing in them is run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from little_problems import FAST, OwnNetwork, exclusive_or, pairs_within, three_blobs
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import twofold
from twofold import MetricLearner, SiameseLearner, TripletLearner, load

X, Y = three_blobs()
IMAGES = np.arange(12 * 3 * 8 * 8).astype(np.uint8).reshape(12, 3, 8, 8)


@pytest.fixture
def model(tmp_path) -> Path:
    """A saved default model."""
    return MetricLearner(**FAST).fit(X, Y).save(tmp_path / "model")


def change_card(folder: Path, **entries) -> None:
    card = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(card | entries))


def contents(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in folder.iterdir()}


# ---- round trips ----


@pytest.mark.parametrize(
    ("learner", "features"),
    [
        (MetricLearner(**FAST), X),
        (MetricLearner(loss="contrastive", **FAST), X),
        (MetricLearner(embedder="mnist", **FAST), X),
        (MetricLearner(embedder="cifar10", flips=True, **FAST), IMAGES),
        (SiameseLearner(**FAST), X),
        (SiameseLearner(loss="cosine", **FAST), X),
        (TripletLearner(**FAST), X),
        (MetricLearner(embedder=Ridge(), **FAST), X),
        (MetricLearner(embedder=Ridge(), **{**FAST, "dim": 1}), X),
        (MetricLearner(embedder=make_pipeline(StandardScaler(), Ridge()), **FAST), X),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, np.ndarray) else "",
)
def test_a_model_is_equal_to_the_bit_after_a_round_trip(learner, features, tmp_path):
    y = Y[: len(features)]
    learner.fit(features, y)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert type(again) is type(learner)
    assert again.transform(features).tobytes() == learner.transform(features).tobytes()
    found = again.pair_similarity(features[:6], features[6:12])
    assert found.tobytes() == learner.pair_similarity(features[:6], features[6:12]).tobytes()
    assert again.metric_ == learner.metric_
    assert again.dim_ == learner.dim_
    assert again.score(features, y) == learner.score(features, y)


@pytest.mark.parametrize(
    "embedder",
    [
        RandomForestRegressor(3),
        KNeighborsRegressor(1),
        HistGradientBoostingRegressor(max_iter=2),
    ],
)
def test_a_regressor_is_opened_with_the_types_that_the_refusal_names(embedder, tmp_path):
    with threadpool_limits(1):  # threads of boosting that wait for others cost seconds
        learner = MetricLearner(embedder=embedder, **FAST).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    try:
        again = load(folder)
    except ValueError as refusal:
        named = str(refusal).partition("by themselves: ")[2].partition(". If")[0]
        again = load(folder, trusted=named.split(", "))
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()


def test_a_lightgbm_regressor_needs_to_be_trusted(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    gbm = lightgbm.LGBMRegressor(n_estimators=3, min_child_samples=5, n_jobs=1, verbosity=-1)
    learner = MetricLearner(embedder=gbm, **FAST).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"lightgbm.*pass trusted=\[\.\.\.\]") as refusal:
        load(folder)
    named = str(refusal.value).partition("by themselves: ")[2].partition(". If")[0]
    again = load(folder, trusted=named.split(", "))
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()


def test_a_users_network_has_to_be_passed(tmp_path):
    learner = MetricLearner(embedder=OwnNetwork(), **FAST).fit(X, Y)
    folder = learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"whose code is not in the folder.*embedder=MyNetwork\("):
        load(folder)
    again = load(folder, embedder=OwnNetwork(), device="cpu")
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()


def test_another_network_than_the_users_is_refused(tmp_path):
    folder = MetricLearner(embedder=OwnNetwork(), **FAST).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        load(folder, embedder=OwnNetwork(n_features=6))


# ---- maps that were learnt by feedback ----

XOR, XOR_Y = exclusive_or()
XOR_PAIRS = pairs_within(XOR_Y, 300)


def around_landmarks(embedder, X=XOR, **rest) -> MetricLearner:
    """Return a learner that landmarks were chosen for, whatever it was given to train."""
    learner = MetricLearner(embedder=embedder, feedback=1, **{**FAST, "max_epochs": 1}, **rest)
    learner.fit(X, relation=XOR_PAIRS)
    assert learner.history_["feedback"]["way"] == "landmarks"
    return learner


@pytest.mark.parametrize("embedder", ["mlp", "mnist", Ridge(), DummyRegressor()])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_landmarks_are_equal_to_the_bit_after_a_round_trip(embedder, kind, tmp_path):
    features = kind(XOR)
    if kind is pd.DataFrame:
        features.columns = list("abcd")
    learner = around_landmarks(embedder, features)
    learner.calibrate_threshold(features, XOR_PAIRS)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert again.transform(features).tobytes() == learner.transform(features).tobytes()
    assert again.score(features, relation=XOR_PAIRS) == learner.score(features, relation=XOR_PAIRS)
    assert again.threshold_ == learner.threshold_
    assert (again.metric_, again.dim_) == (learner.metric_, 4)
    twice = load(again.save(tmp_path / "copy"), device="cpu")
    assert twice.transform(features).tobytes() == learner.transform(features).tobytes()


def test_landmarks_need_no_code_of_a_user_s_network(tmp_path):
    learner = around_landmarks(OwnNetwork(4, 4))
    folder = learner.save(tmp_path / "model")
    for given in (None, OwnNetwork(4, 4)):
        again = load(folder, embedder=given, device="cpu")
        assert again.transform(XOR).tobytes() == learner.transform(XOR).tobytes()


def test_the_weights_of_landmarks_are_those_that_were_fitted(tmp_path):
    learner = around_landmarks("mlp")
    folder = learner.save(tmp_path / "model")
    saved = safetensors.torch.load_file(folder / "weights.safetensors")
    fitted = learner.embedder_.network.state_dict()
    assert saved.keys() == fitted.keys()
    assert {"landmarks", "heights", "width", "turn"} < saved.keys()
    assert all(saved[name].equal(fitted[name]) for name in saved)


def test_parameters_threshold_and_names_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    learner = MetricLearner(margin=2.0, loss="contrastive", **FAST).fit(frame, Y)
    learner.calibrate_threshold(frame, Y)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert again.get_params() == learner.get_params()
    assert again.threshold_ == learner.threshold_
    assert again.feature_names_in_.tolist() == list("abcde")
    assert again.n_features_in_ == 5
    assert again.input_shape_ == (5,)
    A, B = frame[:20], frame[20:40]
    np.testing.assert_array_equal(again.predict_pairs(A, B), learner.predict_pairs(A, B))


def test_a_model_without_a_threshold_has_none_after_loading(model):
    with pytest.raises(ValueError, match="There is no threshold yet"):
        load(model).predict_pairs(X, X)


def test_numpy_parameters_are_kept_as_plain_numbers(tmp_path):
    learner = MetricLearner(dim=np.int64(4), max_epochs=np.int32(1), margin=np.float32(0.5))
    again = load(learner.fit(X, Y).save(tmp_path / "model"))
    assert (again.dim, again.max_epochs, again.margin) == (4, 1, 0.5)


def test_what_json_cannot_hold_is_left_at_its_default(tmp_path):
    learner = MetricLearner(callback=print_nothing, **{**FAST, "random_state": generator()})
    again = load(learner.fit(X, Y).save(tmp_path / "model"))
    assert again.callback is None
    assert again.random_state is None


def print_nothing(_):
    return None


def generator():
    return np.random.default_rng(0)


def test_a_loaded_model_can_be_fitted_again_and_saved_again(model, tmp_path):
    again = load(model, device="cpu")
    copy = again.save(tmp_path / "copy")
    assert contents(copy)["weights.safetensors"] == contents(model)["weights.safetensors"]
    found = load(model, device="cpu").fit(X, Y).transform(X)
    assert found.tobytes() == again.transform(X).tobytes()


# ---- the folder ----


def test_the_folder_of_a_network_holds_two_files_and_no_pickle(model):
    assert sorted(contents(model)) == ["model.json", "weights.safetensors"]
    assert not any(
        b"torch._utils" in data or data[:1] == b"\x80" for data in contents(model).values()
    )


def test_the_folder_of_a_regressor_holds_two_files_and_no_pickle(tmp_path):
    folder = MetricLearner(embedder=Ridge(), **FAST).fit(X, Y).save(tmp_path / "model")
    assert sorted(contents(folder)) == ["embedder.skops", "model.json"]
    assert (folder / "embedder.skops").read_bytes()[:2] == b"PK"


def test_the_card_says_what_the_model_is(model):
    card = json.loads((model / "model.json").read_text())
    assert card["format"] == "twofold-model"
    assert card["format_version"] == 1
    assert (card["learner"], card["network"], card["metric"]) == ("MetricLearner", "mlp", "dot")
    assert card["input_shape"] == [5]
    assert card["versions"]["twofold"] == twofold.__version__
    assert card["versions"]["torch"] == torch.__version__


def test_an_older_model_is_replaced(model):
    learner = MetricLearner(embedder=Ridge(), **FAST).fit(X, Y)
    assert learner.save(model) == model
    assert sorted(contents(model)) == ["embedder.skops", "model.json"]
    assert load(model).transform(X).tobytes() == learner.transform(X).tobytes()
    assert [place.name for place in model.parent.iterdir()] == ["model"]


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds other things and is left alone"):
        MetricLearner(**FAST).fit(X, Y).save(tmp_path / "thesis")
    assert contents(tmp_path / "thesis") == {"chapter.txt": b"years of work"}
    assert [place.name for place in tmp_path.iterdir()] == ["thesis"]


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_an_interrupted_save_leaves_the_old_model(model, embedder, monkeypatch):
    import skops.io

    before = contents(model)
    learner = MetricLearner(embedder=embedder, **FAST).fit(X + 1, Y)

    def fail(_, place):
        Path(place).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    monkeypatch.setattr(skops.io, "dump", fail)
    with pytest.raises(OSError, match="disk full"):
        learner.save(model)
    assert contents(model) == before
    assert [place.name for place in model.parent.iterdir()] == ["model"]


def test_a_save_into_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist: make it first"):
        MetricLearner(**FAST).fit(X, Y).save(tmp_path / "nowhere" / "model")


def test_the_card_names_the_network_that_was_fitted(tmp_path):
    learner = MetricLearner(**FAST).fit(X, Y).set_params(embedder="mnist")
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()


# ---- refusals ----


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no model folder .*nowhere\."):
        load(tmp_path / "nowhere")


def test_a_file_is_no_model(model):
    with pytest.raises(FileNotFoundError, match="There is no model folder"):
        load(model / "model.json")


def test_a_folder_without_a_card_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is no Twofold model: it has no model\.json"):
        load(tmp_path)


@pytest.mark.parametrize("cut", [0.0, 0.5, 0.99])
def test_a_truncated_card_is_refused(model, cut):
    text = (model / "model.json").read_text().strip()
    (model / "model.json").write_text(text[: int(len(text) * cut)])
    with pytest.raises(ValueError, match=r"model\.json is damaged"):
        load(model)


def test_a_card_that_is_no_text_is_refused(model):
    (model / "model.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"model\.json is damaged"):
        load(model)


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"format": "onnx"}', "3"])
def test_a_foreign_card_is_refused(model, text):
    (model / "model.json").write_text(text)
    with pytest.raises(ValueError, match="does not say 'twofold-model'"):
        load(model)


@pytest.mark.parametrize("version", [2, 99, None, "1"])
def test_a_newer_format_is_refused_with_its_number(model, version):
    change_card(model, format_version=version)
    with pytest.raises(ValueError, match=f"format version {version}, newer .* update Twofold"):
        load(model)


@pytest.mark.parametrize("entry", ["mean", "sha256", "metric", "input_shape"])
def test_a_card_that_lacks_something_is_refused_with_what(model, entry):
    card = json.loads((model / "model.json").read_text())
    del card[entry]
    (model / "model.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=rf"model\.json is damaged: it lacks {entry}\."):
        load(model)


def test_a_learner_that_is_not_known_is_refused(model):
    change_card(model, learner="Path")
    with pytest.raises(ValueError, match="holds a 'Path', which this Twofold does not know"):
        load(model)


@pytest.mark.parametrize("name", ["../secret", "model.json", "/etc/passwd", "weights.pt"])
def test_a_card_that_points_elsewhere_is_refused(model, name):
    change_card(model, file=name)
    with pytest.raises(ValueError, match="is damaged: it names the file"):
        load(model)


def test_a_network_that_is_not_known_is_refused(model):
    change_card(model, network="resnet")
    with pytest.raises(ValueError, match="needs the network 'resnet', which is not known here"):
        load(model)


def test_missing_weights_are_refused(model):
    (model / "weights.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no weights\.safetensors: the model is not whole"):
        load(model)


@pytest.mark.parametrize("damage", ["truncated", "one_bit", "emptied"])
def test_weights_that_changed_are_refused(model, damage):
    place = model / "weights.safetensors"
    data = bytearray(place.read_bytes())
    if damage == "one_bit":
        data[-1] ^= 1
    place.write_bytes(bytes(data[: {"truncated": 1000, "emptied": 0}.get(damage, len(data))]))
    with pytest.raises(ValueError, match="damaged or was changed: its digest is not that"):
        load(model)


def digest(place: Path) -> str:
    import hashlib

    return hashlib.sha256(place.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["weights.safetensors", "embedder.skops"])
def test_a_file_that_is_no_such_thing_is_refused(tmp_path, name):
    embedder = "mlp" if name.startswith("weights") else Ridge()
    folder = MetricLearner(embedder=embedder, **FAST).fit(X, Y).save(tmp_path / "model")
    (folder / name).write_bytes(b"no such thing")
    change_card(folder, sha256=digest(folder / name))
    with pytest.raises(ValueError, match=rf"{name} cannot be read"):
        load(folder)


def test_weights_of_another_network_are_refused(model, tmp_path):
    other = MetricLearner(embedder="mnist", **FAST).fit(X, Y).save(tmp_path / "other")
    shutil.copy(other / "weights.safetensors", model)
    change_card(model, sha256=digest(model / "weights.safetensors"))
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        load(model)


RUN: list[str] = []


class Wicked(Ridge):
    """A regressor that leaves a trace when it is made or filled."""

    def __new__(cls, *args, **kwargs):
        RUN.append("made")
        return super().__new__(cls)

    def __setstate__(self, state):
        RUN.append("filled")
        self.__dict__.update(state)


def test_a_wicked_type_is_refused_and_nothing_of_it_is_run(tmp_path):
    folder = MetricLearner(embedder=Wicked(), **FAST).fit(X, Y).save(tmp_path / "model")
    RUN.clear()
    with pytest.raises(ValueError, match=r"not trusted by themselves: test_persistence\.Wicked"):
        load(folder)
    assert not RUN


def test_a_pickle_in_the_place_of_weights_is_not_opened(model):
    import pickle

    class Trap:
        def __reduce__(self):
            return RUN.append, ("pickled",)

    (model / "weights.safetensors").write_bytes(pickle.dumps(Trap()))
    change_card(model, sha256=digest(model / "weights.safetensors"))
    RUN.clear()
    with pytest.raises(ValueError, match="cannot be read"):
        load(model)
    assert not RUN


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_model_is_not_opened_on_a_device_that_is_not_there(model):
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        load(model, device="cuda")
