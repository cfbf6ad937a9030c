"""The desk of an editor's user: a home, a session with a fork, a damaged file, and the `sessiond` command."""

import contextlib
import json  # noqa: TID251 - logs are read as another program reads them
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessiond.client.blocking import connect
from sessiond.client.daemon_socket import read_endpoint
from sessiond.paths import Locations
from support.homes import a_home, environment, sessiond
from support.logs import assistant, header, log, user

PATIENCE = 60
QUESTION, ANSWER, NEXT = "What is a session?", "It is a tree of entries.", "And a branch?"


def eventually(what: str, look: Callable[[], Any]) -> Any:
    """Call `look` until it returns something, and return that."""
    until = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < until, f"never: {what}"
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class Desk:
    """`file` is a session of four lines: header, question, answer, next question (1 to 4)."""

    locations: Locations
    home: Path
    file: Path
    damaged: Path
    session_id: str
    ids: tuple[str, ...]

    def environment(self, **more: str) -> dict[str, str]:
        """The environment, as in a shell of that user."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        folders = {
            f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        return environment(
            self.locations,
            HOME=str(self.home),
            PATH=path,
            TERM="xterm-256color",
            LC_ALL="C.UTF-8",
            **folders,
            **more,
        )

    def write(self, name: str, text: str) -> Path:
        """A settings file of that user."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def pid(self) -> int:
        """The process id of the daemon."""
        return int(read_endpoint(self.locations)["pid"])

    def kill_daemon(self) -> int:
        """Kill the daemon, and return its process id."""
        killed = self.pid
        os.kill(killed, signal.SIGKILL)
        return killed

    def command(self, *words: str) -> str:
        """Return the output of a `sessiond` command that the user runs."""
        done = subprocess.run(
            sessiond(*words),
            env=self.environment(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def call(self, method: str, **params: Any) -> Any:
        """Send a request to the daemon as another client."""
        with connect(locations=self.locations) as daemon:
            return daemon.call(method, params)

    def info(self) -> Any:
        return self.call("session/info", sessionId=self.session_id)["session"]

    def append(self, text: str, **more: Any) -> str:
        """Append a further question as another client, and return its id."""
        draft = {"type": "message", "message": {"role": "user", "content": text}}
        done = self.call("session/append", sessionId=self.session_id, entries=[draft], **more)
        return str(done["entries"][0]["id"])

    def lines(self) -> list[Any]:
        """The log on disk."""
        return [json.loads(line) for line in self.file.read_bytes().split(b"\n") if line]

    def labels(self) -> dict[str, str]:
        """The labels of the session, by entry."""
        nodes = self.call("session/tree", sessionId=self.session_id)["nodes"]
        return {node["id"]: node["label"] for node in nodes if node.get("label")}

    def forks(self) -> list[Any]:
        """The sessions that were forked from this one."""
        sessions = self.call("session/list")["sessions"]
        return [session for session in sessions if session["sessionId"] != self.session_id]


@contextlib.contextmanager
def a_desk(tmp_path: Path) -> Iterator[Desk]:
    """A new desk. At the end, the processes that still run there are killed."""
    home = tmp_path / "person"
    home.mkdir()
    damaged = home / "damaged.jsonl"
    damaged.write_bytes(log(header(), user("hi"), b"this is no entry\n", assistant("hello")))
    with a_home() as locations:
        with connect(locations=locations) as daemon:
            session = daemon.call("session/create", {"cwd": str(home)})["session"]
            messages = [
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
                {"role": "user", "content": NEXT},
            ]
            drafts = [{"type": "message", "message": message} for message in messages]
            done = daemon.call("session/append", {"sessionId": session["sessionId"], "entries": drafts})
            path = daemon.call("session/info", {"sessionId": session["sessionId"]})["session"]["path"]
        yield Desk(
            locations,
            home,
            Path(path),
            damaged,
            session["sessionId"],
            tuple(entry["id"] for entry in done["entries"]),
        )
