"""What all suites share: one thread, one browser, and Hypothesis without a clock."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

CHROMIUM = Path("/usr/bin/chromium")

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


@pytest.fixture(scope="session")
def browser():
    """One for all pages: Playwright runs once in a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
