"""What all suites share: one thread, and Hypothesis without a clock and with the same examples."""

from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays to the end: modules, and the tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Threads that wait for one another cost more than they give on problems of this size."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
