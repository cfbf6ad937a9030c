"""A command whose answer was lost, or that a script runs again with its --command-id, is carried out once."""

import contextlib
import json  # noqa: TID251 - files are read as another program reads them
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.cli.table.index import all_commands
from sessiond.client.commands import METHODS
from sessiond.client.wire import DisconnectedError, MessageReader, frame
from sessiond.paths import Locations
from support.commands import Shell
from support.shared import lines_of

DECLARED = all_commands()


SESSION = "the-session"
"""Stands in a command line for the id of the session of the test."""


@pytest.fixture
def session(shell: Shell) -> str:
    name = shell("new").lines[0]
    entries = [("--json-entry", json.dumps(said(*row))) for row in (("u1", "user"), ("a1", "assistant"))]
    shell("append", name, *entries[0], *entries[1])
    return name


def said(name: str, role: str) -> dict[str, Any]:
    content = [{"type": "text", "text": "hello " * 40}]
    return {"id": name, "type": "message", "message": {"role": role, "content": content}}


COMMANDS = {
    "session/create": ("new", "--title", "Mine"),
    "session/continue": ("continue",),
    "session/fork": ("fork", SESSION),
    "session/rename": ("rename", SESSION, "Mine"),
    "session/tag": ("tag", SESSION, "--add", "mine"),
    "session/label": ("label", SESSION, "u1", "mine"),
    "session/branch": ("branch", SESSION, "u1"),
    "session/configure": ("configure", SESSION, "--auto-compact", "on"),
    "state/update": ("state", SESSION, "--tokens", "10"),
    "state/beginTask": ("state", SESSION, "--begin-task"),
    "session/move": ("move", SESSION, "--cwd", "/work/elsewhere"),
    "session/delete": ("delete", SESSION),
    "trash/restore": ("restore", SESSION),
    "trash/purge": ("purge", SESSION, "--yes"),
    "session/cleanup": ("cleanup", "--keep", "0", "--yes"),
    "blob/collect": ("blobs", "collect", "--yes"),
    "history/delete": ("history", "delete", "5e1f09-1"),
    "session/compact": ("compact", SESSION, "--summary", "So far.", "--keep-recent", "1"),
}
"""A command line for each method that a command of the shell may send with a `commandId`."""
every_command = pytest.mark.parametrize("method", COMMANDS)


def words_for(method: str, session: str) -> list[str]:
    return [session if word == SESSION else word for word in COMMANDS[method]]


def prepare(shell: Shell, session: str, method: str) -> None:
    if method in ("trash/restore", "trash/purge"):
        shell("delete", session)


def effects(shell: Shell) -> list[str]:
    """Each line of each log, and where it lies: a command that is carried out twice makes more of them."""
    data = Path(str(shell.locations.home)) / "data"
    found = [f"{path.parent.name}/{path.name}" for path in data.rglob("*.jsonl")]
    return sorted(found + [str(line.get("id")) for path in data.rglob("*.jsonl") for line in lines_of(path)])


def test_every_command_that_writes_takes_the_option() -> None:
    taking = {method for command in DECLARED.values() for method in command.write_methods}
    assert taking == METHODS - {"history/add"} == COMMANDS.keys()
    for command in DECLARED.values():
        assert any(option.name == "command-id" for option in command.options) is bool(command.write_methods)


@every_command
def test_a_command_that_is_run_again_with_its_id_prints_the_same_and_changes_nothing(
    shell: Shell, session: str, method: str
) -> None:
    prepare(shell, session, method)
    words = [*words_for(method, session), "--command-id", f"once-{method}", "--json"]
    first = shell(*words)
    after = effects(shell)
    again = shell(*words)
    assert again.json["duplicate"] is True
    assert not first.json["duplicate"]
    assert effects(shell) == after


def test_two_runs_of_fork_with_one_id_make_one_fork(shell: Shell, session: str) -> None:
    first = shell("fork", session, "--command-id", "nightly")
    assert shell("fork", session, "--command-id", "nightly").out == first.out
    assert shell("fork", session, "--command-id", "weekly").out != first.out
    assert len(shell("list", "--json").json["sessions"]) == 3


def test_other_words_under_an_id_are_refused(shell: Shell, session: str) -> None:
    shell("rename", session, "One", "--command-id", "renaming")
    refused = shell.run("rename", session, "Two", "--command-id", "renaming")
    assert refused.code != 0
    assert "renaming" in refused.err
    assert shell("show", session, "--json").json["session"]["title"] == "One"


def test_each_of_several_sessions_has_an_id_of_its_own(shell: Shell, session: str) -> None:
    names = [shell("fork", session).lines[0] for _ in range(2)]
    first = shell("delete", *names, "--command-id", "deletion")
    again = shell("delete", *names, "--command-id", "deletion")
    assert again.lines == first.lines == names
    trashed = [listed["sessionId"] for listed in shell("trash", "--json").json["sessions"]]
    assert sorted(item for item in trashed if item in names) == sorted(names)


def test_an_id_where_nothing_is_recorded_is_refused(shell: Shell, session: str) -> None:
    assert "--command-id" in shell.run("state", session, "--command-id", "x").err
    assert "--command-id" in shell.run("continue", "--prompt", "--command-id", "x").err
    assert "--command-id" in shell.run("append", session, "--user", "x", "--command-id", "x").err


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("session/create", 3), ("session/fork", 4), ("session/rename", 1), ("session/label", 1), ("session/branch", 1),
        ("session/move", 0), ("session/delete", 0),
    ],
)  # fmt: skip
def test_a_command_whose_daemon_was_killed_before_it_could_answer_is_carried_out_once(
    shell: Shell, session: str, method: str, more: int
) -> None:
    before = effects(shell)
    with losing_the_answer_to(method, shell.locations) as lost:
        ran = shell(*words_for(method, session), "--json")
    assert [notification["method"] for notification in lost] == [method]
    assert ran.json["duplicate"] is True
    after = effects(shell)
    assert after != before
    assert len(after) == len(before) + more


@contextlib.contextmanager
def losing_the_answer_to(method: str, locations: Locations) -> Iterator[list[dict[str, Any]]]:
    """Stand before the daemon; once it has answered a request of this method, kill it and pass nothing on.

    Yields the requests whose answers were lost.
    """
    told = json.loads(Path(locations.endpoint).read_bytes())
    lost: list[dict[str, Any]] = []
    path = f"{locations.home}/relay.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        Path(locations.endpoint).write_text(json.dumps({**told, "socket": path}), encoding="utf-8")

        def relay() -> None:
            while not lost:
                client, _ = listener.accept()
                with client, socket.socket(socket.AF_UNIX) as daemon, contextlib.suppress(DisconnectedError):
                    daemon.connect(locations.socket)
                    asking, answering = MessageReader(client), MessageReader(daemon)
                    while True:
                        request = json.loads(asking.read())
                        daemon.sendall(frame(request))
                        while (answer := json.loads(answering.read())).get("id") != request["id"]:
                            client.sendall(frame(answer))
                        if request["method"] == method:
                            lost.append(request)
                            Path(path).unlink()
                            listener.close()
                            os.kill(told["pid"], signal.SIGKILL)
                            break
                        client.sendall(frame(answer))

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        yield lost
        thread.join(60)
