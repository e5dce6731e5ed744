"""The device that a word stands for."""

from __future__ import annotations

import pytest
import torch

from twofold._core.devices import resolve_device

no_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")


def test_cpu_is_the_cpu():
    assert resolve_device("cpu") == "cpu"
    assert resolve_device(torch.device("cpu")) == "cpu"


def test_auto_takes_cuda_where_there_is_one():
    assert resolve_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["gpu", "", "CPU", None, 0, "mps"])
def test_a_word_that_stands_for_no_device_is_refused(device):
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda'") as caught:
        resolve_device(device)
    assert repr(device) in str(caught.value)


@no_cuda
@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_cuda_where_there_is_none_is_refused(device):
    with pytest.raises(ValueError, match=rf"device='{device}' is not available: .* sees 0 CUDA"):
        resolve_device(device)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
def test_cuda_devices_are_taken_by_number():
    assert resolve_device("auto") == "cuda"
    assert resolve_device("cuda") == "cuda"
    assert resolve_device("cuda:1") == "cuda:1"


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["cuda:2", "cuda:-1", "cuda:x", "cuda:", "cuda0", "cudax"])
def test_a_cuda_device_that_is_not_there_is_refused(device):
    with pytest.raises(ValueError, match=f"'{device}'"):
        resolve_device(device)
