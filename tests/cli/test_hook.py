"""The command hook, as agents run it: it always succeeds, prints what the agent accepts, and waits for no daemon."""

import contextlib
import json  # noqa: TID251 - an independent reader
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sessiond.agent_names import SILENT_OUTPUT, TAKES_NOTE
from sessiond.agents.table import AGENTS
from sessiond.cli.commands.hook import RESPONSE_SECONDS
from sessiond.paths import Locations
from sessiond.rpc.process import start_time
from sessiond.setup.commands import hook_command
from support.homes import a_home, environment, sessiond
from support.patience import BOUND

EVENT = {
    "hook_event_name": "Stop",
    "session_id": "s",
    "transcript_path": "/home/ada/.claude/projects/p/s.jsonl",
}
HERE = {"pid": os.getpid(), "startTime": start_time(os.getpid())}
"""The process that runs the hooks, as each of them tells it."""
FROM_HERE = {"sessionId": "s", **HERE}

PATIENT = """\
import sys
from sessiond.cli.commands import hook
hook.READ_SECONDS = hook.LAST_SECONDS = float(sys.argv[2])
hook.RESPONSE_SECONDS = float(sys.argv[3])
hook.run(sys.argv[1])
"""


def run_patient_hook(
    locations: Locations, agent: str, event: bytes, *, response_seconds: float = BOUND
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook with limits that a busy machine cannot exceed, to see what it sends and what it prints."""
    command = [sys.executable, "-c", PATIENT, agent, str(BOUND), str(response_seconds)]
    return run_hook(locations, agent, event, command=command)


def run_hook(
    locations: Locations, agent: str, event: bytes, *, command: list[str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command or sessiond("hook", agent),
        input=event,
        capture_output=True,
        env=environment(locations),
        timeout=BOUND,
        check=False,
    )


class Listener:
    """A daemon's socket that takes one request; it responds if it is told to."""

    def __init__(self, locations: Locations, *, responds: bool, note: str | None = None) -> None:
        Path(locations.runtime).mkdir(parents=True, exist_ok=True, mode=0o700)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(locations.socket)
        self.socket.listen()
        self.responds = responds
        self.result = json.dumps({"isFollowed": True, "note": note}).encode()
        self.request = b""
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            if not self.responds:
                while part := connection.recv(65_536):
                    self.request += part
                return
            self.request = connection.recv(65_536)
            body = b'{"jsonrpc":"2.0","id":1,"result":%b}' % self.result
            with suppress(BrokenPipeError):  # a hook on a busy machine no longer waits
                connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def params(self) -> object:
        self.thread.join(BOUND)
        self.socket.close()
        body = json.loads(self.request.partition(b"\r\n\r\n")[2])
        assert body["method"] == "agent/wake"
        return body["params"]


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_daemon_and_without_followed_agents_it_succeeds_and_starts_none(agent: str) -> None:
    with a_home() as locations:
        done = run_hook(locations, agent, json.dumps(EVENT).encode())
        hooks = AGENTS[agent].hooks
        silent = hooks.silent_output if hooks is not None else ""
        assert (done.returncode, done.stdout, done.stderr) == (0, silent.encode(), b"")
        assert not Path(locations.socket).exists()
        assert not Path(locations.state).exists()


def test_the_output_of_each_agent_is_that_of_its_table() -> None:
    declared = {agent.name: agent.hooks.silent_output for agent in AGENTS.values() if agent.hooks is not None}
    assert {name: text for name, text in declared.items() if text} == SILENT_OUTPUT


@pytest.mark.parametrize("responds", [True, False])
def test_a_running_daemon_is_told_of_the_file(responds: bool) -> None:
    with a_home() as locations:
        listener = Listener(locations, responds=responds)
        event = json.dumps(EVENT).encode()
        seconds = BOUND if responds else RESPONSE_SECONDS
        done = run_patient_hook(locations, "claude-code", event, response_seconds=seconds)
        assert (done.returncode, done.stdout) == (0, b"")
        assert listener.params() == {"agent": "claude-code", "path": EVENT["transcript_path"], **FROM_HERE}


@pytest.mark.parametrize("agent", TAKES_NOTE)
def test_the_note_of_the_daemon_goes_to_the_model_when_a_session_begins(agent: str) -> None:
    started = EVENT | {"hook_event_name": "SessionStart", "cwd": "/home/ada/atlas"}
    with a_home() as locations:
        listener = Listener(locations, responds=True, note="The last sessions: é")
        done = run_patient_hook(locations, agent, json.dumps(started).encode())
        params = listener.params()
    named = {"agent": agent, "path": EVENT["transcript_path"], "startingIn": "/home/ada/atlas"}
    assert params == named | FROM_HERE
    assert json.loads(done.stdout) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "The last sessions: é"}
    }


def test_an_agent_that_takes_no_note_is_not_given_one() -> None:
    started = EVENT | {"hook_event_name": "SessionStart", "cwd": "/home/ada/atlas"}
    with a_home() as locations:
        listener = Listener(locations, responds=True)
        assert run_patient_hook(locations, "opencode", json.dumps(started).encode()).stdout == b""
        assert listener.params() == {"agent": "opencode", "path": EVENT["transcript_path"], **FROM_HERE}


