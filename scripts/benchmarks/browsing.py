"""How soon `sessiond tree -i` shows the tree at its leaf: from the start of the process, against a running daemon."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from scripts.benchmarks.processes import sessiond
from scripts.benchmarks.report import Row, at_most, duration, middle, sampled
from scripts.benchmarks.session_files import write_session

_LIMIT = 0.15
"""Seconds in addition to those of importing Textual."""
_SEEN = "◀ leaf".encode()
_PATIENCE = 30.0
_EMPTY_APP = """
from textual.app import App
from textual.widgets import OptionList
class Empty(App):
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield OptionList("seen")
Empty().run()
"""
_EMPTY_SEEN = b"seen"


def measure(folder: Path, *, quick: bool) -> list[Row]:
    rounds = 1 if quick else 15
    home = folder / "home"
    rows = []
    with sessiond(home) as daemon:
        for entries in (300,) if quick else (300, 100_000):
            path = folder / f"session-{entries}.jsonl"
            write_session(path, f"bench-session-{entries}", entries)
            with daemon.connect() as client:
                client.call("session/open", {"path": str(path)})  # the session stays open
                _first_picture(home, path)
                turns = [
                    (_first_picture(home, path), _loading_textual(), _empty_app(folder))
                    for _ in range(rounds)
                ]
            took, bare, empty = (middle(row) for row in zip(*turns, strict=True))
            rows.append(
                sampled(
                    f"sessiond tree -i, {entries:,} entries, until the leaf is seen",
                    [value for value, _, _ in turns],
                    "s",
                    ratio=f"import textual.app ({duration(bare)}) + {duration(took - bare)}",
                    bar=f"+ {duration(_LIMIT)}",
                    verdict=at_most(took - bare, _LIMIT),
                    reason=f"A Textual application with one list shows it {duration(empty - bare)} after the import: "
                    "the first style, layout and drawing of a screen. The rest is the start of the command, the "
                    "connection, the pane's widgets and the rows.",
                )
            )
    return rows


def _first_picture(home: Path, path: Path) -> float:
    """Seconds from the start of the command until the row of the leaf has been drawn."""
    program = str(Path(sys.executable).with_name("sessiond"))
    return _until_drawn([program, "tree", "-i", str(path)], _SEEN, home)


def _empty_app(folder: Path) -> float:
    """Seconds from the start of a Textual application with an empty list until its border has been drawn."""
    return _until_drawn([sys.executable, "-c", _EMPTY_APP], _EMPTY_SEEN, folder)


def _until_drawn(command: list[str], seen: bytes, home: Path) -> float:
    start = time.perf_counter()
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(
            TERM="xterm-256color", SESSIOND_HOME=str(home), PYTHONUTF8="1", COLUMNS="120", LINES="40"
        )
        os.execv(command[0], command)
    try:
        drawn = b""
        while seen not in drawn:
            ready, _, _ = select.select([terminal], [], [], _PATIENCE)
            if not ready:
                raise SystemExit(f"bench: the tree was not drawn; this was: {drawn[-500:]!r}")
            drawn += os.read(terminal, 1 << 16)
        took = time.perf_counter() - start
        os.write(terminal, b"q")
        _read_to_the_end(terminal)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return took


def _loading_textual() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import textual.app"], check=True)
    return time.perf_counter() - start


def _read_to_the_end(terminal: int) -> None:
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:  # Linux reports with this error that the other end is closed
        pass
