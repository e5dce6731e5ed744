"""On a GPU: batch losses that say they can be recorded train as they do step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from twofold.baselines._batch_loss_learner import BatchLossLearner
from twofold.baselines._batch_task import BatchTask
from twofold.baselines._classifier import BinaryCrossEntropy, CrossEntropy
from twofold.baselines._labelled_items import LabelledItems
from twofold.baselines._nonlinear_nca import NeighbourhoodLoss
from twofold.regression import Network, TrainingConfig, open_features, train_network
from twofold.regression import _steps as steps_module

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((480, 8)).astype(np.float32)  # whole batches: recorded ones are filled up
CLASSES = (X[:, 0] > 0) + 2 * (X[:, 1] > 0).astype(np.int64)
LABELS = X[:, :4] > 0
LOSSES = {
    "log": (NeighbourhoodLoss("log"), CLASSES),
    "expected": (NeighbourhoodLoss("expected"), CLASSES),
    "log, several labels": (NeighbourhoodLoss("log"), LABELS),
    "cross-entropy": (CrossEntropy(), CLASSES),
    "binary cross-entropy": (BinaryCrossEntropy(), LABELS),
}


def a_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))


@pytest.mark.parametrize("name", LOSSES)
def test_recorded_steps_give_what_eager_ones_give(name, monkeypatch):
    loss, labels = LOSSES[name]
    assert loss.is_recordable
    config = TrainingConfig("mlp", max_epochs=4, batch_size=32, learning_rate=1e-3, device="cuda")
    losses = []
    for n_eager in (3, 10**6):
        monkeypatch.setattr(steps_module, "N_EAGER", n_eager)
        labelled = LabelledItems(np.arange(len(X)), labels)
        task = BatchTask(open_features(X, "cuda"), labelled, loss, "cuda")
        network = a_network().to("cuda")
        losses.append(train_network(network, task, config, np.random.default_rng(1)).loss)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-2)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.parametrize("loss", ["supcon", "proxy-anchor", "multi-similarity", "triplet"])
def test_losses_that_wait_for_the_device_train_on_it_as_on_a_cpu(loss):
    scores = []
    for device in ("cpu", "cuda"):
        network = Network(max_epochs=15)
        learner = BatchLossLearner(4, loss=loss, embedder=network, random_state=0, device=device)
        learner.set_params(validation_fraction=0.1).fit(X, CLASSES)
        scores.append(learner.score(X, CLASSES))
    # Other rounding, other mined triplets: it may end better by chance, not much worse.
    assert scores[1] > max(scores[0] - 0.03, 0.8)
