"""Batch norm and GELU as one layer give what torch's two give, wherever and however they run.

The kernels also run in Triton's interpreter, on a CPU: one test here starts those that do.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from twofold.regression import TrainingConfig, build_network, fit_embedder
from twofold.regression import _norm_gelu as module
from twofold.regression._norm_gelu import Chain

HAS_TRITON = importlib.util.find_spec("triton") is not None
IS_INTERPRETED = HAS_TRITON and os.environ.get("TRITON_INTERPRET") == "1"
NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
    pytest.mark.skipif(not HAS_TRITON, reason="there is no Triton"),
    pytest.mark.skipif(IS_INTERPRETED, reason="the interpreter is at work"),
]
DEVICES = pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            "cpu",
            marks=pytest.mark.skipif(not IS_INTERPRETED, reason="Triton's interpreter is off"),
            id="interpreted",
        ),
        pytest.param("cuda", marks=NEEDS_CUDA),
    ],
)
TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
SHAPES = pytest.mark.parametrize(
    "shape",
    [
        (2, 1, 1, 1),
        (3, 24, 7, 9),
        (5, 64, 6, 6),
        (2, 100, 11, 5),
        (31, 256, 3, 3),
        (2, 512, 5, 4),
        (20, 64, 15, 15),
    ],
    ids=str,
)


def images_of(shape: tuple[int, ...], mean: float = 0.5, std: float = 2.0) -> Tensor:
    """Images whose first item stands apart, so that chunks of rows have means of their own."""
    values = np.random.default_rng(0).normal(mean, std, size=shape)
    values[0] += 3 * std
    return torch.from_numpy(values).contiguous(memory_format=torch.channels_last)


def norm_of(n_channels: int, learns_scale: bool = True) -> nn.BatchNorm2d:
    """A norm that has seen batches before, in float64."""
    rng = np.random.default_rng(1)
    norm = nn.BatchNorm2d(n_channels, eps=1e-3, momentum=0.4).double()
    with torch.no_grad():
        for values in (norm.weight, norm.bias, norm.running_mean):
            values.copy_(torch.from_numpy(rng.normal(size=n_channels)))
        norm.running_var.copy_(torch.from_numpy(rng.uniform(0.5, 2, size=n_channels)))
    norm.num_batches_tracked += 3
    norm.weight.requires_grad_(learns_scale)
    return norm


def outer_of(images: Tensor) -> Tensor:
    """A gradient of numbers that every type has."""
    values = torch.from_numpy(np.random.default_rng(2).normal(size=tuple(images.shape)))
    return values.bfloat16().to(images.device, images.dtype)


def everything(layers, norm: nn.BatchNorm2d, images: Tensor) -> dict[str, Tensor]:
    """Return outputs, gradients and running statistics of a norm and the GELU behind it."""
    images = images.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    norm = copy.deepcopy(norm).to(images.device)
    outputs = layers(norm, images)
    assert outputs.dtype == images.dtype
    outputs.backward(outer_of(images))
    found = {"outputs": outputs.detach(), "images": images.grad, "bias": norm.bias.grad}
    if norm.weight.requires_grad:
        found["weight"] = norm.weight.grad
    assert (norm.weight.grad is not None) == norm.weight.requires_grad
    found |= {name: values.clone() for name, values in norm.named_buffers()}
    return {name: values.double().cpu() for name, values in found.items()}


def defined(norm: nn.BatchNorm2d, images: Tensor) -> Tensor:
    """The definition, step by step."""
    mean = images.mean(dim=(0, 2, 3), keepdim=True)
    variance = (images - mean).square().mean(dim=(0, 2, 3), keepdim=True)
    n_rows = images.numel() // images.shape[1]
    with torch.no_grad():
        norm.running_mean.mul_(0.6).add_(0.4 * mean.flatten())
        norm.running_var.mul_(0.6).add_(0.4 * variance.flatten() * n_rows / (n_rows - 1))
        norm.num_batches_tracked += 1
    scale, shift = (values.view(1, -1, 1, 1) for values in (norm.weight, norm.bias))
    values = (images - mean) / (variance + norm.eps).sqrt() * scale + shift
    return values * 0.5 * (1 + torch.erf(values / 2**0.5))


def fused(norm: nn.BatchNorm2d, images: Tensor) -> Tensor:
    from twofold.regression._fused_norm import FusedNormGelu

    return FusedNormGelu.apply(
        *(images, norm.weight, norm.bias, norm.running_mean, norm.running_var),
        *(norm.num_batches_tracked, norm.momentum, norm.eps),
    )


def check(found: dict[str, Tensor], expected: dict[str, Tensor], size: float) -> None:
    """Compare all, relative to the largest that is expected; numbers in bfloat16 have 8 bits."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        scale = max(1.0, float(values.abs().max()))
        is_rounded = name in ("outputs", "images")
        error = float((found[name] - values).abs().max()) / scale
        assert error <= (size if is_rounded else min(size, 1e-4)), name


