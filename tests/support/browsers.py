"""A real Chromium that shows pages of this machine only. Its driver is loaded when a test first needs it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 60_000
"""A busy machine is slow."""


@contextmanager
def a_browser(*more: str) -> "Iterator[Browser]":
    """A browser that runs until the block ends. `more` has further words of its command line."""
    driver = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    driver.expect.set_options(timeout=PATIENCE_MS)
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=[*_QUIET, *more], timeout=PATIENCE_MS
        )
        try:
            yield browser
        finally:
            browser.close()


def expect(what: Any) -> Any:
    """The expectation of a test about a page or a part of it, which waits until the condition is met."""
    from playwright.sync_api import expect as expected

    return expected(what)


class Watched:
    """A page, its requests and its error messages."""

    def __init__(
        self,
        browser: "Browser",
        size: tuple[int, int] = (1200, 800),
        scheme: Literal["light", "dark"] = "light",
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog {dialog.message}"))
