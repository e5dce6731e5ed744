"""One server for all that only talk to it, and one with records for the page."""

from __future__ import annotations

import pytest
from asked_page import PageServer
from running import Running, write_pictures

DESKTOP = {"width": 1280, "height": 800}
EMPTY = "<!doctype html><link rel=icon href=data:,>"
PATIENCE = 120_000
"""Milliseconds: a server that starts on a busy machine takes half a minute."""


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all that only talk to it; at its end it said nothing of errors."""
    folder = tmp_path_factory.mktemp("ask")
    running = Running(write_pictures(folder / "pictures"))
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(scope="session")
def page_server(browser, tmp_path_factory):
    """Comes after the browser, so that nothing is started where there is none."""
    running = PageServer(tmp_path_factory.mktemp("records"))
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(scope="session")
def tab(browser):
    """One tab for all: each new one would be two processes more, and the page compiled anew."""
    context = browser.new_context(viewport=DESKTOP)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def window(tab, page_server):
    """The tab as it was at first, with no cookies and no storage of another test."""
    yield tab
    # A page of the same origin keeps the tab's process; this one stores and fetches nothing.
    empty = f"{page_server.origin}/empty"
    tab.route(empty, lambda asked: asked.fulfill(content_type="text/html", body=EMPTY))
    tab.goto(empty)
    tab.unroute(empty)
    tab.context.clear_cookies()
    kept = {"origin": page_server.origin, "storageTypes": "all"}
    session = tab.context.new_cdp_session(tab)
    session.send("Storage.clearDataForOrigin", kept)
    session.detach()
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(DESKTOP)


@pytest.fixture
def page(window, page_server):
    """The page, opened by its link; at the end nothing went wrong, and nothing went elsewhere."""
    wrongs: list[str] = []
    own = tuple(
        page_server.origin.replace("http", scheme, 1) for scheme in ("http", "ws", "blob:http")
    )
    listeners = {
        "console": lambda said: said.type in ("error", "warning") and wrongs.append(said.text),
        "pageerror": lambda error: wrongs.append(str(error)),
        "request": lambda asked: asked.url.startswith(own) or wrongs.append(asked.url),
    }
    for event, listener in listeners.items():
        window.on(event, listener)
    window.goto(page_server.link)
    window.wait_for_selector(".question")
    yield window
    for event, listener in listeners.items():
        window.remove_listener(event, listener)
    assert wrongs == []
