"""An editor that speaks ACP with `sessiond acp`, and reads what the daemon has stored of it."""

import contextlib
import json  # noqa: TID251 - as another program writes it
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessiond.client import connect_blocking
from sessiond.paths import Locations
from support.homes import TESTS, environment, sessiond, wait_until
from support.patience import BOUND

Json = dict[str, Any]

READS_FILES: Json = {"fs": {"readTextFile": True}}
"""The capabilities of an editor that reads files for the agent."""


class Refused(Exception):
    """Raised when the answer to a request is an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]


def scripted_agent(*words: str) -> list[str]:
    """The command of the scripted agent."""
    return [sys.executable, "-m", "support.scripted_acp_agent", *words]


class Editor:
    """A process `sessiond acp`, its requests and the messages that it received.

    Args:
        locations: The home of the daemon.
        words: The words after `sessiond acp`.
        env: Further variables.
    """

    def __init__(self, locations: Locations, words: Sequence[str], env: Mapping[str, str] = {}) -> None:
        self.process = subprocess.Popen(
            sessiond("acp", *words),
            cwd=TESTS,
            env=environment(locations, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[bytes] = []
        self.errors: list[bytes] = []
        self._messages: list[Json] = []
        self.asked: Callable[[Json], Json | None] = _allow
        """Returns the result for a request of the agent; None leaves it unanswered."""
        self._ids = 0
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        self.is_reading = threading.Event()
        self.is_reading.set()
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(line)
                self._messages.append(found)
                if "method" in found and "id" in found and (result := self.asked(found)) is not None:
                    self.send({"jsonrpc": "2.0", "id": found["id"], "result": result})
            self.is_reading.wait()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    # --- messages --------------------------------------------------------------------------------------

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, message: Json) -> None:
        self.send_line(json.dumps(message).encode() + b"\n")

    def begin(self, method: str, params: Json) -> int:
        """Send a request, and return its id."""
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    def answer(self, request_id: Any) -> Json:
        """The result of a request. Raises `Refused`."""
        reading, reading_errors = self._threads
        # Its last output is read after it has ended.
        wait_until(lambda: self._answer(request_id) is not None or not reading.is_alive(), BOUND)
        if (found := self._answer(request_id)) is None:
            reading_errors.join(BOUND)
            raise AssertionError(f"sessiond acp ended: {b''.join(self.errors)!r}")
        if "error" in found:
            raise Refused(found["error"])
        result: Json = found["result"]
        return result

    def call(self, method: str, **params: Any) -> Json:
        return self.answer(self.begin(method, params))

    def _answer(self, request_id: Any) -> Json | None:
        return next(
            (
                message
                for message in self.messages()
                if message.get("id") == request_id and "method" not in message
            ),
            None,
        )

    def messages(self) -> list[Json]:
        return list(self._messages)

    def updates(self, kind: str | None = None) -> list[Json]:
        """The updates that were received, of one kind or of all."""
        found = [
            _update_in(message) for message in self.messages() if message.get("method") == "session/update"
        ]
        return [item for item in found if item and (kind is None or item.get("sessionUpdate") == kind)]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """The text of all chunks that were received."""
        return "".join(update["content"].get("text", "") for update in self.updates(kind))

    # --- sessions --------------------------------------------------------------------------------------

    def start(self, folder: Path) -> str:
        """Initialize, begin a session in a folder, and return its id."""
        self.call("initialize", protocolVersion=1, clientCapabilities=READS_FILES)
        return str(self.call("session/new", cwd=str(folder), mcpServers=[])["sessionId"])

    def begin_prompt(self, session_id: str, text: str) -> int:
        prompt = [{"type": "text", "text": text}]
        return self.begin("session/prompt", {"sessionId": session_id, "prompt": prompt})

    def prompt(self, session_id: str, text: str) -> Json:
        return self.answer(self.begin_prompt(session_id, text))

    # --- the end ---------------------------------------------------------------------------------------

    def close(self) -> int:
        """End the input, and return the exit status."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        status = self.process.wait(BOUND)
        self.tidy()
        return status

    def tidy(self) -> None:
        """Close the pipes of a process that has ended."""
        self.is_reading.set()
        for thread in self._threads:
            thread.join(BOUND)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def kill(self) -> None:
        """Kill the process, so that it cannot clean up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(BOUND)


def _update_in(notification: Json) -> Json:
    """The update of a notification; empty if the notification has another shape."""
    params = notification.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return update if isinstance(update, dict) else {}


def _allow(request: Json) -> Json | None:
    if request["method"] == "session/request_permission":
        return {"outcome": {"outcome": "selected", "optionId": "allow"}}
    return {"content": "the file"}


@contextlib.contextmanager
def an_editor(locations: Locations, *words: str, **env: str) -> Iterator[Editor]:
    """An editor whose process ends with the block."""
    editor = Editor(locations, words, env)
    try:
        yield editor
    finally:
        if editor.process.poll() is None:
            editor.process.kill()
            editor.process.wait(BOUND)
        editor.tidy()


@contextlib.contextmanager
def two_editors(
    home: Locations,
    tmp_path: Path,
    method: str = "session/load",
    capabilities: Any = READS_FILES,
    **params: Any,
) -> Iterator[tuple[Editor, Editor, str]]:
    """Two editors, and the id of the session of the first one, to which the second one is attached."""
    memory = tmp_path / "memory"
    memory.mkdir()
    words = ["--agent", "scripted", "--", *scripted_agent("--can", "load", "--memory", str(memory))]
    with an_editor(home, *words) as first, an_editor(home, *words) as second:
        session = first.start(tmp_path)
        first.prompt(session, "say One.")
        second.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        second.call(method, sessionId=session, cwd=str(tmp_path), mcpServers=[], **params)
        yield first, second, session


def stored(locations: Locations, native_id: str) -> list[Json]:
    """The entries on the path of the session that was read from an agent's session; empty if there is none."""
    with connect_blocking(locations=locations) as daemon:
        found = [
            session
            for session in daemon.call("session/list", {"includeDrafts": True, "limit": 1000})["sessions"]
            if (session["origin"] or {}).get("sessionId") == native_id
        ]
        assert len(found) <= 1, "one session of an agent is one session here"
        if not found:
            return []
        items = daemon.call("session/path", {"sessionId": found[0]["sessionId"]})["items"]
    return [item["entry"] for item in items]


def spoken(entries: Sequence[Json]) -> list[tuple[str, str]]:
    """The role and the content of the messages among entries, in a short form."""
    found = []
    for entry in entries:
        message = entry.get("message")
        if message is not None:
            for block in message["content"]:
                text = block.get("text") or block.get("thinking") or block.get("name") or ""
                found.append((f"{message['role']} {block['type']}", text))
    return found


def customs(entries: Sequence[Json], custom_type: str) -> list[Json]:
    """The data of the custom entries of one type."""
    return [entry["data"] for entry in entries if entry.get("customType") == custom_type]


def processes_below(pid: int) -> list[int]:
    """The processes whose ancestor is a process."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int(
                (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
            )
    below = {pid}
    while more := {number for number, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(below - {pid})


def command_of(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    return False
