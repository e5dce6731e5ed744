"""Losses over the pairs of a batch: those of pytorch-metric-learning, the right way round."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pytorch_metric_learning import distances, losses, miners
from torch.nn import functional

from twofold.baselines._batch_loss_learner import BatchLossLearner
from twofold.baselines._batch_losses import batch_losses
from twofold.baselines._proxies import PROXY_RATE
from twofold.regression import Network

NAMES = ["supcon", "proxy-anchor", "multi-similarity", "triplet"]
every_loss = pytest.mark.parametrize("name", NAMES)
CLASSES = torch.arange(24) % 3


def made(name, n_components: int = 4):
    return batch_losses(name, 3, n_components, np.random.default_rng(0))


def some_points() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=(24, 4))).float()


def as_the_package_has_it(name, points, proxies, labels=CLASSES):
    """Return the loss of unit points, by the package's own classes."""
    cosine = distances.CosineSimilarity()
    if name == "supcon":
        return losses.SupConLoss()(points, labels)
    if name == "multi-similarity":
        picked = miners.MultiSimilarityMiner()(points, labels)
        return losses.MultiSimilarityLoss()(points, labels, picked)
    if name == "triplet":
        miner = miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard", distance=cosine)
        loss = losses.TripletMarginLoss(margin=0.2, distance=cosine)
        return loss(points, labels, miner(points, labels))
    loss = losses.ProxyAnchorLoss(3, points.shape[1])
    loss.proxies.data = proxies
    return loss(points, labels)


@every_loss
@pytest.mark.parametrize("seed", range(4))
def test_a_loss_and_its_gradient_are_the_package_s_own_on_unit_points(name, seed):
    loss, _ = made(name)
    rng = np.random.default_rng(seed)
    labels = torch.from_numpy(rng.integers(3, size=24))
    start = functional.normalize(torch.from_numpy(rng.normal(size=(24, 4))).float())
    points, again = (start.clone().requires_grad_() for _ in range(2))
    proxies = loss.proxies.detach() if name == "proxy-anchor" else None
    lost = loss(points, labels)
    expected = as_the_package_has_it(name, again, proxies, labels)
    assert lost.item() == pytest.approx(expected.item(), rel=1e-5)
    assert expected.item() > 0
    lost.backward()
    expected.backward()
    torch.testing.assert_close(points.grad, again.grad, rtol=1e-4, atol=1e-6)


def test_a_miner_leaves_out_what_is_easy():
    # Two classes far apart but for one item, which lies near the other class.
    labels = torch.tensor([0, 0, 0, 1, 1, 1])
    points = torch.tensor([[1.0, 0], [1, 0.1], [0.1, 1], [0, 1], [-0.1, 1], [-0.2, 1]])
    mined, whole = made("multi-similarity", 2)
    assert mined(points, labels) < whole(points, labels)


@every_loss
def test_a_better_placement_loses_less(name):
    training, validation = made(name, n_components=3)
    apart = torch.eye(3)
    if name == "proxy-anchor":
        training.scaled.data = apart / PROXY_RATE
    noise = 0.05 * torch.from_numpy(np.random.default_rng(0).normal(size=(24, 3))).float()
    better, worse = apart[CLASSES] + noise, apart[CLASSES.roll(1, 0) // 2] + 4 * noise
    assert validation(better, CLASSES) < validation(worse, CLASSES)
    if name != "triplet":  # no semihard triplet is left where all are right
        assert training(better, CLASSES) < training(worse, CLASSES)


def test_triplets_held_out_are_all_counted():
    points = functional.normalize(some_points())
    found = float(made("triplet")[1](points, CLASSES))
    cosine = (points @ points.T).numpy()
    lost = [
        max(0.0, 0.2 + cosine[a, n] - cosine[a, p])
        for a in range(24)
        for p in range(24)
        for n in range(24)
        if CLASSES[a] == CLASSES[p] and a != p and CLASSES[a] != CLASSES[n]
    ]
    assert found == pytest.approx(math.fsum(lost) / len(lost), rel=1e-5)


@every_loss
@pytest.mark.parametrize("classes", [[0], [0, 1], [0, 1, 2], [1, 1]])
def test_a_batch_with_little_to_say_has_a_finite_gradient(name, classes):
    for loss in made(name):
        points = some_points()[: len(classes)].requires_grad_()
        lost = loss(points, torch.tensor(classes))
        lost.backward()
        assert torch.isfinite(lost)
        assert torch.isfinite(points.grad).all()
        if name in ("supcon", "triplet") and len(set(classes)) == len(classes):
            assert lost.item() == 0
            assert not points.grad.any()


def test_proxies_are_drawn_from_the_generator_given():
    before = torch.get_rng_state()
    first, again = (made("proxy-anchor")[0].proxies for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(torch.get_rng_state(), before)
    assert first.shape == (3, 4)


def test_a_step_of_adam_moves_proxies_a_hundred_times_as_far():
    loss, _ = made("proxy-anchor")
    points = some_points().requires_grad_()
    before = loss.proxies.detach().clone()
    optimiser = torch.optim.AdamW([points, *loss.parameters()], lr=1e-3, weight_decay=0)
    start = points.detach().clone()
    loss(points, CLASSES).backward()
    optimiser.step()
    moved = (loss.proxies - before).abs().median() / (points - start).abs().median()
    assert moved.item() == pytest.approx(PROXY_RATE, rel=0.01)


def trained(embedder: Network | None = None, **parameters):
    X = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    network = embedder or Network(max_epochs=2)
    learner = BatchLossLearner(4, embedder=network, device="cpu", random_state=0, **parameters)
    return learner, X, np.arange(30) % 3


def test_proxies_are_trained_with_the_network():
    seen = []
    learner, X, y = trained(
        loss="proxy-anchor",
        validation_fraction=0.2,
        embedder=Network(
            max_epochs=2,
            callback=lambda epoch: seen.append(epoch.network.loss.proxies.detach().clone()),
        ),
    )
    learner.fit(X, y)
    assert float((seen[0] - seen[1]).abs().max()) > 1e-3
    assert not any("prox" in name for name in learner.embedder_.network.state_dict())


def test_an_interrupted_training_goes_on_with_its_proxies(tmp_path):
    def interrupt(epoch):
        if epoch.number == 3:
            raise KeyboardInterrupt

    network = Network(max_epochs=6, checkpoint=tmp_path / "kept.safetensors")
    learner, X, y = trained(network, loss="proxy-anchor")
    whole = learner.fit(X, y).transform(X)
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(embedder__callback=interrupt).fit(X, y)
    again = learner.set_params(embedder__callback=None).fit(X, y).transform(X)
    assert again.tobytes() == whole.tobytes()