def test_a_daemon_whose_queue_is_full_is_not_waited_for() -> None:
    with a_home() as locations, socket.socket(socket.AF_UNIX) as listening:
        Path(locations.runtime).mkdir(parents=True, exist_ok=True, mode=0o700)
        listening.bind(locations.socket)
        listening.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(locations.socket)
            done = run_hook(locations, "gemini", json.dumps(EVENT).encode())
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")


def test_a_daemon_that_sends_anything_but_the_response_is_not_waited_for() -> None:
    def chatter() -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            while True:
                connection.sendall(b'Content-Length: 34\r\n\r\n{"jsonrpc":"2.0","method":"other"}')

    with a_home() as locations, socket.socket(socket.AF_UNIX) as listening:
        Path(locations.runtime).mkdir(parents=True, exist_ok=True, mode=0o700)
        listening.bind(locations.socket)
        listening.listen()
        thread = threading.Thread(target=chatter)
        thread.start()
        done = run_hook(locations, "gemini", json.dumps(EVENT).encode())
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
        thread.join(BOUND)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "event",
    [
        b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"transcript_path": null}', b'{"transcript_path": 1}',
        b'{"transcript_path": "relative"}', b'{"transcript_path": "/a\\u0000b"}',
        b'{"session_id": ["s"]}', b'{"session_id": ""}', b'{"session_id": "' + b"s" * 600 + b'"}',
        b'{"transcript_path": "/' + b"a" * 5000 + b'"}', b'{"prompt": "' + b"x" * (3 << 20) + b'"}',
    ],
    ids=lambda event: f"{len(event)} bytes",
)  # fmt: skip
def test_a_hostile_event_wakes_without_a_path(event: bytes) -> None:
    with a_home() as locations:
        listener = Listener(locations, responds=True)
        done = run_hook(locations, "gemini", event)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
        assert listener.params() == {"agent": "gemini", **HERE}


def test_an_agent_that_never_ends_its_event_is_not_waited_for() -> None:
    with a_home() as locations:
        listener = Listener(locations, responds=True)
        with subprocess.Popen(
            sessiond("hook", "codex"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(locations),
        ) as process:
            assert process.wait(BOUND) == 0
        assert listener.params() == {"agent": "codex", **HERE}


@pytest.mark.parametrize("agent", TAKES_NOTE)
def test_the_end_of_a_session_is_told(agent: str) -> None:
    event = json.dumps(EVENT | {"hook_event_name": "SessionEnd"}).encode()
    with a_home() as locations:
        listener = Listener(locations, responds=True)
        run_patient_hook(locations, agent, event)
        params = listener.params()
    assert params == {"agent": agent, "path": EVENT["transcript_path"], "ended": True, **FROM_HERE}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    with a_home() as locations:
        words = " ".join(sessiond("hook", "gemini"))
        done = subprocess.run(["/bin/sh", "-c", f"{words} {closed}"], env=environment(locations), check=False)
        assert done.returncode == 0


def test_it_loads_only_what_it_needs() -> None:
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "import os; os._exit = lambda code: (print(*sys.modules), sys.stdout.flush())\n"
        "sys.argv = ['sessiond', 'hook', 'codex']\n"
        "from sessiond.cli.main import main; main()"
    )
    with a_home() as locations:
        done = subprocess.run(
            [sys.executable, "-S", "-c", program],
            input=b"{}",
            capture_output=True,
            env=environment(locations),
            check=False,
        )
    loaded = set(done.stdout.decode().splitlines()[0].split())
    assert (
        loaded & {"enum", "re", "json", "signal", "dataclasses", "typing", "msgspec", "pathlib", "socket"}
        == set()
    )


@pytest.mark.parametrize(
    "agent", [agent.name for agent in AGENTS.values() if agent.hooks is not None and not agent.hooks.plugin]
)
def test_the_command_in_the_settings_survives_spaces_and_a_removed_program(
    agent: str, tmp_path: Path
) -> None:
    program = tmp_path / "a 'b' $c/sessiond"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$SESSIOND_HOME|$*"\n', encoding="utf-8")
    program.chmod(0o755)
    hooks = AGENTS[agent].hooks
    assert hooks is not None
    command = hook_command(AGENTS[agent], hooks, {"SESSIOND_HOME": "/h o"}, [str(program)])
    there = subprocess.run(["/bin/sh", "-c", command], capture_output=True, encoding="utf-8", check=False)
    assert (there.returncode, there.stdout) == (0, f"/h o|hook {agent}\n")
    program.unlink()
    gone = subprocess.run(["/bin/sh", "-c", command], capture_output=True, encoding="utf-8", check=False)
    assert (gone.returncode, gone.stdout.strip(), gone.stderr) == (0, hooks.silent_output, "")


def test_help_is_still_there() -> None:
    done = subprocess.run(sessiond("hook", "--help"), capture_output=True, env=os.environ, check=False)
    assert done.returncode == 0
    assert b"AGENT" in done.stdout
