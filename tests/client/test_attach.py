"""An editor that started its server stays attached while daemons come and go."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sessiond.client.daemon_socket import read_endpoint
from sessiond.paths import Locations
from support.attached import Attached, Met, ScriptedDaemon, a_scripted_daemon, attached
from support.homes import a_home
from support.patience import BOUND

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NOT_STARTED = {"SESSIOND_NO_AUTOSTART": "1"}


@contextlib.contextmanager
def an_editor() -> Iterator[tuple[Attached, ScriptedDaemon, Met]]:
    """An editor that has been greeted by a daemon of the test's own, and the daemon."""
    with (
        a_home() as locations,
        a_scripted_daemon(locations) as daemon,
        attached(locations, **NOT_STARTED) as editor,
    ):
        met = daemon.meet()
        hello = editor.ask("initialize", rootUri="file:///x")
        met.greet()
        editor.answer(hello)
        yield editor, daemon, met


def heard(met: Met, count: int) -> list[Any]:
    return [met.hear()["method"] for _ in range(count)]


def test_messages_pass_both_ways_in_order() -> None:
    with an_editor() as (editor, _, met):
        for number in range(50):
            editor.notify("note", number=number)
            met.say(method="note", params={"number": number})
        assert [met.hear()["params"]["number"] for _ in range(50)] == list(range(50))
        assert [editor.read()["params"]["number"] for _ in range(50)] == list(range(50))


def test_large_messages_pass_both_ways_at_once() -> None:
    big = "x" * (4 << 20)
    with an_editor() as (editor, _, met):
        met_says = {"text": big}
        editor.notify("note", text=big)
        assert met.hear()["params"]["text"] == big
        met.say(method="note", params=met_says)
        assert editor.read()["params"]["text"] == big


def test_the_next_daemon_is_greeted_before_it_hears_anything_else() -> None:
    with an_editor() as (editor, daemon, met):
        editor.notify("initialized")
        editor.notify("textDocument/didOpen", textDocument={"uri": "file:///a", "text": ""})
        assert heard(met, 2) == ["initialized", "textDocument/didOpen"]
        met.go()
        question = editor.ask("textDocument/hover", textDocument={"uri": "file:///a"})
        again = daemon.meet()
        assert again.greet()["params"]["rootUri"] == "file:///x"
        assert heard(again, 2) == ["initialized", "textDocument/didOpen"]
        hover = again.hear()
        assert hover["id"] == question
        again.say(id=question, result={"contents": "said"})
        assert editor.read() == {"jsonrpc": "2.0", "id": question, "result": {"contents": "said"}}


def test_a_client_without_lsp_stays_attached_too() -> None:
    with (
        a_home() as locations,
        a_scripted_daemon(locations) as daemon,
        attached(locations, **NOT_STARTED) as client,
    ):
        met = daemon.meet()
        hello = client.ask("server/hello", clientId="reporter")
        assert met.greet()["params"]["clientId"] == "reporter"
        client.answer(hello)
        met.go()
        question = client.ask("session/list")
        again = daemon.meet()
        assert again.greet()["params"]["clientId"] == "reporter"
        assert again.hear()["id"] == question
        again.say(id=question, result={})
        assert client.read()["id"] == question


@pytest.mark.parametrize("stored", [True, False])
def test_an_append_whose_entries_have_ids_is_stored_once_though_its_daemon_was_killed(stored: bool) -> None:
    entry = {"type": "custom", "customType": "n", "data": 1, "id": "mine"}
    with a_home() as locations, attached(locations) as client:
        client.initialize()
        client.call("session/create", cwd="/w", id="atlas-one")
        if stored:
            client.call("session/append", sessionId="atlas-one", entries=[entry])
        pid = read_endpoint(locations)["pid"]
        os.kill(pid, signal.SIGSTOP)  # it reads nothing more, and responds to nothing
        question = client.ask("session/append", sessionId="atlas-one", entries=[entry])
        os.kill(pid, signal.SIGKILL)
        [appended] = client.answer(question)["result"]["entries"]
        assert appended == {"id": "mine", "seq": 1, "status": "duplicate" if stored else "created"}
        assert client.call("session/info", sessionId="atlas-one")["session"]["lastSeq"] == 1


