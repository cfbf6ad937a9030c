"""A new person's first minute: nothing in the environment but a home, a path and a folder for sockets."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessiond.client.daemon_socket import read_endpoint
from sessiond.paths import Locations, find_locations
from support.attached import Attached
from support.editor_desks import eventually
from support.processes import runs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Person:
    """Someone who has just installed sessiond."""

    home: Path
    environment: dict[str, str]

    @property
    def locations(self) -> Locations:
        return find_locations(self.environment)

    def run(self, *words: str) -> str:
        """Return the output of a command, as in a shell that was just opened."""
        done = subprocess.run(
            words,
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def person() -> Iterator[Person]:
    home = Path(tempfile.mkdtemp(prefix="sd-"))
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    made = Person(home, {"HOME": str(home), "PATH": path, "XDG_RUNTIME_DIR": str(runtime)})
    try:
        yield made
    finally:
        pid = read_endpoint(made.locations).get("pid")
        if pid is not None and runs(pid):
            os.kill(pid, signal.SIGKILL)
            eventually("the end of the daemon", lambda: not runs(pid))
        shutil.rmtree(home)


def test_the_first_commands_need_no_settings_and_touch_nothing_but_the_home(person: Person) -> None:
    session = person.run("sessiond", "new").strip()
    person.run("sessiond", "append", session, "--user", "Does it work?", "--assistant", "It does.")
    assert "It does." in person.run("sessiond", "tree", session)
    assert session[:8] in person.run("sessiond", "list")
    person.run("sessiond", "stop")
    pid = read_endpoint(person.locations).get("pid")
    assert pid is None or eventually("the end of the daemon", lambda: not runs(pid))
    made = {path.name for path in person.home.iterdir()}
    assert made <= {".config", ".local", ".cache", "run"}


def test_an_editor_is_the_first_to_start_the_daemon(person: Person) -> None:
    with subprocess.Popen(
        ["sessiond", "attach", "--stdio"],
        env=person.environment,
        cwd=person.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        editor = Attached(process)
        try:
            assert editor.initialize()["capabilities"]["documentSymbolProvider"]
            made = editor.call("session/create", cwd=str(person.home))["session"]["sessionId"]
            assert made[:8] in person.run("sessiond", "list", "--all", "--drafts")
            assert editor.call("shutdown") is None
            editor.notify("exit")
            assert editor.end() == 0
        finally:
            process.kill()
    assert runs(read_endpoint(person.locations)["pid"])
