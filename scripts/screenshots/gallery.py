"""The large session on every surface: light, dark, high contrast, narrow."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final, Literal

from scripts.screenshots import neovim, page, terminal, vscode
from scripts.screenshots.large_story import LEAF, TITLE, large_story
from scripts.screenshots.story import ID

from sessiond.export.html import to_html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import a_browser, expect
from support.browsing import MAX_BATCH, a_desk, a_screen_of
from support.commands import Shell, a_shell
from support.neovim import a_neovim
from support.stories import Teller
from support.workbench import a_window
from support.workbench_server import a_server

_SEEN: Final = LEAF[:24]
"""The part of the leaf that a narrow row shows, too."""
_PAGES: Final[dict[str, tuple[tuple[int, int], Literal["light", "dark"], bool]]] = {
    "page-light": ((1200, 700), "light", False),
    "page-dark": ((1200, 700), "dark", False),
    "page-contrast": ((1200, 700), "dark", True),
    "page-narrow": ((390, 760), "light", False),
}
_THEMES: Final = {
    "vscode-light": ("Default Light Modern", 1300),
    "vscode-dark": ("Default Dark Modern", 1300),
    "vscode-contrast": ("Default High Contrast", 1300),
    "vscode-contrast-light": ("Default High Contrast Light", 1300),
    "vscode-narrow": ("Default Dark Modern", 800),
}
_SCREENS: Final = {
    "terminal-dark": (110, terminal.DARK),
    "terminal-light": (110, terminal.LIGHT),
    "terminal-narrow": (44, terminal.DARK),
}
_COMMANDS: Final = (("list",), ("search", "wait"), ("tree", ID[:8], "--filter", "labeledOnly"))
_EDITORS: Final = {
    "neovim-dark": (110, "dark"),
    "neovim-light": (110, "light"),
    "neovim-narrow": (64, "dark"),
}


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, a_shell(Path(work) / "shop") as shell:
        shell.folder.mkdir()
        _tell(shell)
        for name, columns in (("commands-wide", 110), ("commands-narrow", 40)):
            terminal.write_commands(shell, _COMMANDS, folder / f"{name}.svg", columns)
        _draw_neovim(shell, folder)
        _draw_vscode(shell, folder)
    asyncio.run(_draw_terminal(folder))
    _draw_pages(folder)


def _tell(shell: Shell) -> None:
    """Let a daemon store the session."""
    entries = large_story().entries
    teller = Teller(shell.locations, shell.folder)
    teller.create(ID, *entries[:MAX_BATCH], title=TITLE)
    for start in range(MAX_BATCH, len(entries), MAX_BATCH):
        teller.append(ID, *entries[start : start + MAX_BATCH])


def _draw_pages(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as work, a_browser() as browser:
        file = Path(work) / "session.html"
        file.write_bytes(to_html(large_story().whole(TITLE), ConversionLosses()))
        for name, (size, scheme, contrast) in _PAGES.items():
            page.draw(browser, file.as_uri(), folder / f"{name}.png", size, scheme, "G", contrast=contrast)


async def _draw_terminal(folder: Path) -> None:
    async with a_desk(*large_story().entries, title=TITLE) as desk:
        for name, (columns, colors) in _SCREENS.items():
            async with a_screen_of(desk, (columns, 24), pane=columns > 80) as screen:
                await screen.see("19,987/19,987")
                terminal.write(screen, folder / f"{name}.svg", colors)


def _draw_neovim(shell: Shell, folder: Path) -> None:
    for name, (columns, background) in _EDITORS.items():
        with a_neovim(shell.locations, shell.folder, columns=columns, lines=24) as nvim:
            neovim.prepare(nvim, background)
            nvim.command(f"Sessiond tree {ID}")
            nvim.see("◀ leaf")
            nvim.keys(":<Esc>")
            neovim.write(nvim, folder / f"{name}.svg")


def _draw_vscode(shell: Shell, folder: Path) -> None:
    with a_browser() as browser, a_server("--disable-workspace-trust") as server:
        for name, (theme, width) in _THEMES.items():
            settings = {"workbench.colorTheme": theme}
            with a_window(browser, server, shell.folder, shell.locations, **settings) as window:
                window.page.set_viewport_size({"width": width, "height": 760})
                window.open_session(TITLE, _SEEN)
                window.command("sessiond: Show Transcript")
                last = window.webview().locator("#path article").last
                expect(last).to_contain_text(LEAF)
                expect(window.webview().locator("#live")).to_have_text("live")
                expect(last).to_be_in_viewport()
                vscode.write(window, folder / f"{name}.png")
