"""A learner as one ONNX file embeds as `transform` does, with everything inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from little_problems import OTHER, PAIRS, X, Y, quick_learner
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from twofold import MetricLearner, Network, PairMetricLearner, load
from twofold._core.warnings import RelationWarning
from twofold.baselines import NCALearner, RawFeatures, SiameseLearner
from twofold.regression import FeaturesAsGiven, NetworkEmbedder
from twofold.regression._fast_networks import FAST_NETWORKS, FastNetwork

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

NEW = OTHER[0]
IMAGES = np.random.default_rng(0).integers(0, 256, size=(30, 1, 12, 12), dtype=np.uint8)
CLASSES = np.arange(30) % 3
TEN = np.arange(60) % 10
TEN_LABELS = (TEN[:, None] == np.arange(10)).astype(int)
TEN_LABELS[:20, 0] = 1


OUTPUT_ALONE = [("auto", "labels"), ("auto", "pairs")]


def session_of(learner, folder, **parameters):
    path = learner.to_onnx(folder / "model.onnx", **parameters)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def assert_embeds_the_same(learner, features, folder, **parameters):
    """Compare the file with `transform`, on all items and on one."""
    session = session_of(learner, folder, **parameters)
    expected = learner.transform(features)
    size = np.abs(expected).max()
    dtype = parameters.get("input_type", "float32")
    for rows in (slice(None), slice(1)):
        (points,) = session.run(["points"], {"features": features[rows].astype(dtype)})
        np.testing.assert_allclose(points, expected[rows], rtol=1e-5, atol=1e-5 * size)
    return session


@pytest.mark.parametrize("metric", ["auto", "seen", "unseen"])
@pytest.mark.parametrize("relation", ["classes", "labels", "pairs"])
def test_every_relation_and_metric_is_exported(relation, metric, tmp_path):
    known = {"classes": {"y": TEN}, "labels": {"y": TEN_LABELS}, "pairs": {"relation": PAIRS}}
    learner = quick_learner(metric=metric, feedback=0).fit(X, **known[relation])
    assert (learner.metric_step_ is None) == (
        metric == "seen" or (metric, relation) in OUTPUT_ALONE
    )
    assert_embeds_the_same(learner, NEW, tmp_path)


def test_gate_and_components_are_inside(tmp_path):
    learner = quick_learner(n_components=3).fit(X + 3 * TEN[:, None], TEN)
    step = learner.metric_step_
    assert step is not None
    assert step.gate is not None
    assert step.components.shape[1] < step.components.shape[0]
    assert_embeds_the_same(learner, NEW, tmp_path)


def test_a_ridge_map_is_exported(tmp_path):
    learner = quick_learner(embedder="auto", feedback=2, validation_fraction=0)
    learner.fit(X, relation=PAIRS)
    assert type(learner.embedder_.network).__name__ == "RidgeMap"
    assert_embeds_the_same(learner, NEW, tmp_path)


@pytest.mark.parametrize("architecture", ["mlp", nn.Sequential(nn.Linear(5, 3))])
def test_a_network_with_a_skip_connection_is_exported(architecture, tmp_path):
    learner = SiameseLearner(
        3, start="features", embedder=Network(architecture, max_epochs=1), random_state=0
    )
    learner.fit(X, relation=PAIRS)
    assert type(learner.embedder_.network).__name__ == "FeatureSkip"
    assert_embeds_the_same(learner, NEW, tmp_path)


def test_features_as_given_are_exported(tmp_path):
    learner = quick_learner(metric="seen").fit(X, Y)
    learner.embedder_ = NetworkEmbedder(FeaturesAsGiven(), (5,), "cpu")
    learner.n_components_ = 5
    assert_embeds_the_same(learner, NEW, tmp_path)


def test_more_classes_than_components_are_exported(tmp_path):
    learner = quick_learner(n_components=3, metric="seen").fit(
        np.tile(X, (4, 1)), np.arange(240) % 40
    )
    assert type(learner.embedder_.network[-1]).__name__ == "TargetDirection"
    assert_embeds_the_same(learner, NEW, tmp_path)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_networks_on_images_take_floats_and_bytes(name, tmp_path):
    learner = quick_learner(embedder=Network(name, max_epochs=1)).fit(IMAGES, CLASSES)
    assert_embeds_the_same(learner, IMAGES, tmp_path)
    session = assert_embeds_the_same(learner, IMAGES, tmp_path, input_type="uint8")
    assert session.get_inputs()[0].type == "tensor(uint8)"
    assert session.get_inputs()[0].shape == ["n_items", 1, 12, 12]


@pytest.mark.parametrize("name", FAST_NETWORKS)
def test_networks_with_residuals_are_exported_without_torch_s_exporter(name, tmp_path, monkeypatch):
    narrow = FastNetwork((8, 12, 16), FAST_NETWORKS[name].depth)
    monkeypatch.setitem(FAST_NETWORKS, name, narrow)
    monkeypatch.setattr(torch.onnx, "export", None)
    images = np.random.default_rng(0).integers(0, 256, size=(30, 1, 16, 18), dtype=np.uint8)
    network = Network(name, max_epochs=1, batch_size=10)
    learner = quick_learner(embedder=network, metric="seen").fit(images, CLASSES)
    has_residual = any(type(layer).__name__ == "Residual" for layer in learner.embedder_.network[1])
    assert has_residual == (name == "deep-conv")
    session = session_of(learner, tmp_path)
    (points,) = session.run(["points"], {"features": images.astype(np.float32)})
    np.testing.assert_allclose(points, learner.transform(images), atol=1e-4)


def test_the_mean_of_several_views_is_not_exported(tmp_path):
    network = Network("mnist", max_epochs=1, views=2)
    learner = quick_learner(embedder=network, metric="seen").fit(IMAGES, CLASSES)
    with pytest.raises(TypeError, match=r"averages 2 views .*embedder_\.n_views = 1"):
        learner.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    learner.embedder_.n_views = 1  # the way out that is named
    assert_embeds_the_same(learner, IMAGES, tmp_path)


def own_chain():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.SiLU(),
        nn.Sequential(nn.MaxPool2d(2, padding=1), nn.Conv2d(4, 6, 3, stride=2), nn.GELU()),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(6),
        nn.ELU(),
        nn.Linear(6, 5),
        nn.LeakyReLU(0.2),
        nn.Linear(5, 5),
        nn.Tanh(),
        nn.Linear(5, 5),
        nn.Sigmoid(),
        nn.Dropout(0.1),
        nn.Linear(5, 4),
    )


def test_a_chain_of_ones_own_is_exported_without_torch_s_exporter(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.onnx, "export", None)
    learner = quick_learner(embedder=Network(own_chain(), max_epochs=1)).fit(IMAGES, CLASSES)
    assert_embeds_the_same(learner, IMAGES, tmp_path)


class Residual(nn.Module):
    """No chain: what torch has to trace."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(5, 5), nn.Linear(5, 4)

    def forward(self, items):
        return self.last(items + torch.relu(self.first(items)))


