"""What is said when another process of a training is gone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import torch

from twofold.regression._lost_workers import LostWorkerError, losses_said, way_out_said

PATH = Path("kept.safetensors")


@pytest.fixture(autouse=True)
def _sigterm_ends_processes_again():
    yield
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_this_process():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[gloo/transport/tcp/pair.cc:537] Read error: Connection reset by peer."),
        RuntimeError("Gloo connectFullMesh failed with timed out"),
        torch.distributed.DistBackendError("NCCL communicator was aborted"),
        torch.distributed.DistNetworkError("Failed to recv"),
    ],
)
def test_a_broken_connection_becomes_a_sentence(error):
    match = r"Another process .* died, ended"
    with pytest.raises(LostWorkerError, match=match) as caught, losses_said():
        raise error
    assert caught.value.__cause__ is error


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="mat1 and mat2") as caught, losses_said():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    assert type(caught.value) is RuntimeError


@pytest.mark.parametrize(
    ("checkpoint", "way_out"),
    [
        (
            PATH,
            "kept in kept.safetensors: start the same again, with as many processes or with one",
        ),
        (None, r"start again. Network\(checkpoint=...\) keeps a training"),
    ],
)
def test_the_sentence_says_how_to_go_on(checkpoint, way_out):
    with pytest.raises(LostWorkerError, match=way_out), way_out_said(checkpoint):
        raise LostWorkerError("gone")


def test_sigterm_ends_a_training_with_the_same_sentence_and_leaves_time_to_say_it():
    match = r"died, ended, .* kept in kept.safetensors"
    with pytest.raises(LostWorkerError, match=match), way_out_said(PATH):
        end_this_process()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_after_a_training_sigterm_is_what_it_was():
    with way_out_said(None):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_user_s_own_is_left_alone():
    def handler(*_):
        pass

    signal.signal(signal.SIGTERM, handler)
    with way_out_said(None):
        assert signal.getsignal(signal.SIGTERM) is handler
    assert signal.getsignal(signal.SIGTERM) is handler