# ---- the kernels ----


@DEVICES
@TYPES
@SHAPES
@pytest.mark.parametrize("learns_scale", [True, False])
def test_the_kernels_give_what_the_definition_gives(device, dtype, shape, learns_scale):
    images = images_of(shape).to(dtype)
    norm = norm_of(shape[1], learns_scale)
    found = everything(fused, norm.float(), images.to(device))
    expected = everything(defined, norm.double(), images.double())
    check(found, expected, 2e-5 if dtype == torch.float32 else 1e-2)


@DEVICES
@pytest.mark.parametrize("n_programs", [1, 5])
def test_programs_that_take_many_tiles_each_give_the_same(device, n_programs, monkeypatch):
    from twofold.regression import _fused_norm

    monkeypatch.setattr(_fused_norm, "N_PROGRAMS", n_programs)
    images, norm = images_of((13, 64, 9, 7)), norm_of(64)
    found = everything(fused, norm.float(), images.float().to(device))
    check(found, everything(defined, norm.double(), images.float().double()), 2e-5)


@DEVICES
def test_a_mean_that_is_far_larger_than_the_spread_costs_no_variance(device):
    images = images_of((40, 100, 9, 9), mean=1000, std=1).float()
    norm = norm_of(100)
    found = everything(fused, norm.float(), images.to(device))
    expected = everything(defined, norm.double(), images.double())
    error = (found["running_var"] - expected["running_var"]).abs().max()
    assert error < 1e-5 * expected["running_var"].max()
    check(found, expected, 1e-3)  # the mean itself has seven digits


@DEVICES
def test_without_weights_images_are_only_normalised(device):
    from twofold.regression._fused_norm import FusedNormGelu

    images = images_of((4, 24, 5, 5)).float().to(device).requires_grad_()
    plain = nn.BatchNorm2d(24, affine=False).to(device)
    running = [values.clone() for values in plain.buffers()]
    outputs = FusedNormGelu.apply(images, None, None, *running, plain.momentum, plain.eps)
    expected = nn.functional.gelu(plain(images))
    torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-5)
    outer = outer_of(images)
    (gradient,) = torch.autograd.grad(outputs, images, outer)
    (expected_gradient,) = torch.autograd.grad(expected, images, outer)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-5)


@DEVICES
def test_a_gradient_in_another_order_of_memory_is_the_same_gradient(device):
    images = images_of((4, 24, 5, 5)).float().to(device).requires_grad_()
    norm = norm_of(24).float().to(device)
    outer = outer_of(images).contiguous()
    assert not outer.is_contiguous(memory_format=torch.channels_last)
    found = [
        torch.autograd.grad(fused(norm, images), images, given)[0]
        for given in (outer, outer.contiguous(memory_format=torch.channels_last))
    ]
    assert found[0].equal(found[1])


@DEVICES
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_a_number_is_seen(device, wrong):
    images = images_of((4, 24, 5, 5)).float()
    images[2, 7, 1, 1] = wrong
    outputs = fused(norm_of(24).float().to(device), images.to(device).requires_grad_())
    is_lost = outputs.detach().isnan().cpu()
    assert is_lost[:, 7].all()
    assert not is_lost[:, :7].any()
    assert not is_lost[:, 8:].any()


@pytest.mark.skipif(not HAS_TRITON, reason="there is no Triton")
@pytest.mark.skipif(IS_INTERPRETED, reason="it would start itself")
def test_the_kernels_pass_in_triton_s_interpreter():
    import triton

    versions = [
        tuple(map(int, text.split(".")[:2])) for text in (triton.__version__, np.__version__)
    ]
    if versions[0] < (3, 7) and versions[1] >= (2, 4):
        pytest.skip("the interpreter of Triton before 3.7 takes no loop's bounds with NumPy 2.4")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]


# ---- the chain ----


