"""The page of a session in a real browser: light, dark with what tools did unfolded, and on a phone."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scripts.screenshots.story import checkout_story

from sessiond.export.html import to_html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import a_browser, expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, a_browser() as browser:
        page = Path(work) / "session.html"
        page.write_bytes(to_html(checkout_story().whole(), ConversionLosses()))
        draw(browser, page.as_uri(), folder / "page-light.png", (1100, 560))
        draw(browser, f"{page.as_uri()}?targetId=e16", folder / "page-dark.png", (1100, 600), "dark", "o")
        draw(browser, page.as_uri(), folder / "page-narrow.png", (390, 720))


def draw(
    browser: "Browser", address: str, picture: Path, size: tuple[int, int],
    scheme: Literal["light", "dark"] = "light", keys: str = "", *, contrast: bool = False,
) -> None:  # fmt: skip
    """Draw the page at an address into a PNG file.

    Args:
        browser: The browser.
        address: The address of the page.
        picture: The file.
        size: The width and the height of the window.
        scheme: The colors that the user prefers.
        keys: The keys to press, one after the other.
        contrast: Whether the system forces its high-contrast colors.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, timezone_id="UTC", locale="en-GB",
        reduced_motion="reduce", forced_colors="active" if contrast else "none",
    )  # fmt: skip
    page = context.new_page()
    page.goto(address)
    expect(page.locator("#path article").first).to_be_visible()
    for key in keys:
        page.keyboard.press("End" if key == "G" else key)
    if "?" in address:  # the element has moved, because content above it was unfolded
        page.locator("article.target").evaluate("it => it.scrollIntoView({block: 'start'})")
    page.screenshot(path=picture, animations="disabled", caret="hide")
    context.close()
