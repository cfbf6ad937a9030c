"""The extension at work in the real workbench: a transcript, a search, and the handover of a session."""

import tempfile
from pathlib import Path

from scripts.screenshots.story import LEAF, TITLE, tell

from support.browsers import a_browser, expect
from support.commands import a_shell
from support.stories import Teller
from support.workbench import Window, a_window
from support.workbench_server import a_server

_SIZE = (1240, 780)


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        a_shell(Path(work) / "atlas") as shell,
        a_browser() as browser,
        a_server("--disable-workspace-trust") as server,
    ):
        shell.folder.mkdir()
        tell(Teller(shell.locations, shell.folder), Path(work))
        for agent in ("claude", "codex", "gemini", "opencode", "pi"):  # the list names the installed versions
            program = server.folder / "bin" / agent
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n", encoding="utf-8")
            program.chmod(0o755)
        with a_window(browser, server, shell.folder, shell.locations) as window:
            window.page.set_viewport_size({"width": _SIZE[0], "height": _SIZE[1]})
            _widen_side_bar(window, 130)
            window.open_session(TITLE, "Good. Say it in one line")
            window.command("sessiond: Show Transcript")
            expect(window.webview().locator("#path")).to_contain_text(LEAF)
            expect(window.labels.row("fixed")).to_be_visible()
            write(window, folder / "transcript.png")
            window.command("sessiond: Search Sessions")
            window.type_into_picker("slow")
            expect(window.options.filter(has_text="sharing one saves").first).to_be_visible()
            write(window, folder / "search.png")
            window.page.keyboard.press("Escape")
            window.tree.menu("Good. Say it in one line", "Resume from Here in Another Agent…")
            expect(window.options.filter(has_text="Codex")).to_be_visible()
            write(window, folder / "resume.png")


def _widen_side_bar(window: Window, pixels: int) -> None:
    border = window.page.locator(".part.sidebar").bounding_box()
    assert border is not None
    mouse, x = window.page.mouse, border["x"] + border["width"]
    mouse.move(x, 300)
    mouse.down()
    mouse.move(x + pixels, 300, steps=4)
    mouse.up()


def write(window: Window, path: Path) -> None:
    """Draw the window into a PNG file. The position of the mouse changes nothing."""
    window.page.mouse.move(_SIZE[0] / 2, _SIZE[1] - 60)
    expect(window.page.locator(".monaco-hover:visible")).to_have_count(0)
    window.page.screenshot(path=path, animations="disabled", caret="hide")