def test_any_other_module_is_traced_by_torch_without_a_word(tmp_path, capfd):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    learner = quick_learner(embedder=Network(Residual(), max_epochs=1), metric="unseen")
    with pytest.warns(RelationWarning, match="Every layer counts the same"):
        learner.fit(X, Y)
    assert "first" in learner.metric_step_.layer_names
    assert_embeds_the_same(learner, NEW, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_module_that_torch_cannot_trace_is_named(tmp_path, monkeypatch):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    def refuse(*_, **__):
        raise RuntimeError("Could not guard on data-dependent\nexpression")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    learner = quick_learner(embedder=Network(Residual(), max_epochs=1), metric="none").fit(X, Y)
    sentence = r"torch cannot export Residual for any .* \(Could not guard on data-dependent expr"
    with pytest.raises(TypeError, match=sentence):
        learner.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "regressor",
    [
        LinearRegression(),
        HuberRegressor(),
        KernelRidge(kernel="rbf", gamma=0.3),
        KernelRidge(kernel="polynomial", degree=2),
        make_pipeline(StandardScaler(), PCA(3, whiten=True), KernelRidge(kernel="linear")),
        MLPRegressor(hidden_layer_sizes=(7,), activation="tanh", max_iter=300, tol=1.0),
    ],
    ids=["linear", "one for each output", "rbf", "polynomial", "pipeline", "perceptron"],
)
def test_scikit_learn_s_regressors_are_exported(regressor, tmp_path):
    learner = quick_learner(embedder=regressor, metric="seen").fit(X, Y)
    assert_embeds_the_same(learner, NEW, tmp_path)


