"""On a GPU, recorded steps train as eager ones do; elsewhere nothing is recorded."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch
from torch import nn

from twofold.regression import (
    RegressionTask,
    TrainingConfig,
    fit_embedder,
    open_features,
    train_network,
)
from twofold.regression import _steps as steps_module
from twofold.regression._draws import Draws, Dropout, drawing_from
from twofold.regression._steps import EagerStep, RecordedStep, training_step

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def a_network(dropout=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), Dropout(dropout), nn.Linear(64, 4))


def a_task(device):
    rng = np.random.default_rng(0)
    features = open_features(rng.standard_normal((500, 8)).astype(np.float32), device)
    targets = rng.standard_normal((500, 4)).astype(np.float32)
    return RegressionTask(features, np.arange(500), targets, device)


def test_on_a_cpu_nothing_is_recorded():
    network = a_network()
    optimiser = torch.optim.AdamW(network.parameters())
    draws = Draws(np.random.default_rng(0), "cpu")
    step = training_step(network, a_task("cpu"), [optimiser], draws, 32, "cpu", may_record=True)
    assert not isinstance(step, RecordedStep)


@pytest.mark.gpu
@needs_gpu
def test_recorded_steps_give_what_eager_ones_give(monkeypatch):
    weights, losses = [], []
    config = TrainingConfig("mlp", max_epochs=4, batch_size=32, learning_rate=1e-3, device="cuda")
    for n_eager in (3, 10**6):
        monkeypatch.setattr(steps_module, "N_EAGER", n_eager)
        network = a_network().to("cuda")
        history = train_network(network, a_task("cuda"), config, np.random.default_rng(1))
        weights.append(network[0].weight.detach().cpu().numpy())
        losses.append(history.loss)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-2)
    np.testing.assert_allclose(weights[0], weights[1], atol=3e-3)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.gpu
@needs_gpu
def test_dropout_draws_anew_in_every_replay():
    network = a_network(dropout=0.9).to("cuda")
    rate = torch.tensor(0.0, device="cuda")
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate, fused=True, capturable=True)
    examples = torch.arange(32, device="cuda")
    network.train()
    of_seed = []
    for _ in range(2):
        draws = Draws(np.random.default_rng(0), "cuda")
        step = training_step(
            network, a_task("cuda"), [optimiser], draws, 32, "cuda", may_record=True
        )
        totals = []
        with drawing_from(network, draws.generator):
            for _ in range(8):
                step.total.zero_()
                step(examples)
                totals.append(float(step.total))
        assert len(set(totals)) == 8  # the rate is 0, so only the dropout differs
        of_seed.append(totals)
    assert of_seed[0] == pytest.approx(of_seed[1], rel=1e-5)


class GraphOnPaper:
    """Notes in place of a CUDA graph, so that the order of calls is tested without a GPU."""

    def __init__(self):
        self.called = []

    def register_generator_state(self, generator):
        self.called.append(("registered", generator))

    def replay(self):
        self.called.append(("replayed", None))


def test_the_generator_is_registered_before_a_step_is_recorded(monkeypatch):
    graph, draws = GraphOnPaper(), Draws(np.random.default_rng(0), "cpu")

    @contextmanager
    def recording(recorded, capture_error_mode):
        recorded.called.append(("recording", None))
        yield

    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    network = a_network()
    optimiser = torch.optim.AdamW(network.parameters())
    eager = EagerStep(network, a_task("cpu"), [optimiser], draws, "cpu")
    step = RecordedStep(eager, 32, "cpu")
    for _ in range(5):
        step(torch.arange(32))
    names = [name for name, _ in graph.called]
    assert names == ["registered", "recording", "replayed", "replayed"]
    assert graph.called[0][1] is draws.generator


@pytest.mark.gpu
@needs_gpu
def test_a_users_module_that_decides_as_it_goes_is_not_recorded():
    class Deciding(nn.Linear):
        def forward(self, items):
            return super().forward(items if float(items.sum()) > 0 else -items)

    X = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    config = TrainingConfig(
        Deciding(8, 4), max_epochs=2, batch_size=32, learning_rate=1e-3, device="cuda"
    )
    fitted = fit_embedder(config, X, X[:, :4].copy(), np.random.default_rng(0))
    assert fitted.embedder.predict(X).shape == (300, 4)
