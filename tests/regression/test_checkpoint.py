"""A training that is interrupted goes on where it was, and no other takes up its file."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from torch import nn

from twofold.regression import Augment, TrainingConfig, fit_embedder, train_network
from twofold.regression import _checkpoint as checkpoint_module
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Checkpoint, Progress, Trainer
from twofold.regression._draws import Draws

RNG = np.random.default_rng
X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
TARGETS = RNG(0).normal(size=(3, 2)).astype(np.float32)[Y]


class BreakOffError(Exception):
    """What a test breaks a training off with."""


def break_off(after):
    def callback(epoch):
        if epoch.number == after:
            raise BreakOffError

    return callback


def fit(checkpoint=None, callback=None, *, seed: int = 0, targets=TARGETS, options=None, **changes):
    defaults = {"architecture": "mlp", "max_epochs": 4, "batch_size": 64, "learning_rate": 1e-3}
    config = TrainingConfig(**defaults | changes)
    return fit_embedder(
        config, X, targets, RNG(seed), checkpoint=checkpoint, callback=callback, **(options or {})
    )


@pytest.fixture(autouse=True)
def _every_epoch_is_kept(monkeypatch):
    monkeypatch.setattr(checkpoint_module, "LARGEST_SHARE", float("inf"))


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, {}),
        ({"validation_fraction": 0.2}, {}),
        ({"regression": "likelihood"}, {}),
        ({}, {"epoch_size": 70}),
        ({}, {"averaged": 0.6, "optimiser": "muon", "schedule": "linear", "learning_rate": 0.1}),
        ({}, {"averaged": 0.3, "optimiser": "sgd"}),
        ({}, {"architecture": nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.Linear(5, 2))}),
    ],
    ids=[
        "squared",
        "validated",
        "likelihood",
        "epoch size",
        "averaging",
        "not yet averaging",
        "own module",
    ],
)
def test_an_interrupted_training_goes_on_with_the_same_bytes(options, changes, tmp_path):
    whole = fit(options=options, **changes)
    path = tmp_path / "training.safetensors"
    with pytest.raises(BreakOffError):
        fit(path, break_off(after=3), options=options, **changes)
    assert path.exists()
    seen = []
    resumed = fit(path, lambda epoch: seen.append(epoch.number), options=options, **changes)
    assert seen == [3, 4]
    assert resumed.embedder.predict(X).tobytes() == whole.embedder.predict(X).tobytes()
    assert resumed.history.loss == whole.history.loss
    assert resumed.history.validation_loss == whole.history.validation_loss
    assert resumed.history.best_epoch == whole.history.best_epoch
    assert not path.exists()


def test_images_take_turns_after_an_interruption_as_they_would_have(tmp_path):
    images = RNG(0).integers(0, 256, (40, 1, 6, 6), dtype=np.uint8)
    targets = RNG(1).normal(size=(40, 2)).astype(np.float32)
    augment = Augment(flips=True, shift=1, rotation=10, cutout=2)
    network = nn.Sequential(nn.Conv2d(1, 3, 3), nn.GELU(), nn.Flatten(), nn.Linear(48, 2))
    config = TrainingConfig(network, 5, 16, 0.05, augment=augment, optimiser="muon", averaged=0.5)

    def points(callback=None, checkpoint=None):
        fitted = fit_embedder(
            config, images, targets, RNG(0), callback=callback, checkpoint=checkpoint
        )
        return fitted.embedder.predict(images).tobytes()

    with pytest.raises(BreakOffError):
        points(break_off(4), tmp_path / "training")
    assert points(checkpoint=tmp_path / "training") == points()


def test_the_seconds_before_an_interruption_are_counted(tmp_path):
    before, after = [], []

    def stop(epoch):
        before.append(epoch.seconds)
        if epoch.number == 3:
            raise BreakOffError

    with pytest.raises(BreakOffError):
        fit(tmp_path / "training", stop)
    fit(tmp_path / "training", lambda epoch: after.append(epoch.seconds))
    assert before[1] < after[0] < after[1]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"max_epochs": 7},
        {"batch_size": 32},
        {"weight_decay": 0.1},
        {"averaged": 0.5},
        {"optimiser": "sgd"},
        {"architecture": "mnist"},
        {"targets": 2 * TARGETS},
        {"options": {"regression": "likelihood"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_training_does_not_take_it_up(change, tmp_path):
    with pytest.raises(BreakOffError):
        fit(tmp_path / "training", break_off(2))
    with pytest.raises(ValueError, match="belongs to another training"):
        fit(tmp_path / "training", **change)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all"])
def test_a_damaged_file_is_refused(content, tmp_path):
    path = tmp_path / "training"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot be read as a checkpoint .* remove it"):
        fit(path)


def test_a_folder_that_is_not_there_is_said_before_training(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fit(tmp_path / "no" / "training", break_off(1))


def test_moments_come_back_in_the_order_of_their_weights(tmp_path):
    def a_trainer():
        torch.manual_seed(0)
        network = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        optimiser = torch.optim.AdamW(network.parameters(), lr=torch.tensor(0.01))
        average = WeightAverage(network, 1, 0.0)
        return Trainer(network, (optimiser,), RNG(0), Draws(RNG(0), "cpu"), average)

    trained, fresh = a_trainer(), a_trainer()
    checkpoint = Checkpoint(tmp_path / "training", {}, fresh.network, 1.0)
    trained.network(torch.randn(2, 3, 5, 5)).square().sum().backward()
    trained.optimisers[0].step()
    checkpoint.keep(trained, Progress(n_done=1))
    checkpoint.restore(fresh)
    for before, after in zip(trained.network.parameters(), fresh.network.parameters(), strict=True):
        for kind in ("exp_avg", "exp_avg_sq"):
            moments = fresh.optimisers[0].state[after][kind]
            assert moments.stride() == after.stride()
            assert torch.equal(moments, trained.optimisers[0].state[before][kind])


class SmallOutputs:
    """A task without targets."""

    n_examples = 40
    index_device = torch.device("cpu")
    is_recordable = True
    items = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))

    def begin_epoch(self, number):
        pass

    def loss(self, network, examples, generator=None):
        return network(self.items[examples]).square().mean()


def test_a_generator_of_another_kind_is_restored_too(tmp_path):
    def train(callback, checkpoint):
        network = nn.Linear(3, 2)
        nn.init.constant_(network.weight, 0.5)
        nn.init.constant_(network.bias, 0.5)
        rng = np.random.Generator(np.random.MT19937(3))
        config = TrainingConfig(network, max_epochs=4, batch_size=8, learning_rate=1e-2)
        train_network(
            network, SmallOutputs(), config, rng, callback=callback, checkpoint=checkpoint
        )
        return network.weight.detach().numpy()

    with pytest.raises(BreakOffError):
        train(break_off(3), tmp_path / "training")
    np.testing.assert_array_equal(train(None, tmp_path / "training"), train(None, None))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_convolutional_network_goes_on_on_a_gpu(tmp_path):
    images = RNG(0).integers(0, 255, (300, 3, 16, 16), dtype=np.uint8)
    targets = np.eye(3, 2, dtype=np.float32)[np.arange(300) % 3]
    config = TrainingConfig(
        "cifar10", max_epochs=6, batch_size=64, learning_rate=1e-3, device="cuda"
    )

    def train(callback):
        fit_embedder(
            config, images, targets, RNG(0), callback=callback, checkpoint=tmp_path / "training"
        )

    with pytest.raises(BreakOffError):
        train(break_off(4))
    seen = []
    train(lambda epoch: seen.append(epoch.number))
    assert seen == [4, 5, 6]
