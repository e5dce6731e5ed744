"""On a GPU: images, optimisers and averages in recorded steps give what a CPU's loop gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from twofold import MetricLearner, Network, load
from twofold.regression import Augment, TrainingConfig, fit_embedder
from twofold.regression import _checkpoint as checkpoint_module
from twofold.regression import _steps as steps_module
from twofold.regression._augment import Augmenter
from twofold.regression._fast_networks import FAST_NETWORKS, FastNetwork

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
RNG = np.random.default_rng
CLASSES = np.arange(480) % 4
TARGETS = RNG(1).normal(size=(4, 3)).astype(np.float32)
ALL = Augment(flips=True, shift=2, rotation=10, cutout=3)


def images_of(n_items: int = 480) -> np.ndarray:
    """Images of four kinds: each has a bright stripe of its own, under noise."""
    images = RNG(0).integers(0, 120, size=(n_items, 3, 16, 16))
    for number in range(n_items):
        first = 4 * CLASSES[number]
        images[number, :, first : first + 4] += 130
    return images.astype(np.uint8)


IMAGES = images_of()


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    for name, plan in list(FAST_NETWORKS.items()):
        monkeypatch.setitem(FAST_NETWORKS, name, FastNetwork((16, 24, 32), plan.depth))


def config(name: str = "fast-conv", **changes) -> TrainingConfig:
    plain = TrainingConfig(name, 6, 48, 0.1, optimiser="muon", schedule="linear", device="cuda")
    return replace(plain, **changes)


def fit(settings: TrainingConfig, **given):
    return fit_embedder(settings, IMAGES, TARGETS[CLASSES], RNG(0), **given)


@pytest.mark.parametrize(
    ("name", "optimiser", "rate"),
    [
        *[(name, "muon", 0.1) for name in (*FAST_NETWORKS, "conv")],
        (
            "cifar10",
            "muon",
            0.02,
        ),  # of .1 a CPU's trainings end anywhere from .15 to .2 of the start
        ("conv", "adamw", 2e-3),
        ("conv", "sgd", 0.01),
        ("fast-conv", "sgd", 0.003),
    ],
)
def test_a_training_ends_where_a_cpu_s_ends(name, optimiser, rate):
    given = {"optimiser": optimiser, "learning_rate": rate, "max_epochs": 8, "averaged": 0.2}
    ends = []
    for device in ("cpu", "cuda"):
        fitted = fit(config(name, device=device, **given))
        points = fitted.embedder.predict(IMAGES)
        ends.append(np.square(points - TARGETS[CLASSES]).sum(axis=1).mean())
    start = np.square(TARGETS[CLASSES] - TARGETS.mean(axis=0)).sum(axis=1).mean()
    assert max(ends) < 0.2 * start
    assert abs(ends[1] - ends[0]) < 0.05 * start


@pytest.mark.parametrize("optimiser", ["muon", "adamw", "sgd"])
def test_recorded_steps_give_what_eager_ones_give(optimiser, monkeypatch):
    """Of images that take turns: a recorded step has to see each epoch's number."""
    losses, points = [], []
    for n_eager in (3, 10**6):
        monkeypatch.setattr(steps_module, "N_EAGER", n_eager)
        # Slow enough that rounding, which no two runs have the same, does not grow into a loss.
        rate = {"muon": 0.01, "adamw": 2e-4, "sgd": 1e-3}[optimiser]
        settings = config(
            "cifar10", optimiser=optimiser, learning_rate=rate, augment=Augment(flips=True)
        )
        fitted = fit(settings)
        losses.append(fitted.history.loss)
        points.append(fitted.embedder.predict(IMAGES))
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.05)
    assert losses[0][-1] < losses[0][0]


def test_the_same_images_are_mirrored_as_on_a_cpu():
    images, items = torch.from_numpy(IMAGES), torch.arange(len(IMAGES))
    for epoch in (1, 2):
        seen = []
        for device in ("cpu", "cuda"):
            augmenter = Augmenter(Augment(flips=True), torch.device(device))
            augmenter.begin_epoch(epoch)
            generator = torch.Generator(device)
            seen.append(augmenter(images.to(device), items.to(device), generator).cpu())
        assert seen[0].equal(seen[1])


def test_images_are_changed_on_the_device_and_bytes_stay_bytes():
    images, items = torch.from_numpy(IMAGES).cuda(), torch.arange(len(IMAGES), device="cuda")
    for augment in (replace_of(ALL, rotation=0.0), ALL):
        augmenter = Augmenter(augment, torch.device("cuda"))
        one, same, other = (
            augmenter(images, items, torch.Generator("cuda").manual_seed(seed))
            for seed in (0, 0, 1)
        )
        assert one.is_cuda
        assert one.shape == images.shape
        assert one.dtype == (torch.float32 if augment.rotation else torch.uint8)
        torch.testing.assert_close(one, same)
        assert not torch.equal(one, other)


def replace_of(augment: Augment, **changes) -> Augment:
    return Augment(**{**augment.get_params(), **changes})


def test_all_changes_at_once_are_learnt_from():
    fitted = fit(config(augment=ALL, max_epochs=10))
    assert fitted.history.loss[-1] < 0.7 * fitted.history.loss[0]


def test_a_training_goes_on_within_its_average(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "LARGEST_SHARE", float("inf"))
    settings = config(averaged=0.6, augment=Augment(flips=True))
    whole = fit(settings).embedder.predict(IMAGES)

    def break_off(epoch):
        if epoch.number == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(settings, checkpoint=tmp_path / "training", callback=break_off)
    seen = []
    resumed = fit(
        settings,
        checkpoint=tmp_path / "training",
        callback=lambda epoch: seen.append(epoch.number),
    )
    assert seen == [5, 6]
    points = resumed.embedder.predict(IMAGES)
    scale = np.abs(whole).mean()
    assert np.abs(points - whole).mean() < 0.1 * scale  # other rounding, the same way


@pytest.mark.parametrize("n_views", [1, 6])
def test_a_learner_of_images_opens_without_a_gpu_and_embeds_the_same(n_views, tmp_path):
    network = Network(max_epochs=3, views=n_views)
    learner = MetricLearner(3, embedder=network, metric="seen", random_state=0, device="cuda")
    learner.fit(IMAGES, CLASSES)
    assert learner.plan_.embedder.architecture == "fast-conv"
    assert learner.score(IMAGES, CLASSES) > 0.95
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert again.embedder_.n_views == n_views
    points = learner.transform(IMAGES)
    np.testing.assert_allclose(
        again.transform(IMAGES),
        points,
        atol=0.02 * np.abs(points).max(),  # TensorFloat-32
    )


def test_a_metric_step_reads_views_on_the_device(tmp_path):
    classes = np.arange(480) % 12
    network = Network("fast-conv", max_epochs=2, views=2)
    learner = MetricLearner(4, embedder=network, metric="unseen", random_state=0, device="cuda")
    learner.fit(IMAGES, classes)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    points = learner.transform(IMAGES)
    np.testing.assert_allclose(again.transform(IMAGES), points, atol=0.02)