def test_a_regressor_with_a_metric_step_is_exported(tmp_path):
    learner = quick_learner(embedder=Ridge(), metric="unseen").fit(X, TEN)
    assert learner.metric_step_ is not None
    assert_embeds_the_same(learner, NEW, tmp_path)


@pytest.mark.parametrize(
    ("regressor", "sentence"),
    [
        (ExtraTreesRegressor(2), "ExtraTreesRegressor cannot be exported to ONNX; linear models"),
        (KernelRidge(kernel="laplacian"), "kernel='laplacian' cannot be exported"),
    ],
)
def test_what_cannot_be_exported_is_said_and_leaves_no_file(regressor, sentence, tmp_path):
    learner = quick_learner(embedder=regressor, metric="seen").fit(X, Y)
    with pytest.raises(TypeError, match=sentence):
        learner.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "learner",
    [
        RawFeatures(standardise=True, metric="cosine"),
        NCALearner(2, random_state=0),
        SiameseLearner(3, loss="cosine", embedder=Network(max_epochs=1), random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_baselines_are_exported(learner, tmp_path):
    assert_embeds_the_same(learner.fit(X, Y), NEW, tmp_path)


def test_a_pair_learner_and_a_sparse_fit_and_an_opened_model_are_exported(tmp_path):
    pairs = np.stack([X[PAIRS.left], X[PAIRS.right]], axis=1)
    signs = np.where(PAIRS.similar > 0.5, 1, -1)
    learner = PairMetricLearner(3, embedder=Ridge(), random_state=0).fit(pairs, signs)
    assert_embeds_the_same(learner, NEW, tmp_path)
    fitted = quick_learner(metric="seen").fit(sparse.csr_array(X), Y)
    assert_embeds_the_same(fitted, NEW, tmp_path)
    fitted.save(tmp_path / "model")
    assert_embeds_the_same(load(tmp_path / "model"), NEW, tmp_path)


def test_the_file_says_how_its_points_are_compared(tmp_path):
    from little_problems import table

    learner = quick_learner(metric="seen").fit(table(X), Y).calibrate_threshold(table(X), Y)
    notes = session_of(learner, tmp_path).get_modelmeta().custom_metadata_map
    assert notes["format"] == "twofold-onnx"
    assert notes["metric"] == learner.metric_
    assert float(notes["threshold"]) == learner.threshold_
    assert notes["n_components"] == "4"
    assert notes["feature_names"] == '["a", "b", "c", "d", "e"]'


def test_the_same_model_gives_the_same_bytes(tmp_path):
    learner = quick_learner().fit(X, Y)
    first, second = (learner.to_onnx(tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second


def test_other_input_types_and_unfitted_learners_are_refused(tmp_path):
    learner = quick_learner(metric="seen").fit(X, Y)
    with pytest.raises(ValueError, match="'float64'"):
        learner.to_onnx(tmp_path / "model.onnx", input_type="float64")
    with pytest.raises(ValueError, match="not fitted"):
        MetricLearner().to_onnx(tmp_path / "model.onnx")
