"""Model folders from strangers: a table of what may be wrong with one, and what is said of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hostile_models import (
    DELETED,
    PAIRS,
    X,
    Y,
    change_card,
    change_tensor,
    copied,
    fuzz_load,
    fuzz_prepared,
    load_and_use,
    models,
    open_and_use,
    prepared_models,
    sign,
    small_learner,
)

from twofold import Network, load
from twofold.tasks import PreparedModel

WEIGHTS = "weights.safetensors"
CARDS = [
    # kind of model, entry of model.json, value, what is said
    ("network", "format", "onnx", "does not say 'twofold-model'"),
    ("network", "format_version", -5, "has format version -5, written by an older Twofold"),
    ("network", "format_version", 10**9, "newer than version 3, .* update Twofold"),
    ("network", "format_version", "3", "its format version is '3'"),
    ("network", "format_version", True, "its format version is True"),
    ("network", "embedder", DELETED, r"model\.json is damaged: it lacks embedder\."),
    ("network", "pickle", "gASV", r"damaged: at the top, .*'pickle' was unexpected"),
    ("network", "learner", "__import__", r"damaged: at learner, .*does not match"),
    ("network", "learner", "Path", "holds a 'Path', which this Twofold does not know"),
    ("network", "metric", "manhattan", "damaged: at metric, 'manhattan' is not one of"),
    ("network", "n_components", 0, "damaged: at n_components, 0 is less than the minimum"),
    ("network", "n_components", 10**12, "damaged: at n_components, .* greater than the maximum"),
    ("network", "n_components", 5, r"is damaged: .*(components|not those of this network)"),
    ("network", "threshold", "0.5", "damaged: at threshold, '0.5' is not of type"),
    ("network", "input_shape", [5, -1], "damaged: at input_shape/1, -1 is less than"),
    ("network", "input_shape", [6], "damaged: its two input shapes differ"),
    ("network", "n_features_in", 7, "damaged: it has more features than its network takes"),
    (
        "network",
        "feature_names_in",
        ["a"],
        "its number of feature names is not its number of features",
    ),
    ("network", "has_data", 1, "damaged: at has_data, 1 is not of type 'boolean'"),
    ("network", "has_data", True, "The training data in .* cannot be read"),
    ("network", "embedder/kind", "pickle", "damaged: at embedder/kind, 'pickle' is not one of"),
    ("network", "embedder/kind", "ridge map", "weights are not those of this ridge map"),
    ("network", "embedder/kind", "regressor", "its embedder and its file are of different kinds"),
    ("network", "embedder/file", "/etc/passwd", "damaged: at embedder/file, '/etc/passwd' is not"),
    ("network", "embedder/file", "embedder.skops", "its file are of different kinds"),
    (
        "network",
        "embedder/network",
        "resnet",
        "needs the network 'resnet', which this version does not know",
    ),
    ("network", "embedder/network", "cifar10", "network 'cifar10' takes images"),
    ("network", "embedder/mean", None, "a mean without a scale, or a scale without a mean"),
    ("network", "embedder/mean", [None] * 4, r"damaged: at embedder/mean/\d, None is not of type"),
    ("network", "embedder/mean", [0.0] * 3, "damaged: its mean has 3 of 4 components"),
    ("network", "embedder/mean", [1e39] * 4, r"embedder/mean/\d, 1e.39 is greater than"),
    ("network", "embedder/scale", -1.0, "damaged: at embedder/scale, -1.0 is less than"),
    ("network", "embedder/scale", math.nan, "holds NaN, which is not a finite number"),
    ("network", "embedder/scale", math.inf, "holds Infinity, which is not a finite number"),
    ("network", "embedder/sha256", "0" * 64, "damaged or was changed: its digest"),
    ("network", "embedder/input_shape", [2**26, 2**26], "shapes differ|more than"),
    ("network", "parameters/n_component", 3, "MetricLearner has no parameter 'n_component'"),
    ("network", "parameters/targets", {"os": {}}, "at parameters/targets, .*'os' was unexpected"),
    ("network", "parameters/embedder", 5, "one of its parameters cannot be used .*got int"),
    ("network", "parameters/embedder", [1], r"at parameters/embedder, \[1\] is not of type"),
    (
        "network",
        "parameters/embedder",
        {"Network": {"checkpoint": "thesis"}},
        "damaged: at parameters/embedder/Network, 'checkpoint' should not be valid",
    ),
    (
        "network",
        "parameters/embedder",
        {"Network": {"architectur": "mlp"}},
        "Network has no parameter 'architectur'",
    ),
    ("network", "parameters/checkpoint", "/tmp/x", "'checkpoint' should not be valid"),
    ("map", "selection/candidate", "oracle", "at selection/candidate, 'oracle' is not one of"),
    ("map", "selection/n_rounds", -1, "damaged: at selection/n_rounds, -1 is less than"),
    ("map", "parameters/feedback", -2, "parameters cannot be used .feedback must be"),
    ("map", "n_features_in", 4, "it has more features than its network takes"),
    ("metric", "metric_step", {"sha256": "0" * 64}, "damaged|digest does not match"),
    ("metric", "metric_step/spaces", [["no such layer", "none"]], "is damaged: "),
    ("metric", "metric_step/gate", {"slope": 1, "offset": 10**400}, "gate's offset must be a fin"),
    ("regressor", "embedder/file", WEIGHTS, "its file are of different kinds"),
]


def refuse(folder: Path, sentence: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as refused:
        load(folder, device="cpu")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("kind", "entry", "value", "sentence"), CARDS)
def test_a_card_that_is_not_what_it_should_be_is_refused(kind, entry, value, sentence, tmp_path):
    folder = copied(kind, tmp_path)
    change_card(folder, entry, value)
    refuse(folder, sentence)


def with_number(number):
    def change(tensor):
        flat = tensor.flatten().clone()
        flat[-1] = number
        return flat.reshape(tensor.shape)

    return change


TENSORS = [
    ("network", WEIGHTS, "1.1.weight", with_number(math.nan), "1.1.weight holds 1 number"),
    ("network", WEIGHTS, "1.4.bias", with_number(math.inf), "1.4.bias holds 1 number"),
    ("network", WEIGHTS, "0.limit", with_number(math.nan), "0.limit holds 1 number"),
    ("network", WEIGHTS, "1.1.weight", lambda t: t[:, :-1], "size mismatch for 1.1.weight"),
    ("network", WEIGHTS, "1.1.weight", lambda t: None, "Missing key.*1.1.weight"),
    ("network", WEIGHTS, "1.1.weight", lambda t: t.double(), "1.1.weight are torch.float64"),
    ("network", WEIGHTS, "0.shift", lambda t: t[:2], "do not fit together|size mismatch"),
    ("network", WEIGHTS, "0.shift", lambda t: t.expand(2, 1, -1), "do not fit together"),
    ("map", WEIGHTS, "dual_coef", lambda t: 0 * t + 3e38, "fit together .*points .* not finite"),
    ("map", WEIGHTS, "projection.matrix", with_number(-math.inf), "matrix holds 1 number"),
    ("map", WEIGHTS, "landmarks", lambda t: t[:, :-1], "do not fit together"),
    ("map", WEIGHTS, "dual_coef", lambda t: t[:-1], "do not fit together"),
    ("map", WEIGHTS, "width", lambda t: t[None].expand(3), "not those of this ridge map"),
    ("metric", "metric.safetensors", "components", with_number(math.nan), "holds 1 number"),
    ("metric", "metric.safetensors", "components", lambda t: None, "its metric cannot be used"),
    ("metric", "metric.safetensors", "components", lambda t: t[:-1], "do not fit together"),
]


@pytest.mark.parametrize(("kind", "file", "name", "change", "sentence"), TENSORS)
def test_weights_that_do_not_fit_or_are_not_finite_are_refused(
    kind, file, name, change, sentence, tmp_path
):
    folder = copied(kind, tmp_path)
    change_tensor(folder, file, name, change)
    refuse(folder, sentence)


def test_a_card_as_deep_or_as_large_as_it_likes_is_refused(tmp_path):
    folder = copied("network", tmp_path)
    (folder / "model.json").write_text("[" * 100_000)
    refuse(folder, r"model\.json is damaged")
    with (folder / "model.json").open("wb") as file:
        file.truncate(2**27)
    refuse(folder, "damaged: it has more than 67108864 bytes")


def test_data_of_other_items_are_refused(tmp_path):
    folder = copied("map", tmp_path)
    features = np.load(folder / "features.npy")
    for changed, sentence in (
        (features[:-1], "59 rows of features, 60 of targets"),
        (features[:, :3], "there are 3 features, not 5"),
        (np.full_like(features, np.nan), "features are not finite numbers"),
    ):
        np.save(folder / "features.npy", changed)
        refuse(folder, f"The training data in .* cannot be read: .*{sentence}")


def test_data_in_an_archive_of_a_later_version_are_refused(tmp_path):
    folder = copied("map", tmp_path)
    file = folder / "statements.npz"
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 224  # the version needed to unpack: 22.4
    file.write_bytes(content)
    refuse(folder, "The training data in .* cannot be read: zip file version 22.4")


def test_whole_numbers_of_a_gate_are_taken_however_large(tmp_path):
    folder = copied("metric", tmp_path)
    change_card(folder, "metric_step/gate", {"slope": 10**30, "offset": 0, "share": 0})
    assert load_and_use(folder) == "used"


def test_no_checkpoint_is_stored_and_the_next_fit_writes_none(tmp_path):
    network = Network(max_epochs=1, checkpoint=str(tmp_path / "training"))
    folder = small_learner(metric="seen", embedder=network).fit(X, Y).save(tmp_path / "model")
    assert "checkpoint" not in (folder / "model.json").read_text()
    again = load(folder, device="cpu")
    assert again.embedder.checkpoint is None
    again.fit(X, Y)
    assert [place.name for place in tmp_path.iterdir()] == ["model"]


def test_models_of_format_version_2_are_still_read(tmp_path):
    folder = copied("map", tmp_path)
    expected = load(folder, device="cpu").transform(X)
    change_card(folder, "format_version", 2)
    change_card(folder, "metric_step", DELETED)
    np.testing.assert_array_equal(load(folder, device="cpu").transform(X), expected)


def test_points_that_are_not_finite_are_refused_where_they_first_are():
    learner = small_learner(feedback=0, metric="none").fit(X, relation=PAIRS)
    with torch.no_grad():
        learner.embedder_.network[1][-1].bias[0] = math.nan
    with pytest.raises(ValueError, match=r"points of 60 row\(s\) are not finite, first in row 0"):
        learner.transform(X)


@pytest.mark.parametrize("kind", ["network", "metric", "map", "regressor"])
def test_a_model_that_is_not_changed_is_opened(kind, tmp_path):
    folder = copied(kind, tmp_path)
    sign(folder)
    assert json.loads((folder / "model.json").read_text())["format_version"] == 3
    assert np.isfinite(load(folder, device="cpu").transform(X)).all()
    assert kind in models()


@pytest.mark.parametrize("part", range(4))
def test_mutated_models_are_used_with_finite_numbers_or_refused_in_a_sentence(part):
    outcomes = [fuzz_load(f"{part}-{number}".encode()) for number in range(40)]
    assert "used" in outcomes or part
    assert len(set(outcomes)) > 10


PREPARED = [
    # kind of model, entry of prepared.json, value, what is said
    ("forest", "format", "twofold-model", "does not say 'twofold-prepared'"),
    ("forest", "format_version", 2, "has format version 2, but this Twofold reads version 1"),
    ("forest", "source", DELETED, r"prepared\.json is damaged: it lacks source"),
    ("forest", "source", [], "its entries do not fit together"),
    ("forest", "source", "images", "is damaged: 'preparation' is 'table'"),
    ("forest", "source", "features", "its entries do not fit together"),
    ("forest", "image_column", 5, "its entries do not fit together"),
    ("forest", "decision/by", "oracle", "its entries do not fit together"),
    ("forest", "decision/by", "embedding", "its entries do not fit together"),
    ("forest", "decision/threshold", 10**400, "its entries do not fit together"),
    ("forest", "decision/threshold", True, "its entries do not fit together"),
    ("forest", "decision/threshold", math.nan, "holds NaN, which is not a finite number"),
    ("embedding", "decision/by", "pair model", "its entries do not fit together"),
    ("forest", "preparation", None, "its entries do not fit together"),
    ("forest", "preparation/version", 7, "has version 7, but this Twofold reads 1"),
    ("forest", "preparation/plans", {}, "'plans' must be list"),
    ("forest", "preparation/plans/0/kind", "pickle", "'kind' is 'pickle'"),
    ("forest", "preparation/blocks", [], "there is no block"),
    ("forest", "preparation/blocks/0", 5, "block 0 is not a mapping"),
    ("forest", "pair_model", [], "its entries do not fit together"),
    ("forest", "pair_model/format", "1", "has format '1', but this version reads 1"),
    ("forest", "pair_model/model", "pickle", "no such model: 'pickle'"),
    ("forest", "pair_model/model", "linear", "is damaged"),
    ("forest", "pair_model/base", "nan", "base is not"),
    ("forest", "pair_model/threshold", "0.5", "threshold is not"),
    ("forest", "pair_model/calibration/slope", "1", "slope is not"),
    ("forest", "pair_model/calibration/slope", 1e308, "slope is not"),
    ("forest", "pair_model/calibration/slope", 10**400, "slope is not"),
    ("forest", "pair_model/calibration", {}, "no 'slope'"),
    ("forest", "pair_model/calibration/owner", 1, "calibration has more than slope and offset"),
    (
        "forest",
        "pair_model/n_given",
        1,
        "needs 1 similarities besides those of columns, .* gives 0",
    ),
    (
        "forest",
        "embedding_scale",
        1.0,
        "needs 0 similarities besides those of columns, .* gives 5",
    ),
    ("forest", "embedding_scale", 0.0, "its entries do not fit together"),
    ("forest", "embedding_scale", "1", "its entries do not fit together"),
    ("forest", "pair_model/n_records", -1, "n_records is '-1'"),
    ("forest", "pair_model/n_records", "9", "n_records is '9'"),
    ("forest", "pair_model/columns", [], "columns of an unknown kind or twice"),
    ("forest", "pair_model/columns/0/kind", [], "columns of an unknown kind or twice"),
    ("forest", "pair_model/kind", "../x", "no such kind"),
    ("forest", "sha256", [], "its entries do not fit together"),
    ("forest", "sha256", {}, "is damaged or was changed: 'pair_model/"),
]


def refuse_prepared(folder: Path, sentence: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as refused:
        PreparedModel.open(folder, device="cpu")
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("kind", "entry", "value", "sentence"), PREPARED)
def test_a_prepared_model_that_is_not_what_it_should_be_is_refused(
    kind, entry, value, sentence, tmp_path
):
    folder = copied(kind, tmp_path)
    change_card(folder, entry, value, "prepared.json")
    refuse_prepared(folder, sentence)


PAIR_FILE, TABLE_FILE = (
    "pair_model/pair_model.safetensors",
    "preparation/table_preparation.safetensors",
)
PARTS = [
    (
        "forest",
        PAIR_FILE,
        "model.value",
        with_number(math.inf),
        "holds numbers that are not finite",
    ),
    ("forest", PAIR_FILE, "model.left", lambda t: t * 0, "leads to one that does not follow"),
    ("forest", PAIR_FILE, "model.feature", lambda t: t + 10**6, "a feature that does not exist"),
    (
        "forest",
        PAIR_FILE,
        "model.roots",
        lambda t: t - 10**6,
        "starts at a node that does not exist",
    ),
    ("forest", PAIR_FILE, "model.value", lambda t: t[:-1], "arrays differ in length"),
    ("forest", PAIR_FILE, "0.words.codes", lambda t: None, "no '0.words.codes'"),
    ("linear", PAIR_FILE, "model.scale", lambda t: t * 0, "a scale is not above 0"),
    ("linear", PAIR_FILE, "model.weight", lambda t: t[:-1], "has other shapes"),
    ("forest", TABLE_FILE, "0.word.idf", with_number(math.nan), "'idf' must be .* finite numbers"),
    ("forest", TABLE_FILE, "0.word.vocabulary", lambda t: t[:-1], "vocabulary cannot be read"),
]


@pytest.mark.parametrize(("kind", "file", "name", "change", "sentence"), PARTS)
def test_parts_of_a_prepared_model_that_do_not_fit_are_refused(
    kind, file, name, change, sentence, tmp_path
):
    folder = copied(kind, tmp_path)
    change_tensor(folder, file, name, change)
    refuse_prepared(folder, sentence)


@pytest.mark.parametrize("file", [PAIR_FILE, TABLE_FILE])
def test_a_file_that_changed_since_it_was_saved_is_named(file, tmp_path):
    folder = copied("forest", tmp_path)
    content = bytearray((folder / file).read_bytes())
    content[-1] ^= 1
    (folder / file).write_bytes(content)
    refuse_prepared(folder, f"is damaged or was changed: '{file}' is not as saved")
    (folder / file).unlink()
    refuse_prepared(folder, f"is damaged or was changed: '{file}' is not there")


@pytest.mark.parametrize("kind", ["forest", "linear", "embedding"])
def test_a_prepared_model_that_is_not_changed_is_used(kind, tmp_path):
    folder = copied(kind, tmp_path)
    sign(folder)
    assert open_and_use(folder) == "used"
    assert kind in prepared_models()


def test_mutated_prepared_models_are_used_or_refused_in_a_sentence():
    outcomes = [fuzz_prepared(str(number).encode()) for number in range(80)]
    assert "used" in outcomes
    assert len(set(outcomes)) > 10
