"""A real Neovim with the plugin of this repository, as a person uses it: keys in, a screen out."""

import contextlib
import json  # noqa: TID251 - what a reader of --json would use
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pynvim

from sessiond.paths import Locations
from support.homes import environment, wait_until
from support.installed_editors import PROJECT, installed
from support.patience import BOUND

PLUGIN = PROJECT / "editors/nvim"

_SCREEN = """
vim.cmd.redraw({ bang = true })
local lines = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  lines[row] = (table.concat(cells):gsub('%s+$', ''))
end
return lines
"""


class Neovim:
    """One Neovim, with its screen."""

    def __init__(self, rpc: pynvim.Nvim) -> None:
        self.rpc = rpc

    def lua(self, code: str, *arguments: Any) -> Any:
        """The value that Lua code returns; `...` are the arguments."""
        return self.rpc.exec_lua(code, *arguments)

    def command(self, command: str) -> None:
        self.rpc.command(command)

    def keys(self, keys: str) -> None:
        """Type keys, in the notation of mappings."""
        self.rpc.input(keys)

    def screen(self) -> list[str]:
        """Return the screen, line by line, without blanks at the ends."""
        found: list[str] = self.lua(_SCREEN)
        return found

    def see(self, *texts: str) -> list[str]:
        """Wait until all of the texts are on the screen, and return that."""
        return self.until_screen(
            lambda lines: all(any(text in line for line in lines) for text in texts), texts
        )

    def see_not(self, *texts: str) -> list[str]:
        """Wait until none of the texts is on the screen."""
        return self.until_screen(
            lambda lines: not any(text in line for line in lines for text in texts), ("no", *texts)
        )

    def until_screen(self, holds: Callable[[list[str]], bool], what: object) -> list[str]:
        deadline = time.monotonic() + BOUND
        while not holds(lines := self.screen()):
            assert time.monotonic() < deadline, f"{what!r} did not come:\n" + "\n".join(lines)
            time.sleep(0.02)
        return lines

    def until(self, expression: str, *arguments: Any, bound: float = BOUND) -> Any:
        """Wait until a Lua expression is true, and return its value."""
        deadline = time.monotonic() + bound
        while not (value := self.lua(f"return {expression}", *arguments)):
            assert time.monotonic() < deadline, f"{expression} did not come true; {self.messages()}"
            time.sleep(0.02)
        return value

    def messages(self) -> str:
        said: str = self.rpc.call("execute", "messages")
        return said

    def lines(self) -> list[str]:
        """The current buffer."""
        return list(self.rpc.current.buffer[:])


@contextlib.contextmanager
def a_neovim(
    locations: Locations,
    folder: Path,
    *,
    terminal: str = "one",
    columns: int = 100,
    lines: int = 24,
    options: dict[str, Any] | None = None,
    program: str = "nvim-0.11",
) -> Iterator[Neovim]:
    """A Neovim in `folder` that uses the daemon of `locations`. It ends with the block, also after an error.

    `options` is `vim.g.sessiond`; the command of the daemon is this Python's, and calls wait as long as tests do.
    """
    chosen = {
        "command": [sys.executable, "-m", "sessiond"],
        "timeout": int(BOUND * 1000),
        **(options or {}),
    }
    address = Path(str(locations.home)) / f"nvim-{uuid.uuid4().hex[:8]}.sock"
    command = [
        installed(program), "--headless", "--clean", "-n", "-i", "NONE", "--listen", str(address),
        "--cmd", f"lua vim.g.sessiond = vim.json.decode([==[{json.dumps(chosen)}]==])",
        "--cmd", f"set rtp^={PLUGIN}",
        "--cmd", "set shortmess+=I noswapfile",
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(locations, terminal),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_until(lambda: _listens(address), BOUND)
            rpc = pynvim.attach("socket", path=str(address))
            try:
                rpc.ui_attach(columns, lines, rgb=True, ext_linegrid=True)
                yield Neovim(rpc)
                rpc.command("qall!", async_=True)
                process.wait(BOUND)
            finally:
                process.kill()
                process.wait(BOUND)
                # Read the end of the connection: pynvim releases the connection only after that.
                with contextlib.suppress(OSError, EOFError):
                    rpc.eval("1")
                rpc.close()
        finally:
            process.kill()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def _environment(locations: Locations, terminal: str) -> dict[str, str]:
    home = str(locations.home)
    own = {
        "SESSIOND_TERMINAL": terminal,
        **{
            f"XDG_{kind}_HOME": f"{home}/nvim-{kind.lower()}" for kind in ("STATE", "CONFIG", "DATA", "CACHE")
        },
    }
    unwanted = ("NVIM", "VIMRUNTIME", "VIM", "NVIM_APPNAME", "TMUX", "TMUX_PANE", "TERM_PROGRAM")
    return {name: value for name, value in environment(locations, **own).items() if name not in unwanted}
