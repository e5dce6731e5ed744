"""The device that a word stands for."""

from __future__ import annotations

import pytest
import torch

from twofold._core.devices import resolve_device, said_of_idle_devices

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


# Processes that torchrun started


@pytest.fixture
def second_of_two(monkeypatch):
    for name, value in {
        "TORCHELASTIC_RUN_ID": "none",
        "RANK": "3",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "2",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("two_gpus", "second_of_two")
@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_each_process_of_a_machine_takes_its_own_cuda_device(device):
    assert resolve_device(device) == "cuda:1"
    assert resolve_device("cpu") == "cpu"


@pytest.mark.usefixtures("two_gpus", "second_of_two")
def test_one_cuda_device_for_several_processes_is_refused():
    with pytest.raises(ValueError, match="'cuda:0' is one device, but torchrun started 2 proc"):
        resolve_device("cuda:0")


@pytest.mark.usefixtures("two_gpus", "second_of_two")
@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_more_processes_than_cuda_devices_are_refused(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match=r"2 processes .* 1 CUDA .* --nproc-per-node 1, or use"):
        resolve_device(device)


@pytest.mark.usefixtures("two_gpus")
def test_how_idle_cuda_devices_are_used_is_said(monkeypatch):
    assert "one of 2 CUDA devices is used" in said_of_idle_devices("cuda")
    assert "--nproc-per-node 2" in said_of_idle_devices("cuda:1")
    assert said_of_idle_devices("cpu") is None
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert said_of_idle_devices("cuda") is None


@pytest.mark.usefixtures("two_gpus", "second_of_two")
def test_processes_that_train_together_leave_no_device_idle():
    assert said_of_idle_devices("cuda:1") is None
