"""One server for all that only talk to it; one browser, and a server with records for the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from asked_page import PageServer
from running import Running, write_pictures

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all that only talk to it; at its end it said nothing of errors."""
    folder = tmp_path_factory.mktemp("ask")
    running = Running(write_pictures(folder / "pictures"))
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def page_server(browser, tmp_path_factory):
    """Comes after the browser, so that nothing is started where there is none."""
    running = PageServer(tmp_path_factory.mktemp("records"))
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture
def window(browser):
    """A window with no cookies and no storage of another test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(window, page_server):
    """The page, opened by its link; at the end nothing went wrong, and nothing went elsewhere."""
    wrongs: list[str] = []
    window.on(
        "console", lambda said: said.type in ("error", "warning") and wrongs.append(said.text)
    )
    window.on("pageerror", lambda error: wrongs.append(str(error)))
    own = tuple(
        page_server.origin.replace("http", scheme, 1) for scheme in ("http", "ws", "blob:http")
    )
    window.on("request", lambda asked: asked.url.startswith(own) or wrongs.append(asked.url))
    window.goto(page_server.link)
    window.wait_for_selector(".question")
    yield window
    assert wrongs == []
