"""The extension at work in the real workbench, on the session that the pictures of Neovim tell, too."""

import tempfile
from pathlib import Path

from scripts.screenshots.neovim import tell

from support.browsers import a_browser, expect
from support.commands import a_shell
from support.stories import Teller
from support.workbench import Window, a_window
from support.workbench_server import a_server

_SIZE = (1120, 680)
_TITLE = "The parser drops the last line"


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
        tell(Teller(shell.locations, Path("/home/ada/atlas")))
        with a_window(browser, server, shell.folder, shell.locations) as window:
            window.page.set_viewport_size({"width": _SIZE[0], "height": _SIZE[1]})
            window.open_session(_TITLE, "The parser keeps the rest")
            window.command("sessiond: Show Transcript")
            expect(window.webview().locator("#path")).to_contain_text("The parser keeps the rest")
            _write(window, folder / "transcript.png")
            window.command("sessiond: Search Sessions")
            window.type_into_picker("failing test")
            expect(window.options.filter(has_text="failing test").first).to_be_visible()
            _write(window, folder / "search.png")


def _write(window: Window, path: Path) -> None:
    window.page.mouse.move(_SIZE[0] / 2, _SIZE[1] - 60)
    window.page.screenshot(path=path, animations="disabled", caret="hide")
