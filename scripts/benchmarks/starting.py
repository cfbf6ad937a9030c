"""The time of a command against a running daemon, the start of the daemon, and its memory when idle."""

import os
import subprocess
import sys
import time
from pathlib import Path

from scripts.benchmarks.drafts import new_session
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, at_most, duration, megabytes, middle, sampled

COMMANDS = (("status", 2.5), ("list", 2.0))
"""Commands, and the maximum time of each as a multiple of a Python that does nothing."""
READY = 0.250
IDLE, IDLE_WITH_LSP = 26e6, 46e6
"""Bytes of resident memory (RSS), which counts libraries that other processes share."""
_LIBRARIES = "import asyncio, logging, sqlite3, msgspec"
"""Modules that any daemon with this design must import."""
_LEAST_COMMAND = """
import _socket, sys
sock = _socket.socket(1, 1)
sock.connect(sys.argv[1])
body = b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}'
sock.send(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
sock.recv(1 << 18)
"""
"""A command without modules: it sends one request and decodes nothing of the response."""
_LSP_LIBRARIES = "import asyncio, logging, sqlite3, msgspec, lsprotocol.types, pygls.protocol"


def measure(folder: Path, *, quick: bool) -> list[Row]:
    rounds = 3 if quick else 31
    home = folder / "home"
    ready, idle, with_lsp = [], [], []
    for _ in range(1 if quick else 9):
        start = time.perf_counter()
        with sessiond(home) as daemon:
            ready.append(time.perf_counter() - start)
            daemon.call("server/status")
            idle.append(float(daemon.resident()))
            _first_lsp_client(daemon, folder)
            with_lsp.append(float(daemon.resident()))
    with sessiond(home) as daemon:
        for _ in range(10):
            new_session(daemon)  # `list` needs at least one session
        commands, bare = _commands(_installed(folder), home, rounds, daemon.socket)
    loading = middle(_run([sys.executable, "-c", _LIBRARIES], home) for _ in range(rounds))
    least, least_with_lsp = _resident_with(_LIBRARIES), _resident_with(_LSP_LIBRARIES)
    return [
        *(
            _command(name, limit, commands[name], middle(bare), middle(commands["least"]))
            for name, limit in COMMANDS
        ),
        sampled(
            "daemon, spawned until it listens",
            ready,
            "s",
            ratio=f"{middle(ready) / middle(bare):.1f} x python -c pass",
            limit=READY,
            reason=f"A Python that imports asyncio, logging, sqlite3 and msgspec, and does nothing, takes "
            f"{duration(loading)}. The rest is our modules, the definitions of the protocol's types, and the files "
            "that a start reads, checks and locks.",
        ),
        sampled(
            "daemon, resident memory when idle",
            idle,
            "B",
            limit=IDLE,
            reason=f"A Python that imports asyncio, logging, sqlite3 and msgspec holds {megabytes(least)}. The daemon "
            "imports them without OpenSSL, and adds its modules and the types of the protocol.",
        ),
        sampled(
            "  after the first LSP client",
            with_lsp,
            "B",
            ratio=f"{middle(with_lsp) / middle(idle):.2f} x before",
            limit=IDLE_WITH_LSP,
            reason="A Python that imports these, the types of lsprotocol and the protocol of pygls holds "
            f"{megabytes(least_with_lsp)}.",
        ),
    ]


def _command(name: str, limit: float, times: list[float], bare: float, least: float) -> Row:
    ratio = middle(times) / bare
    return sampled(
        f"sessiond {name}, daemon running",
        times,
        "s",
        ratio=f"{ratio:.2f} x python -c pass ({duration(bare)})",
        bar=f"<= {limit:g} x",
        verdict=at_most(ratio, limit),
        reason=f"A Python that sends the request of `list` over the socket, and imports and prints nothing, takes "
        f"{duration(least)}, {least / bare:.2f} x. The rest is about 30 modules of ours.",
    )


def _installed(folder: Path) -> str:
    """Return the command as the installation of a wheel writes it. An editable one imports more."""
    program = folder / "sessiond"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom sessiond.cli.main import main\nif __name__ == '__main__':\n"
        "    sys.argv[0] = sys.argv[0].removesuffix('.exe')\n    sys.exit(main())\n",
        encoding="utf-8",
    )
    program.chmod(0o700)
    return str(program)


def _resident_with(imports: str) -> float:
    """Bytes of resident memory of a Python after these imports."""
    read = "print(next(it for it in open('/proc/self/status') if it.startswith('VmRSS')).split()[1])"
    done = subprocess.run([sys.executable, "-c", f"{imports}\n{read}"], check=True, capture_output=True)
    return float(done.stdout) * 1024


def _commands(
    program: str, home: Path, rounds: int, socket: str
) -> tuple[dict[str, list[float]], list[float]]:
    """Seconds of each command, of the `least` one, and of a Python that does nothing, in turns."""
    bare: list[float] = []
    commands: dict[str, list[float]] = {name: [] for name, _ in (*COMMANDS, ("least", 0))}
    for _ in range(rounds):
        bare.append(_run([sys.executable, "-c", "pass"], home))
        for name, times in commands.items():
            least = [sys.executable, "-c", _LEAST_COMMAND, socket]
            times.append(_run(least if name == "least" else [program, name], home))
    return commands, bare


def _run(command: list[str], home: Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        cwd="/tmp",
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
