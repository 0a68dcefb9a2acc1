"""A real browser: Chromium from the system, driven by playwright, kept to this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_CHROMIUM = shutil.which("chromium")
#: Without the last two it looks up names of its maker.
_OPTIONS = [
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-features=OptimizationHints,MediaRouter,DnsOverHttps,AsyncDns",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    if _CHROMIUM is None:
        pytest.skip("`ops/test --all` installs chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_CHROMIUM, headless=True, args=[*_OPTIONS, *sandbox]
        )
        with closing(browser):
            yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page as wide as a screen; whatever it asks of another machine fails the test."""
    with browser.new_context(viewport={"width": 1600, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(20_000)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        yield page
        assert [url for url in asked if not url.startswith("http://127.0.0.1:")] == []