def chain_of(n_channels: int = 24) -> Chain:
    torch.manual_seed(0)
    norms = [nn.BatchNorm2d(n_channels, momentum=0.4) for _ in range(2)]
    convolutions = [  # of a bias before a norm the gradient is noise
        nn.Conv2d(3, n_channels, 3, padding=1, bias=False),
        nn.Conv2d(n_channels, n_channels, 1, bias=False),
    ]
    return Chain(
        *(convolutions[0], norms[0], nn.GELU(), convolutions[1], norms[1]),
        *(nn.GELU(), nn.Flatten(), nn.Linear(n_channels * 36, 4)),
    )


def as_sequential(chain: Chain) -> nn.Sequential:
    return nn.Sequential(*copy.deepcopy(chain))


@pytest.fixture
def kernels(monkeypatch):
    """Note each call of the kernels; what they do is torch's then."""

    class FusedNormGelu:
        calls = 0

        @classmethod
        def apply(cls, images, weight, bias, mean, var, n_batches, momentum, eps):
            cls.calls += 1
            n_batches += 1
            given = (images, mean, var, weight, bias, True, momentum, eps)
            return nn.functional.gelu(nn.functional.batch_norm(*given))

    class Kernels:
        pass

    Kernels.FusedNormGelu = FusedNormGelu
    monkeypatch.setattr(module, "_fused_norm", lambda: Kernels)
    return FusedNormGelu


@pytest.fixture
def on_gpu(monkeypatch):
    """Have images count as those of a GPU."""
    is_for_kernel = module._is_for_kernel

    class Images:
        def __init__(self, values):
            self._values = values

        is_cuda = True

        def __getattr__(self, name):
            return getattr(self._values, name)

    monkeypatch.setattr(module, "Tensor", (Tensor, Images))
    monkeypatch.setattr(
        module,
        "_is_for_kernel",
        lambda layers, values: is_for_kernel(layers, Images(values)),
    )


def step(network: nn.Module, images: Tensor) -> list[Tensor]:
    """Return the outputs, the gradients and the buffers after a step without moving weights."""
    outputs = network(images)
    outputs.square().sum().backward()
    gradients = [weights.grad for weights in network.parameters()]
    return [outputs.detach(), *gradients, *(values.clone() for values in network.buffers())]


def small_images(layout: torch.memory_format = torch.channels_last) -> Tensor:
    return images_of((5, 3, 6, 6)).float().contiguous(memory_format=layout)


def test_on_a_cpu_it_is_torch_s(kernels):
    chain = chain_of()
    other = as_sequential(chain)
    for found, expected in zip(
        step(chain, small_images()), step(other, small_images()), strict=True
    ):
        assert found.equal(expected)
    assert kernels.calls == 0


def test_it_has_the_keys_and_the_layers_of_a_sequential():
    chain = chain_of()
    other = as_sequential(chain)
    assert list(chain.state_dict()) == list(other.state_dict())
    assert [*map(type, chain)] == [*map(type, other)]
    other.load_state_dict(chain.state_dict())


@pytest.mark.usefixtures("on_gpu")
def test_in_training_each_norm_with_a_gelu_behind_it_goes_to_the_kernels(kernels):
    chain = chain_of()
    other = as_sequential(chain)
    for found, expected in zip(
        step(chain, small_images()), step(other, small_images()), strict=True
    ):
        torch.testing.assert_close(found, expected)
    assert kernels.calls == 2


def evaluated(chain: Chain) -> Chain:
    return chain.eval()


def with_hook(chain: Chain) -> Chain:
    for place in (2, 4):
        chain[place].register_forward_hook(lambda *_: None)
    return chain


def with_mean_of_all_batches(chain: Chain) -> Chain:
    chain[1].momentum = chain[4].momentum = None
    return chain


def with_another_gelu(chain: Chain) -> Chain:
    chain[2] = chain[5] = nn.GELU("tanh")
    return chain


def with_shared_statistics(chain: Chain) -> Chain:
    class Shared(nn.BatchNorm2d):
        pass

    for place in (1, 4):
        chain[place] = Shared(24)
    return chain


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize(
    "change",
    [evaluated, with_hook, with_mean_of_all_batches, with_another_gelu, with_shared_statistics],
)
def test_all_else_is_torch_s(kernels, change):
    chain = change(chain_of())
    chain(small_images())
    assert kernels.calls == 0


@pytest.mark.usefixtures("on_gpu")
def test_images_in_another_order_of_memory_are_torch_s(kernels):
    chain_of()(small_images(torch.contiguous_format))
    assert kernels.calls == 0


@pytest.mark.usefixtures("on_gpu")
def test_what_learns_nothing_is_torch_s(kernels):
    with torch.no_grad():
        chain_of()(small_images())
    assert kernels.calls == 0


