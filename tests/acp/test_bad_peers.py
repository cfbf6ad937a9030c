"""Peers that flood, stop reading or send what is no message: the others go on, and memory stays bounded."""

import contextlib
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.acp_editors import Editor, Refused, an_editor, scripted_agent, spoken, stored, two_editors
from support.homes import environment, sessiond, wait_until
from support.patience import BOUND

MAX_MIB = 90
"""The memory that the proxy may use: its modules, and the data that wait for a peer on both sides."""


@pytest.mark.slow  # tens of megabytes
def test_an_editor_that_does_not_read_bounds_the_memory_and_loses_nothing(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.is_reading.clear()
        prompt = editor.begin_prompt(session, "flood 4000 10000")
        wait_until(_Rest(editor.process.pid))
        assert _memory_mib(editor.process.pid) < MAX_MIB
        editor.is_reading.set()
        assert editor.answer(prompt)["stopReason"] == "end_turn"
        assert len(editor.said()) == 40_000_000


def test_an_agent_that_does_not_read_bounds_the_memory(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.begin_prompt(session, "say so far\ndeaf")
        wait_until(lambda: editor.said() == "so far")
        note = b'{"jsonrpc":"2.0","method":"_vendor/note","params":"' + b"x" * 1_000_000 + b'"}\n'

        def flood() -> None:
            for _ in range(200):
                editor.send_line(note)

        flooding = threading.Thread(target=_until_the_pipe_breaks, args=(flood,), daemon=True)
        flooding.start()
        wait_until(_Rest(editor.process.pid))
        assert _memory_mib(editor.process.pid) < MAX_MIB
        editor.kill()
        flooding.join()


@pytest.mark.slow  # tens of megabytes
def test_an_attached_editor_that_does_not_read_is_detached_and_can_come_back(
    home: Locations, tmp_path: Path
) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        second.is_reading.clear()
        assert first.prompt(session, "flood 4000 10000")["stopReason"] == "end_turn"
        second.is_reading.set()
        wait_until(lambda: _prompts(second, session, "say Back."))
        assert len(second.said()) < 40_000_000
        wait_until(lambda: first.said().endswith("Back."))


def test_a_process_that_is_killed_in_the_middle_of_a_line_leaves_the_session_to_the_next(
    home: Locations, tmp_path: Path
) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        second.is_reading.clear()
        assert first.prompt(session, "flood 60 100000")["stopReason"] == "end_turn"
        first.kill()  # the socket had no room for all of it, so it ends inside a line
        second.is_reading.set()
        wait_until(_Rest(second.process.pid))
        wait_until(lambda: _prompts(second, session, "say Back."))
        assert second.said().endswith("Back.")


@pytest.mark.slow  # tens of megabytes
def test_a_line_above_the_limit_ends_the_connection_and_says_so(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        with pytest.raises(Refused) as refusal:
            editor.prompt(session, "say so far\nflood 1 70000000")
        assert "64 MiB" in refusal.value.message
        assert editor.close() == 1
    assert spoken(stored(home, session))[-1] == ("assistant text", "so far")


def test_messages_of_odd_shapes_stop_nothing(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        deep = "[" * 5_000 + "]" * 5_000
        of_agent = (
            'send {"method":"session/update"}',
            'send {"method":"session/update","params":[1]}',
            'send {"method":"session/update","params":{"sessionId":7,"update":{}}}',
            'send {"method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":5}}}',
            'send {"method":"session/update","params":{"sessionId":"ID","update":7}}',
            'send {"method":"session/update","params":{"sessionId":"ID","update":' + deep + "}}",
            'send {"id":"nobody","result":{}}',
            'send {"id":null,"method":"_vendor/ask"}',
        )
        of_editor = (
            b'{"jsonrpc":"2.0","id":"odd-1","method":"session/prompt"}\n',
            b'{"jsonrpc":"2.0","id":"odd-2","method":"session/load","params":{"sessionId":3}}\n',
            b'{"jsonrpc":"2.0","id":"odd-3","method":"session/fork","params":null}\n',
            b'{"jsonrpc":"2.0","id":"odd-4","method":"session/attach","params":[]}\n',
            b'{"jsonrpc":"2.0","id":"nobody","result":{}}\n',
            b'{"jsonrpc":"2.0","method":"session/cancel"}\n',
            b"\n",
        )
        for line in of_editor:
            editor.send_line(line)
        for number in range(1, 5):
            wait_until(lambda item=f"odd-{number}": any(m.get("id") == item for m in editor.messages()))  # type: ignore[misc]
        assert editor.prompt(session, "\n".join(of_agent).replace("ID", session))["stopReason"] == "end_turn"
        assert editor.prompt(session, "say fine")["stopReason"] == "end_turn"
        assert editor.said() == "fine"


@pytest.mark.slow  # ten seconds
def test_an_agent_that_never_answers_is_named_and_waited_for(home: Locations, tmp_path: Path) -> None:
    with subprocess.Popen(
        sessiond("acp", "--", "sh", "-c", "cat >/dev/null"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(home),
    ) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        assert proxy.stderr is not None
        proxy.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
        proxy.stdin.flush()
        told = proxy.stderr.readline()
        assert told.startswith(b"sessiond acp: The agent 'sh' has not answered `initialize` for 10 seconds.")
        assert proxy.poll() is None
        proxy.stdin.close()
        assert (proxy.wait(BOUND), proxy.stdout.read(), proxy.stderr.read()) == (0, b"", b"")


@pytest.mark.parametrize("stdin", ["/dev/null", "requests.txt", None])
def test_an_editor_may_be_a_file_or_nothing_at_all(
    stdin: str | None, home: Locations, tmp_path: Path
) -> None:
    """Standard input is a file, or closed; standard output is a file."""
    request = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    (tmp_path / "requests.txt").write_text(request, encoding="utf-8")
    where = "<&-" if stdin is None else f"<{stdin}"
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {where} >answers.txt', "sh", *sessiond("acp", "--", "no-such-agent")],
        capture_output=True,
        cwd=tmp_path,
        env=environment(home),
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"sessiond acp: Cannot start the agent 'no-such-agent'")
    assert len(done.stderr.splitlines()) == 1
    answers = (tmp_path / "answers.txt").read_bytes()
    assert (b"there is no such program" in answers) == (stdin == "requests.txt")


def _prompts(editor: Editor, session: str, text: str) -> bool:
    try:
        return bool(editor.prompt(session, text)["stopReason"] == "end_turn")
    except Refused:  # it has just been detached
        return False


def _until_the_pipe_breaks(work: Callable[[], None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        work()


class _Rest:
    """Tells whether a process has used no processor during the last calls."""

    def __init__(self, pid: int) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._used, self._quiet = -1, 0

    def __call__(self) -> bool:
        fields = self._stat.read_text(encoding="ascii").rpartition(")")[2].split()
        used = int(fields[11]) + int(fields[12])
        self._quiet = self._quiet + 1 if used == self._used else 0
        self._used = used
        return self._quiet > 100


def _memory_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
