"""VS Code's server with our extension, as on a remote machine; `workbench` has its pages."""

import contextlib
import json  # noqa: TID251 - settings are written as a person writes them
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.installed_workbench import server_command
from support.patience import BOUND
from support.vscode_package import the_package

NOWHERE = "http://127.0.0.1:9/"
"""The address of the extension gallery: no program listens there, so that nothing leaves the machine."""

QUIET: dict[str, Any] = {
    "chat.disableAIFeatures": True,
    "extensions.ignoreRecommendations": True,
    "git.enabled": False,
    "git.openRepositoryInParentFolders": "never",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "workbench.enableExperiments": False,
    "workbench.reduceMotion": "on",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


@dataclass
class Server:
    """One server; every page that is opened on it has a separate extension host."""

    folder: Path
    settings: dict[str, Any]
    address: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def user(self) -> Path:
        return self.folder / "user"

    def choose(self) -> None:
        """Write the settings of its user as they were at first."""
        for place in ("User", "Machine"):
            path = self.user / place / "settings.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.settings), encoding="utf-8")

    @property
    def extension(self) -> Path:
        """The installed extension."""
        (found,) = (self.folder / "extensions").glob("sessiond.*")
        return found

    def at(self, folder: Path, payload: list[tuple[str, str]] | None = None) -> str:
        """The address of a folder, or of a file `*.code-workspace`.

        The payload is for the window, as a test runner of extensions gives it.
        """
        tail = f"&payload={quote(json.dumps(payload))}" if payload else ""
        kind = "workspace" if folder.suffix == ".code-workspace" else "folder"
        return f"{self.address}/?{kind}={quote(str(folder))}{tail}"

    def remote(self, path: Path) -> str:
        """Return the URI by which a window names a file of this machine."""
        return f"vscode-remote://{self.address.removeprefix('http://')}{path}"

    def logs(self) -> str:
        """The ends of all logs, to find the cause of a failed test."""
        ends = [
            f"--- {path.relative_to(self.folder)}\n{path.read_text(encoding='utf-8', errors='replace')[-3000:]}"
            for path in sorted(self.user.glob("logs/**/*.log"), key=lambda path: path.stat().st_mtime)
            if path.stat().st_size
        ]
        return "\n".join(["--- the server", *self.said[-20:], *ends[-12:]])


@contextlib.contextmanager
def a_server(*options: str, **settings: Any) -> Iterator[Server]:
    """A new server. `options` are its own options, `settings` those of its user."""
    folder = Path(tempfile.mkdtemp(prefix="vs-"))
    try:
        server = Server(folder, {**QUIET, **settings})
        server.choose()
        _run(server, "--install-extension", str(the_package()))
        with _running(server, options):
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(server: Server, *options: str) -> list[str]:
    return server_command(
        f"--server-data-dir={server.folder / 'server'}",
        f"--user-data-dir={server.user}",
        f"--extensions-dir={server.folder / 'extensions'}",
        *options,
    )


def _run(server: Server, *options: str) -> None:
    done = subprocess.run(
        _command(server, *options),
        env=_environment(server),
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=BOUND,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def _running(server: Server, options: tuple[str, ...]) -> Iterator[None]:
    command = _command(
        server,
        "--host=127.0.0.1",
        "--port=0",
        "--without-connection-token",
        "--accept-server-license-terms",
        "--telemetry-level=off",
        "--force-disable-user-env",  # a login shell of this machine may find another `sessiond`
        *options,
    )
    process = subprocess.Popen(
        command,
        env=_environment(server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # its extension hosts end with it
    )
    listens = threading.Event()
    reader = threading.Thread(target=_listen_to, args=(process, server, listens), daemon=True)
    reader.start()
    try:
        assert listens.wait(BOUND), "\n".join(server.said)
        assert server.address, "\n".join(server.said)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(BOUND)
        reader.join(BOUND)
        assert process.stdout is not None
        process.stdout.close()


def _listen_to(process: subprocess.Popen[str], server: Server, listens: threading.Event) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        server.said.append(line.rstrip())
        if "agent listening on" in line:
            server.address = f"http://127.0.0.1:{int(line.split()[-1])}"
            listens.set()
    listens.set()  # it ended


def _environment(server: Server) -> dict[str, str]:
    """The environment, as in a login shell of a user who has `sessiond` on the path and no daemon."""
    home = server.folder / "home"
    home.mkdir(exist_ok=True)
    gallery = dict.fromkeys(("serviceUrl", "itemUrl", "extensionUrlTemplate", "resourceUrlTemplate"), NOWHERE)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VSCODE_", "SESSIOND_", "XDG_"))
    }
    return {
        **kept,
        "HOME": str(home),
        # A test may put programs of the user into the second folder.
        "PATH": f"{Path(sys.executable).parent}:{server.folder / 'bin'}:{os.environ['PATH']}",
        "SESSIOND_HOME": str(server.folder / "sd"),
        "EXTENSIONS_GALLERY": json.dumps(gallery),
    }
