"""The page and the webview as axe-core checks them: no violation, in any colors, on a screen and on a phone."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from sessiond.export.html import to_html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import Watched, expect
from support.pages import Story, call
from support.webviews import Webview

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]

EVERYTHING = r"""# Title

Text with $x^2$, `code`, ~~old~~, <kbd>Ctrl</kbd>, a [link](https://example.org) and a note[^1].

| name | share |
|:-----|------:|
| a    | 80 %  |

- [x] done
- [ ] open

> A quote.

<details>
<summary>More</summary>

```python
def f(): return "text"  # comment
```
</details>

$$\frac{a}{b}$$

[^1]: The note.
"""

COLORS = {
    "vscode-light": {
        "list-inactiveSelectionBackground": "#e4e6f1",
        "badge-background": "#cccccc", "badge-foreground": "#3b3b3b",
        "editor-background": "#ffffff", "editor-foreground": "#3b3b3b", "sideBar-background": "#f8f8f8",
        "descriptionForeground": "#3b3b3b", "panel-border": "#e5e5e5", "textLink-foreground": "#005fb8",
        "textBlockQuote-background": "#f8f8f8", "errorForeground": "#c72e2e", "textCodeBlock-background": "#f8f8f8",
        "gitDecoration-addedResourceForeground": "#587c0c", "button-background": "#005fb8",
        "button-foreground": "#ffffff", "input-background": "#ffffff", "input-border": "#cecece",
    },
    "vscode-dark": {
        "list-inactiveSelectionBackground": "#37373d",
        "badge-background": "#616161", "badge-foreground": "#f8f8f8",
        "editor-background": "#1f1f1f", "editor-foreground": "#cccccc", "sideBar-background": "#181818",
        "descriptionForeground": "#9d9d9d", "panel-border": "#2b2b2b", "textLink-foreground": "#4daafc",
        "textBlockQuote-background": "#2b2b2b", "errorForeground": "#f85149", "textCodeBlock-background": "#2b2b2b",
        "gitDecoration-addedResourceForeground": "#81b88b", "button-background": "#0078d4",
        "button-foreground": "#ffffff", "input-background": "#313131", "input-border": "#3c3c3c",
    },
    "vscode-high-contrast": {
        "contrastActiveBorder": "#f38518",
        "badge-background": "#000000", "badge-foreground": "#ffffff",
        "editor-background": "#000000", "editor-foreground": "#ffffff", "sideBar-background": "#000000",
        "descriptionForeground": "#ffffffb3", "contrastBorder": "#6fc3df", "textLink-foreground": "#21a6ff",
        "errorForeground": "#f48771", "gitDecoration-addedResourceForeground": "#a1e3ad",
        "button-foreground": "#ffffff", "input-background": "#000000", "input-border": "#6fc3df",
    },
    "vscode-high-contrast vscode-high-contrast-light": {
        "contrastActiveBorder": "#006bbd",
        "badge-background": "#0f4a85", "badge-foreground": "#ffffff",
        "editor-background": "#ffffff", "editor-foreground": "#292929", "sideBar-background": "#ffffff",
        "descriptionForeground": "#292929b3", "contrastBorder": "#0f4a85", "textLink-foreground": "#0f4a85",
        "textBlockQuote-background": "#f2f2f2", "errorForeground": "#b5200d", "textCodeBlock-background": "#f2f2f2",
        "gitDecoration-addedResourceForeground": "#374e06", "button-background": "#0f4a85",
        "button-foreground": "#ffffff", "input-background": "#ffffff", "input-border": "#0f4a85",
    },
}  # fmt: skip
"""Colors of VS Code's own themes, as a webview receives them."""


def story() -> Story:
    """Everything that a page can show: Markdown, thinking, calls that succeed and fail, a fork, a label, a summary."""
    found = Story()
    question = found.user("Why does **checkout** fail?")
    found.assistant(
        {"type": "thinking", "thinking": "Hmm."}, EVERYTHING, call("bash", command="pytest -x\nmake")
    )
    found.result("\n".join(f"a line that is long enough to scroll sideways {'x' * 200}" for _ in range(60)))
    found.assistant(call("edit", path="a.py", oldText="x = 1", newText="x = 2"))
    found.result("no such file", error=True)
    found.add("compaction", summary="What *was* said.", tokensBefore=1000)
    found.add("model_change", provider="anthropic", modelId="opus")
    first = found.assistant("It was a race.")
    found.add("label", targetId=first, label="found it")
    found.user("Are you sure?", parentId=question)
    found.assistant("No.")
    found.leaf = first
    return found


def violations(page: "Page | Frame") -> list[str]:
    """Return the findings of axe, each with the first elements that have it."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    result: dict[str, Any] = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:160]} {' '.join(node['failureSummary'].split())[:200]}"
        for rule in result["violations"]
        for node in rule["nodes"][:5]
    ]


@pytest.fixture
def opened(browser: "Browser", tmp_path: Path) -> Callable[..., Watched]:
    """Opens the page of the story with all of its filter and all folds open."""

    def open_(size: tuple[int, int], scheme: Literal["light", "dark"], *, forced: bool) -> Watched:
        file = tmp_path / "session.html"
        file.write_bytes(to_html(story().whole(), ConversionLosses()))
        watched = Watched(browser, size, scheme)
        watched.page.emulate_media(forced_colors="active" if forced else "none", reduced_motion="reduce")
        watched.page.goto(file.as_uri())
        expect(watched.page.locator("article").first).to_be_visible()
        return watched

    return open_


@pytest.mark.parametrize(("size", "scheme", "forced"), [
    ((1200, 900), "light", False), ((1200, 900), "dark", False), ((1200, 900), "dark", True),
    ((390, 844), "light", False), ((390, 844), "dark", False),
])  # fmt: skip
def test_axe_finds_nothing_on_the_page(
    opened: Callable[..., Watched], size: tuple[int, int], scheme: str, forced: bool
) -> None:
    watched = opened(size, scheme, forced=forced)
    page = watched.page
    assert violations(page) == []
    page.keyboard.press("o")
    page.keyboard.press("t")
    page.locator("#holds").click()
    page.get_by_label("What the tree shows").select_option("all", force=True)
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.locator("#transcript").focus()
    page.keyboard.press("?")
    assert violations(page) == []
    watched.context.close()
    assert watched.errors == []


@pytest.mark.parametrize("theme", COLORS)
def test_axe_finds_nothing_in_the_webview(browser: "Browser", theme: str) -> None:
    webview = Webview(browser, theme)
    webview.said("ready")
    webview.frame.evaluate(
        "colors => Object.entries(colors).forEach(([name, value]) =>"
        " document.documentElement.style.setProperty(`--vscode-${name}`, value))",
        COLORS[theme],
    )
    webview.receives(story())
    expect(webview.shown.locator("article").first).to_be_visible()
    assert violations(webview.frame) == []
    webview.shown.get_by_role("button", name="Tools").click()
    webview.shown.get_by_role("button", name="Thinking").click()
    assert violations(webview.frame) == []
    webview.close()