def test_an_append_without_ids_that_was_lost_names_the_ids_that_were_sent() -> None:
    with an_editor() as (editor, daemon, met):
        whole = editor.ask("session/append", sessionId="s", entries=[{"type": "custom", "id": "a"}])
        part = editor.ask(
            "session/append", sessionId="s", entries=[{"type": "custom", "id": "b"}, {"type": "custom"}]
        )
        assert heard(met, 2) == ["session/append"] * 2
        met.go()
        lost = editor.read()
        assert (lost["id"], lost["error"]["data"]["details"]) == (part, {"entryIds": ["b"]})
        again = daemon.meet()
        again.greet()
        assert again.hear()["id"] == whole


def test_a_question_that_was_lost_is_asked_again_and_a_change_is_not() -> None:
    with an_editor() as (editor, daemon, met):
        change = editor.ask("session/append", sessionId="s", entries=[])
        question = editor.ask("textDocument/hover")
        assert heard(met, 2) == ["session/append", "textDocument/hover"]
        met.go()
        lost = editor.read()
        assert (lost["id"], lost["error"]["data"]["kind"]) == (change, "outcomeUnknown")
        again = daemon.meet()
        again.greet()
        assert again.hear()["id"] == question
        again.say(id=question, result=None)
        assert editor.read()["id"] == question


def test_a_daemon_that_leaves_without_a_greeting_is_followed_by_another() -> None:
    with an_editor() as (editor, daemon, met):
        met.go()
        change = editor.ask("session/append", sessionId="s", entries=[])
        for _ in range(2):
            leaving = daemon.meet()
            leaving.hear()
            leaving.go()
        again = daemon.meet()
        again.greet()
        # It was given to nobody before, so it may be done now.
        assert again.hear()["id"] == change


def test_an_idle_editor_finds_the_daemon_again_and_does_not_start_it() -> None:
    with an_editor() as (editor, daemon, met):
        met.go()
        again = daemon.meet()
        again.greet()
        again.say(method="note", params={})
        assert editor.read()["method"] == "note"


def test_without_a_daemon_a_question_is_answered_with_the_reason() -> None:
    with an_editor() as (editor, daemon, met):
        daemon.stop_listening()
        met.go()
        answer = editor.answer(editor.ask("textDocument/hover"))
        assert answer["error"]["data"] == {"kind": "unreachable", "retryable": True, "details": None}
        assert editor.call("shutdown") is None
        editor.notify("exit")
        assert editor.end() == 0


def test_a_message_that_is_too_large_for_the_daemon_is_answered_and_not_sent_again() -> None:
    with an_editor() as (editor, daemon, met):
        answers: list[Any] = []
        reading = threading.Thread(
            target=lambda: answers.extend(editor.read() for _ in range(2)), daemon=True
        )
        reading.start()
        error = {"code": 1413, "message": "no", "data": {"kind": "tooLarge", "retryable": False}}
        large = editor.ask("session/append", sessionId="s", entries=["x" * (16 << 20)])
        met.sees_a_beginning()
        met.say(id=None, error=error)
        met.go()
        reading.join(BOUND)
        assert [answer["id"] for answer in answers] == [None, large]
        assert answers[1]["error"]["data"]["kind"] == "tooLarge"
        again = daemon.meet()
        again.greet()
        editor.notify("note")
        assert again.hear()["method"] == "note"


def test_exit_ends_it_with_the_connection() -> None:
    with an_editor() as (editor, _, met):
        editor.notify("exit")
        assert met.hear()["method"] == "exit"
        met.go()
        assert editor.end() == 0


def test_bytes_that_are_no_frame_are_answered_and_end_it() -> None:
    with (
        a_home() as locations,
        a_scripted_daemon(locations) as daemon,
        attached(locations, **NOT_STARTED) as editor,
    ):
        daemon.meet()
        assert editor.process.stdin is not None
        editor.process.stdin.write(b"garbage\r\n\r\n")
        editor.process.stdin.flush()
        assert editor.read()["error"]["data"]["kind"] == "parse"
        assert editor.end() == 1


def test_a_client_without_a_handshake_is_told_that_the_daemon_went_away(locations: Locations) -> None:
    with a_scripted_daemon(locations) as daemon, attached(locations, **NOT_STARTED) as editor:
        met = daemon.meet()
        editor.ask("server/status")
        assert met.hear()["method"] == "server/status"
        daemon.stop_listening()
        met.go()
        assert editor.end() == 1


@pytest.fixture
def locations() -> Iterator[Locations]:
    with a_home() as made:
        yield made