@pytest.mark.usefixtures("on_gpu", "kernels")
def test_hooks_see_every_layer():
    chain = chain_of()
    seen = []
    for place, layer in enumerate(chain):
        layer.register_forward_hook(lambda *_, place=place: seen.append(place))
    chain(small_images())
    assert seen == list(range(len(chain)))


@pytest.mark.parametrize("name", ["fast-conv", "deep-conv"])
def test_fast_networks_have_it_wherever_a_gelu_is_behind_a_norm(name):
    network = build_network(name, (3, 32, 32), 4)
    for parent in network.modules():
        layers = [*parent.children()]
        has_pair = any(
            isinstance(first, nn.BatchNorm2d) and isinstance(second, nn.GELU)
            for first, second in itertools.pairwise(layers)
        )
        assert isinstance(parent, Chain) or not has_pair


# ---- on a GPU ----


def cuda_step(network: nn.Module, images: Tensor) -> list[Tensor]:
    for weights in network.parameters():
        weights.grad = None
    with torch.autocast("cuda", dtype=torch.bfloat16):
        outputs = network(images)
    outputs.float().square().sum().backward()
    gradients = [weights.grad for weights in network.parameters()]
    return [outputs.detach(), *gradients, *network.buffers()]


def close_to(found: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        size = float(other.double().norm()) + 1e-6
        assert float((one.double() - other.double()).norm()) < 0.05 * size


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=NEEDS_CUDA)])
def test_under_autocast_the_chain_gives_what_torch_s_layers_give(device):
    chain = chain_of(64).to(device, memory_format=torch.channels_last)
    other = as_sequential(chain)
    images = small_images().to(device)
    found, expected = cuda_step(chain, images), cuda_step(other, images)
    close_to(found, expected)
    assert [values.dtype for values in found] == [values.dtype for values in expected]
    with torch.autocast(device, dtype=torch.bfloat16):
        outputs = chain[:3](images)
        expected_type = other[:3](images).dtype
    assert "FusedNormGelu" in type(outputs.grad_fn).__name__
    assert outputs.dtype == expected_type == torch.bfloat16
    assert outputs.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=NEEDS_CUDA)])
def test_a_recorded_step_is_replayed_with_new_images(device):
    chain = chain_of(64).to(device, memory_format=torch.channels_last)
    other = copy.deepcopy(chain)
    images = small_images().to(device)
    for _ in range(3):
        cuda_step(chain, images)
        cuda_step(other, images)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        recorded = cuda_step(chain, images)
    for number in range(3):
        images.copy_(small_images().to(device).mul(number + 1).add(number))
        graph.replay()
        close_to(recorded, cuda_step(other, images))
    assert int(chain[1].num_batches_tracked) == int(other[1].num_batches_tracked) == 6


def striped_images(classes: np.ndarray) -> np.ndarray:
    """Images of four classes, each with a stripe of its own under noise."""
    images = np.random.default_rng(0).integers(0, 160, size=(len(classes), 3, 16, 16))
    for item, number in enumerate(classes):
        images[item, :, 4 * number : 4 * number + 4] += 60
    return images.astype(np.uint8)


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=NEEDS_CUDA)])
def test_a_training_ends_as_well_with_the_kernels_as_without(device, monkeypatch):
    classes = np.arange(1200) % 4
    images, targets = striped_images(classes), np.eye(4, dtype=np.float32)[classes]
    rate = {"optimiser": "muon", "schedule": "linear", "device": device}
    config = TrainingConfig("fast-conv", 4, 100, 0.1, **rate)
    given = []
    apply = module._apply
    monkeypatch.setattr(module, "_apply", lambda *some: given.append(some[1]) or apply(*some))
    shares, errors = [], []
    for has_kernels in (True, False):
        if not has_kernels:
            monkeypatch.setattr(module, "_fused_norm", lambda: None)
        given.clear()
        training, test = np.arange(800), np.arange(800, 1200)
        fitted = fit_embedder(config, images[training], targets[training], np.random.default_rng(1))
        assert bool(given) == has_kernels
        points = fitted.embedder.predict(images[test])
        shares.append((points.argmax(axis=1) == classes[test]).mean())
        errors.append(np.square(points - targets[test]).sum(axis=1).mean())
    assert min(shares) > 0.97
    assert max(errors) < 0.06  # of .75 for guesses; narrow networks reach .01 to .015 on a CPU
    assert abs(errors[0] - errors[1]) < 0.03
