"""Several views of an image: what each is, and that what a network makes of them is averaged."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from twofold import MetricLearner, Network
from twofold._core.warnings import RelationWarning
from twofold.baselines import ClassifierLearner, SiameseLearner
from twofold.regression import NetworkEmbedder, read_layers
from twofold.regression._views import VIEWS, averaged_views, view_of

RNG = np.random.default_rng
IMAGES = RNG(0).integers(0, 256, size=(24, 2, 5, 7), dtype=np.uint8)
CLASSES = np.arange(24) % 3


def slow_view(image: np.ndarray, mirrored: bool, down: int, right: int) -> np.ndarray:
    """Mirror, then move; what comes in at an edge repeats it."""
    _, height, width = image.shape
    seen = np.empty_like(image)
    for row in range(height):
        for column in range(width):
            from_row = min(max(row - down, 0), height - 1)
            from_column = min(max(column - right, 0), width - 1)
            if mirrored:
                from_column = width - 1 - from_column
            seen[:, row, column] = image[:, from_row, from_column]
    return seen


@pytest.mark.parametrize("view", [*VIEWS[6], *VIEWS[3], (True, 2, -3)])
def test_a_view_is_mirrored_then_moved_and_repeats_the_edge(view):
    expected = np.stack([slow_view(image, *view) for image in IMAGES])
    np.testing.assert_array_equal(view_of(torch.from_numpy(IMAGES), *view).numpy(), expected)


def test_the_first_view_is_the_image_itself_and_no_view_is_there_twice():
    for n_views, views in VIEWS.items():
        assert len(set(views)) == len(views) == n_views
        assert views[0] == (False, 0, 0)


def test_an_image_is_mirrored_in_half_of_its_views_or_in_none():
    n_mirrored = {n: sum(mirrored for mirrored, _, _ in views) for n, views in VIEWS.items()}
    assert n_mirrored == {1: 0, 2: 1, 3: 0, 6: 3}  # three views are for what may not be mirrored


@pytest.mark.parametrize("n_views", VIEWS)
def test_what_is_read_is_averaged_over_views(n_views):
    weight = torch.from_numpy(RNG(1).normal(size=(70, 3)).astype(np.float32))

    def read(images):
        flat = images.float().flatten(1) / 255
        return {"linear": flat @ weight, "squared": (flat @ weight).square()}

    found = averaged_views(read, torch.from_numpy(IMAGES), n_views)
    for name, power in (("linear", 1), ("squared", 2)):
        expected = np.zeros((24, 3))
        for view in VIEWS[n_views]:
            for number, image in enumerate(IMAGES):
                flat = slow_view(image, *view).reshape(-1) / 255
                expected[number] += (flat @ weight.numpy().astype(np.float64)) ** power
        np.testing.assert_allclose(found[name], expected / n_views, rtol=1e-4, atol=1e-4)


def fitted(n_views: int, **parameters) -> MetricLearner:
    network = Network("mnist", max_epochs=2, views=n_views)
    learner = MetricLearner(3, embedder=network, random_state=0, metric="seen")
    return learner.set_params(**parameters).fit(IMAGES, CLASSES)


def seen_by(embedder: NetworkEmbedder, view) -> np.ndarray:
    one = NetworkEmbedder(embedder.network, embedder.input_shape, "cpu")
    one.output_scale = embedder.output_scale
    return one.predict(view_of(torch.from_numpy(IMAGES), *view).numpy())


@pytest.mark.parametrize("n_views", [2, 3, 6])
def test_a_learner_embeds_the_mean_over_views(n_views):
    learner = fitted(n_views)
    expected = np.mean([seen_by(learner.embedder_, view) for view in VIEWS[n_views]], axis=0)
    np.testing.assert_allclose(learner.transform(IMAGES), expected, rtol=1e-4, atol=1e-5)
    assert np.abs(learner.transform(IMAGES) - fitted(1).transform(IMAGES)).max() > 1e-3


def test_views_are_of_no_effect_on_training():
    one, six = fitted(1), fitted(6)
    for name, weights in one.embedder_.network.state_dict().items():
        assert weights.equal(six.embedder_.network.state_dict()[name])


def test_layers_of_the_metric_step_are_averaged_too():
    with pytest.warns(RelationWarning, match="Every layer counts the same"):
        learner = fitted(2, metric="unseen")
    step, embedder = learner.metric_step_, learner.embedder_
    layers: dict[str, torch.Tensor] = {}
    for view in VIEWS[2]:
        one = NetworkEmbedder(embedder.network, embedder.input_shape, "cpu")
        one.output_scale = embedder.output_scale
        seen = view_of(torch.from_numpy(IMAGES), *view).numpy()
        for name, values in read_layers(one, seen, step.layer_names).items():
            layers[name] = layers.get(name, 0) + values / 2
    np.testing.assert_allclose(learner.transform(IMAGES), step.transform(layers), atol=1e-4)
    assert "features" in layers
    assert len(layers) > 1


@pytest.mark.parametrize("kind", [ClassifierLearner, SiameseLearner])
def test_a_rival_embeds_the_mean_over_views_in_training_and_after_it(kind):
    shown = []

    def note(epoch):
        shown.append(epoch.embed(IMAGES))

    network = Network("mnist", max_epochs=1, views=2, callback=note)
    learner = kind(embedder=network, random_state=0).fit(IMAGES, CLASSES)
    expected = np.mean([seen_by(learner.embedder_, view) for view in VIEWS[2]], axis=0)
    points = learner.transform(IMAGES)
    np.testing.assert_allclose(points, learner._finish(expected), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(shown[-1], points, rtol=1e-4, atol=1e-5)


def test_a_callback_embeds_by_as_many_views_as_the_learner():
    shown = []
    network = Network("mnist", max_epochs=1, views=3, callback=lambda e: shown.append(e.embed))
    learner = MetricLearner(3, embedder=network, random_state=0, metric="seen")
    points = learner.fit(IMAGES, CLASSES).transform(IMAGES)
    np.testing.assert_allclose(shown[0](IMAGES), points, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [MetricLearner, ClassifierLearner])
def test_vectors_have_one_view(kind):
    vectors = IMAGES.reshape(24, -1).astype(np.float32)
    learner = kind(embedder=Network("mlp", views=2))
    with pytest.raises(ValueError, match=r"views=2 only works for images .* shape \(70,\)"):
        learner.fit(vectors, CLASSES)


@pytest.mark.parametrize(
    ("views", "error", "sentence"),
    [
        (0, ValueError, "views must be at least 1, got 0"),
        (4, ValueError, "views must be one of 1, 2, 3, 6, got 4"),
        (2.0, TypeError, "views must be an integer, got 2.0"),
        (True, TypeError, "views must be an integer, got True"),
        ("two", TypeError, "views must be an integer, got 'two'"),
        ([2], TypeError, r"views must be an integer, got \[2\]"),
    ],
)
def test_other_numbers_of_views_are_refused(views, error, sentence):
    learner = MetricLearner(3, embedder=Network(nn.Linear(2, 3), views=views))
    with pytest.raises(error, match=sentence):
        learner.fit(IMAGES, CLASSES)
