"""What training draws is drawn by generators of its own, and by the seed alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from twofold.regression import TrainingConfig, fit_embedder, threads_for
from twofold.regression import _threads as threads_module
from twofold.regression._draws import Draws, Dropout, drawing_from

RNG = np.random.default_rng
X = RNG(0).standard_normal((60, 4)).astype(np.float32)
TARGETS = np.eye(3, 2, dtype=np.float32)[np.arange(60) % 3]


class DropsForItself(nn.Module):
    """A user's own network, which draws from torch's global generator."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 16), nn.Linear(16, 2)
        self.drop = nn.Dropout(0.3)

    def forward(self, items):
        hidden = functional.dropout(self.first(items).relu(), 0.5, self.training)
        noise = torch.randn_like(hidden) if self.training else 0
        return self.last(self.drop(hidden) + 0.1 * noise)


OWN = DropsForItself()


def points(architecture) -> bytes:
    config = TrainingConfig(architecture, max_epochs=4, batch_size=8, learning_rate=1e-2)
    return fit_embedder(config, X, TARGETS, RNG(0)).embedder.predict(X).tobytes()


@pytest.mark.parametrize("architecture", ["mlp", OWN], ids=["by name", "own"])
def test_threads_side_by_side_draw_what_one_alone_draws(architecture):
    alone, before = points(architecture), torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(points, [architecture] * 4))
    assert set(together) == {alone}
    assert torch.get_rng_state().equal(before)


def test_a_network_by_name_neither_reads_nor_sets_the_global_generator(monkeypatch):
    def refuse(*_):
        raise AssertionError("the global generator was touched")

    for name in ("manual_seed", "set_rng_state", "get_rng_state", "seed"):
        monkeypatch.setattr(torch, name, refuse)
        monkeypatch.setattr(torch.random, name, refuse)
    points("mlp")


def test_dropout_keeps_a_share_and_the_mean():
    layer = Dropout(0.25).train()
    with drawing_from(layer, torch.Generator().manual_seed(0)):
        first, second = layer(torch.ones(4000)), layer(torch.ones(4000))
    assert first.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert float(first.mean()) == pytest.approx(1, abs=0.05)
    assert not first.equal(second)
    assert layer.generator is None
    assert layer.eval()(torch.ones(9)).equal(torch.ones(9))


def test_the_slope_through_dropout_is_that_of_what_was_kept():
    layer, values = Dropout(0.5).train(), torch.ones(50, requires_grad=True)
    with drawing_from(layer, torch.Generator().manual_seed(0)):
        kept = layer(values)
    kept.sum().backward()
    assert values.grad.equal(kept.detach())


def test_draws_go_on_from_a_state():
    one, other = (Draws(RNG(seed), "cpu", lends=True) for seed in (0, 1))
    other.restore(one.state())
    drawn = []
    for draws in (one, other):
        with draws.lent():
            lent = torch.rand(3)
        drawn.append((lent.tolist(), torch.rand(3, generator=draws.generator).tolist()))
    assert drawn[0] == drawn[1]


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_fewer_threads_for_little_work_in_this_thread_alone(two_threads):
    with ThreadPoolExecutor(1) as pool:
        with threads_for(0):
            assert torch.get_num_threads() == 1
            assert pool.submit(torch.get_num_threads).result() == 2
        assert torch.get_num_threads() == 2
    with threads_for(1e15):
        assert torch.get_num_threads() == 2


def test_a_forked_child_takes_one_thread(two_threads, monkeypatch):
    monkeypatch.setattr(threads_module, "_is_forked", True)
    with threads_for(1e15):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
