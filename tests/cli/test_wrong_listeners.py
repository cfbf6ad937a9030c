"""Another program listens in the place of the daemon: each command says so in a sentence and ends."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.exit_codes import FAILURE, INVALID_RESPONSE, SUCCESS, TEMPORARY_FAILURE, UNAVAILABLE
from sessiond.cli.main import run
from sessiond.client import attach, blocking, replace
from sessiond.client.link import DaemonLink
from sessiond.paths import Locations
from support.every_command import COMMANDS
from support.homes import a_home
from support.wrong_answers import encoded
from support.wrong_listeners import KINDS, WITHOUT_ANSWER, Listener

SECONDS = 0.2
"""The patience of the client, which is otherwise up to 50 seconds."""
_NOT_ASKED = ("terminal", "setup", "install-service", "uninstall-service")
"""Commands that need no daemon."""
_MEANT = {
    "doctor": (FAILURE,),  # it reports what it found
    "import": (FAILURE, INVALID_RESPONSE, UNAVAILABLE, TEMPORARY_FAILURE),
}
_DONE = (INVALID_RESPONSE, UNAVAILABLE, TEMPORARY_FAILURE)
_UNUSED = ("restore ./all.sessiond", "bundle", "import some.sessiond")
"""Lines that need a file of an earlier line."""

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # each command is a process, which closes all


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Locations]:
    with a_home() as locations:
        for name, value in (
            ("SESSIOND_HOME", locations.home),
            ("HOME", str(tmp_path)),
            ("SESSIOND_TERMINAL", "t"),
        ):
            monkeypatch.setenv(name, str(value))
        monkeypatch.chdir(tmp_path)
        for module, name in (
            (blocking, "SILENCE_SECONDS"), (blocking, "STATUS_SECONDS"), (blocking, "STOP_SECONDS"),
            (blocking, "DRAIN_SECONDS"), (replace, "RESPONSE_SECONDS"), (replace, "REPLACE_SECONDS"),
            (replace, "DRAIN_SECONDS"), (attach, "FIRST_SECONDS"), (DaemonLink, "handshake_seconds"),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, SECONDS)
        blocking.received.clear()
        yield locations


def lines(kind: str, file: Path) -> list[list[str]]:
    """Every command, or the first of each way to connect if each is given up only after some time."""
    file.write_text("some text\n", encoding="utf-8")
    ids = {
        "session": "abcdefgh-1",
        "other": "abcdefgh-2",
        "question": "aaaaaaa1",
        "answer": "aaaaaaa2",
        "file": file,
    }
    wanted = [command for command in COMMANDS if not command.startswith(_UNUSED)]
    if kind in WITHOUT_ANSWER:
        wanted = ["list", "append {session} --user more", "doctor", "stop", "restart", "import {file}"]
    more = ("watch {session}", "view {session} --no-open", "serve --detach", "top --once")
    return [shlex.split(text.format(**ids)) for text in (*wanted, *more)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_command_ends_with_a_sentence(
    kind: str, home: Locations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = Listener(KINDS[kind], Path(home.socket))
    try:
        for words in lines(kind, tmp_path / "file.txt"):
            code = run(words)  # an exception would be a traceback
            said = capsys.readouterr()
            if words[0] in _NOT_ASKED:
                continue
            if code == SUCCESS and kind.startswith("members_that"):
                continue  # it printed what was there
            assert code in _MEANT.get(words[0], _DONE), (words, code, said)
            if code != FAILURE:
                assert said.err.startswith(("sessiond: ", "Watching")), (words, said)
    finally:
        listener.close()


@pytest.mark.parametrize(
    "kind", ["http_server", "silence", "bytes_without_end", "a_slow_body", "random_bytes", "echo", "closes"]
)
def test_an_attached_editor_is_told_and_not_left_waiting(kind: str, home: Locations) -> None:
    listener = Listener(KINDS[kind], Path(home.socket))
    (source, editor), (reading, sink) = os.pipe(), os.pipe()
    try:
        os.write(editor, encoded({"jsonrpc": "2.0", "id": 1, "method": "session/list"}))
        os.close(editor)
        if kind == "echo":  # it returns what was sent, and closes as a daemon does
            attach.attach(source, sink, print)
        else:
            with pytest.raises((attach.NoDaemonThereError, attach.ConnectionLostError)):
                attach.attach(source, sink, print)
    finally:
        listener.close()
        for number in (source, reading, sink):
            os.close(number)
