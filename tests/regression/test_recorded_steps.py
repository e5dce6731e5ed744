"""On a GPU, recorded steps train as eager ones do, in far less time."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from twofold import PairRelation, SiameseLearner
from twofold.baselines._pair_tasks import Contrastive, PairTask
from twofold.regression import RegressionTask, TrainingConfig, open_features, train_network
from twofold.regression._steps import RecordedStep, training_step

CONFIG = TrainingConfig(max_epochs=4, batch_size=32, learning_rate=1e-3, device="cuda")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def a_network(dropout=0.0):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Dropout(dropout), torch.nn.Linear(64, 4)
    )


def a_task(name, device):
    rng = np.random.default_rng(0)
    features = open_features(rng.standard_normal((500, 8)).astype(np.float32), device)
    if name == "regression":
        targets = rng.standard_normal((500, 4)).astype(np.float32)
        return RegressionTask(features, np.arange(500), targets, device)
    left, right = np.divmod(rng.choice(250 * 250, 2000, replace=False), 250)
    similar = rng.integers(2, size=2000).astype(np.float32)
    pairs = PairRelation(left, 250 + right, similar, 500)
    return PairTask(features, pairs, Contrastive(1.0), device)


def test_on_a_cpu_nothing_is_recorded():
    task, network = a_task("regression", "cpu"), a_network()
    optimiser = torch.optim.AdamW(network.parameters())
    step = training_step(network, task, optimiser, 32, "cpu", may_record=True)
    assert not isinstance(step, RecordedStep)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("name", ["regression", "pairs"])
def test_recorded_steps_give_what_eager_ones_give(name):
    weights, losses = [], []
    for may_record in (True, False):
        network = a_network().to("cuda")
        config = replace(CONFIG, may_record=may_record)
        task = a_task(name, "cuda")
        history = train_network(network, task, config, np.random.default_rng(1))
        weights.append(network[0].weight.detach().cpu().numpy())
        losses.append(history.loss)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-2)
    np.testing.assert_allclose(weights[0], weights[1], atol=3e-3)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.gpu
@needs_gpu
def test_dropout_draws_anew_in_every_replay():
    network = a_network(dropout=0.9).to("cuda")
    step = training_step(
        network,
        a_task("regression", "cuda"),
        torch.optim.AdamW(
            network.parameters(), lr=torch.tensor(0.0, device="cuda"), fused=True, capturable=True
        ),
        32,
        "cuda",
        may_record=True,
    )
    examples = torch.arange(32, device="cuda")
    network.train()
    totals = []
    for _ in range(8):
        step.total.zero_()
        step(examples)
        totals.append(float(step.total))
    assert len(set(totals)) == 8  # the rate is 0, so only the dropout differs


@pytest.mark.gpu
@needs_gpu
def test_recording_is_faster():
    seconds = {}
    for may_record in (True, False, True, False):
        began = time.perf_counter()
        network = a_network().to("cuda")
        config = replace(CONFIG, may_record=may_record, max_epochs=30)
        train_network(network, a_task("pairs", "cuda"), config, np.random.default_rng(1))
        seconds[may_record] = time.perf_counter() - began
    assert seconds[True] < 0.5 * seconds[False]


@pytest.mark.gpu
@needs_gpu
def test_a_user_s_module_that_decides_as_it_goes_is_not_recorded():
    class Deciding(torch.nn.Linear):
        def forward(self, items):
            return super().forward(items if float(items.sum()) > 0 else -items)

    X = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    y = np.arange(300) % 3
    learner = SiameseLearner(4, embedder=Deciding(8, 4), max_epochs=2, device="cuda")
    assert learner.set_params(random_state=0).fit(X, y).transform(X).shape == (300, 4)
