"""How soon things are there: a command against a running daemon, the daemon; and what it weighs idle."""

import os
import subprocess
import sys
import time
from pathlib import Path

from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, at_most, megabytes, middle, milliseconds

COMMAND_LIMIT = 2.5
READY = 0.250
IDLE, IDLE_WITH_LSP = 30e6, 50e6


def measure(folder: Path, *, quick: bool) -> list[Row]:
    rounds = 11 if quick else 31
    home = folder / "home"
    ready, idle, with_lsp = [], [], []
    for _ in range(3 if quick else 9):
        start = time.perf_counter()
        with sessiond(home) as daemon:
            ready.append(time.perf_counter() - start)
            daemon.call("server/status")
            idle.append(float(daemon.resident()))
            _first_lsp_client(daemon, folder)
            with_lsp.append(float(daemon.resident()))
    with sessiond(home):
        command, bare = _commands(home, rounds)
    ratio = middle(command) / middle(bare)
    return [
        Row(
            "sessiond status, daemon running",
            milliseconds(middle(command)),
            f"{ratio:.2f} x python -c pass ({milliseconds(middle(bare))})",
            f"<= {COMMAND_LIMIT} x",
            at_most(ratio, COMMAND_LIMIT),
        ),
        Row(
            "daemon, spawned until it listens",
            milliseconds(middle(ready)),
            f"{middle(ready) / middle(bare):.1f} x python -c pass",
            f"<= {READY * 1e3:.0f} ms",
            at_most(middle(ready), READY),
        ),
        Row(
            "daemon, resident memory when idle",
            megabytes(middle(idle)),
            "",
            f"<= {IDLE / 1e6:.0f} MB",
            at_most(middle(idle), IDLE),
        ),
        Row(
            "  after the first LSP client",
            megabytes(middle(with_lsp)),
            f"{middle(with_lsp) / middle(idle):.2f} x before",
            f"<= {IDLE_WITH_LSP / 1e6:.0f} MB",
            at_most(middle(with_lsp), IDLE_WITH_LSP),
        ),
    ]


def _commands(home: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of `sessiond status` and of a Python that does nothing, taking turns."""
    program = str(Path(sys.executable).with_name("sessiond"))
    command, bare = [], []
    for _ in range(rounds):
        bare.append(_run([sys.executable, "-c", "pass"], home))
        command.append(_run([program, "status"], home))
    return command, bare


def _run(command: list[str], home: Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        env={**os.environ, "SESSIOND_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def _first_lsp_client(daemon: Daemon, folder: Path) -> None:
    """An editor that opens a folder and asks for the symbols of a session file."""
    with daemon.connect() as editor:
        editor.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        document = folder / "empty.jsonl"
        document.write_text("", encoding="utf-8")
        editor.call("textDocument/documentSymbol", {"textDocument": {"uri": document.as_uri()}})
