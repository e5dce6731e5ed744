"""A training that is interrupted goes on where it was, and no other takes up its file."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from torch.utils.data import TensorDataset

from twofold import MetricLearner, SiameseLearner
from twofold.regression import _checkpoint

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
LEARNERS = {
    "regression": MetricLearner(2, loss="contrastive", max_epochs=6, random_state=0, device="cpu"),
    "validated": MetricLearner(
        3, max_epochs=6, validation_fraction=0.2, random_state=0, device="cpu"
    ),
    "siamese": SiameseLearner(
        2, max_epochs=6, epoch_size=300, learning_rate=1e-3, random_state=0, device="cpu"
    ),
}


class BreakOffError(Exception):
    """What a test breaks a training off with."""


def break_off(after):
    def callback(epoch):
        if epoch.number == after:
            raise BreakOffError

    return callback


@pytest.fixture(autouse=True)
def _every_epoch_is_kept(monkeypatch):
    monkeypatch.setattr(_checkpoint, "LARGEST_SHARE", float("inf"))


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupted_fit_goes_on_with_the_same_bytes(name, tmp_path):
    learner = LEARNERS[name]
    whole = learner.set_params(checkpoint=None, callback=None).fit(X, Y)
    wanted, losses = whole.transform(X), list(whole.history_.values())
    path = tmp_path / "training.safetensors"
    learner.set_params(checkpoint=path, callback=break_off(after=4))
    with pytest.raises(BreakOffError):
        learner.fit(X, Y)
    assert path.exists()
    seen = []
    learner.set_params(callback=lambda epoch: seen.append((epoch.number, epoch.seconds)))
    resumed = learner.fit(X, Y)
    assert [number for number, _ in seen] == [4, 5, 6]
    assert seen[0][1] > 0
    np.testing.assert_array_equal(resumed.transform(X), wanted)
    assert list(resumed.history_.values()) == losses
    assert not path.exists()


def test_the_seconds_before_an_interruption_are_counted(tmp_path):
    path = tmp_path / "training"
    learner = MetricLearner(2, max_epochs=3, random_state=0, device="cpu", checkpoint=path)
    before = []

    def stop(epoch):
        before.append(epoch.seconds)
        if epoch.number == 2:
            raise BreakOffError

    with pytest.raises(BreakOffError):
        learner.set_params(callback=stop).fit(X, Y)
    after = []
    learner.set_params(callback=lambda epoch: after.append(epoch.seconds)).fit(X, Y)
    assert before[0] < after[0] < after[1]


@pytest.mark.parametrize("change", [{"random_state": 1}, {"max_epochs": 7}, {"batch_size": 32}])
def test_another_training_does_not_take_it_up(change, tmp_path):
    path = tmp_path / "training"
    learner = MetricLearner(2, max_epochs=6, random_state=0, device="cpu", checkpoint=path)
    with pytest.raises(BreakOffError):
        learner.set_params(callback=break_off(2)).fit(X, Y)
    with pytest.raises(ValueError, match="holds another training"):
        learner.set_params(callback=None, **change).fit(X, Y)


def test_moments_come_back_in_the_order_of_their_weights(tmp_path):
    def a_trainer():
        torch.manual_seed(0)
        network = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        optimiser = torch.optim.AdamW(network.parameters(), lr=torch.tensor(0.01))
        return _checkpoint.Trainer(network, optimiser, np.random.default_rng(0), "cpu")

    trained, fresh = a_trainer(), a_trainer()
    checkpoint = _checkpoint.Checkpoint(tmp_path / "training", {}, fresh.network, 1.0)
    trained.network(torch.randn(2, 3, 5, 5)).square().sum().backward()
    trained.optimiser.step()
    checkpoint.keep(trained, _checkpoint.Progress(n_done=1))
    checkpoint.restore(fresh)
    for before, after in zip(trained.network.parameters(), fresh.network.parameters(), strict=True):
        for kind in ("exp_avg", "exp_avg_sq"):
            wanted = trained.optimiser.state[before][kind]
            found = fresh.optimiser.state[after][kind]
            assert found.stride() == after.stride()
            assert torch.equal(found, wanted)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_convolutional_network_goes_on_on_a_gpu(tmp_path):
    images = np.random.default_rng(0).integers(0, 255, (300, 3, 16, 16), dtype=np.uint8)
    classes = np.arange(300) % 3
    learner = MetricLearner(
        embedder="cifar10", max_epochs=6, random_state=0, device="cuda", checkpoint=tmp_path / "t"
    )
    with pytest.raises(BreakOffError):
        learner.set_params(callback=break_off(4)).fit(images, classes)
    seen = []
    learner.set_params(callback=lambda epoch: seen.append(epoch.number)).fit(images, classes)
    assert seen == [4, 5, 6]


def test_another_method_does_not_take_it_up(tmp_path):
    learner = SiameseLearner(
        2, max_epochs=3, random_state=0, device="cpu", checkpoint=tmp_path / "training"
    )
    with pytest.raises(BreakOffError):
        learner.set_params(callback=break_off(2)).fit(X, Y)
    with pytest.raises(ValueError, match="holds another training"):
        learner.set_params(callback=None, loss="cosine").fit(X, Y)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all"])
def test_a_damaged_file_is_refused(content, tmp_path):
    path = tmp_path / "training"
    path.write_bytes(content)
    learner = MetricLearner(2, max_epochs=2, random_state=0, device="cpu", checkpoint=path)
    with pytest.raises(ValueError, match=r"no checkpoint that can be read .* remove it"):
        learner.fit(X, Y)


def test_a_checkpoint_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="needs random_state to be a number, got None"):
        MetricLearner(2, checkpoint=tmp_path / "training").fit(X, Y)


def test_a_folder_that_is_not_there_is_said_before_training(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        MetricLearner(2, random_state=0, checkpoint=tmp_path / "no" / "training").fit(X, Y)


def test_a_generator_of_another_kind_is_restored_too(tmp_path):
    from twofold.regression._training import TrainingConfig, train_network

    class Task:
        n_examples = 40
        index_device = torch.device("cpu")
        data = TensorDataset(torch.randn(40, 3, generator=torch.manual_seed(0)))

        def loss(self, network, examples):
            return network(self.data[examples][0]).square().mean()

    def train(callback, checkpoint):
        network = torch.nn.Linear(3, 2)
        torch.nn.init.constant_(network.weight, 0.5)
        torch.nn.init.constant_(network.bias, 0.5)
        rng = np.random.Generator(np.random.MT19937(3))
        config = TrainingConfig(4, 8, 1e-2)
        train_network(network, Task(), config, rng, callback=callback, checkpoint=checkpoint)
        return network.weight.detach().numpy()

    with pytest.raises(BreakOffError):
        train(break_off(3), tmp_path / "training")
    np.testing.assert_array_equal(train(None, tmp_path / "training"), train(None, None))


def test_an_epoch_of_a_given_size_sees_so_many_examples():
    losses = []
    learner = SiameseLearner(
        2,
        max_epochs=2,
        epoch_size=100,
        batch_size=10,
        random_state=0,
        device="cpu",
        callback=lambda epoch: losses.append(epoch.loss),
    ).fit(X, Y)
    assert len(losses) == 2
    few = learner.timing_["training"]
    learner.set_params(epoch_size=None).fit(X, Y)
    assert few < learner.timing_["training"] / 3  # 3,000 pairs to 100


@pytest.mark.parametrize("size", [0, -3, 2.5])
def test_a_size_that_is_no_count_is_refused(size):
    with pytest.raises((ValueError, TypeError), match="epoch_size"):
        SiameseLearner(2, epoch_size=size, random_state=0).fit(X, Y)
