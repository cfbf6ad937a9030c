"""A daemon that is silent for long: it is asked for a sign of life, and what it may have read is not sent again."""

import json  # noqa: TID251 - the daemon here is a script
import socket
import threading
from collections.abc import Callable

import pytest

from sessiond.client import blocking, wire
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import (
    DaemonUnresponsiveError,
    DisconnectedError,
    MessageReader,
    RequestNotReadError,
    frame,
)
from support.patience import BOUND


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(blocking, "STATUS_SECONDS", BOUND)
    monkeypatch.setattr(wire, "_CHUNK", 1)  # so that no script takes more than the message that it reads


def talking_to(
    script: Callable[[socket.socket, MessageReader], None],
) -> tuple[BlockingDaemon, list[int], threading.Thread]:
    """A client of a daemon that does what the script says, and how often it was dialled."""
    ours, theirs = socket.socketpair()
    dialled: list[int] = []

    def dial() -> socket.socket:
        dialled.append(1)
        if len(dialled) > 1:
            raise AssertionError("it was dialled again")
        return ours

    def run() -> None:
        with theirs:
            script(theirs, MessageReader(theirs))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return BlockingDaemon(dial), dialled, thread


def test_a_request_may_take_long_while_signs_of_life_come() -> None:
    def script(sock: socket.socket, reader: MessageReader) -> None:
        request = json.loads(reader.read())
        for _ in range(3):
            sign = json.loads(reader.read())
            assert sign["method"] == "server/status"
            sock.sendall(frame({"jsonrpc": "2.0", "id": sign["id"], "result": {}}))
        sock.sendall(frame({"jsonrpc": "2.0", "id": request["id"], "result": {"done": True}}))

    daemon, _, thread = talking_to(script)
    with daemon:
        assert daemon.call("session/compact") == {"done": True}
    thread.join(BOUND)


def test_without_a_sign_of_life_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "STATUS_SECONDS", 0.05)
    ended = threading.Event()

    def script(_sock: socket.socket, _reader: MessageReader) -> None:
        ended.wait(BOUND)

    daemon, _, thread = talking_to(script)
    with daemon, pytest.raises(DaemonUnresponsiveError):
        daemon.call("session/list")
    ended.set()
    thread.join(BOUND)


def test_a_large_request_waits_for_room_as_long_as_the_daemon_answers_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "_CHUNK", 1_000_000)
    ours, theirs = socket.socketpair()
    asked: list[str] = []

    def see_one_who_asks() -> socket.socket:
        if not asked:
            asked.append("nothing yet")
            return ours
        other, end = socket.socketpair()

        def answer() -> None:
            with end:
                question = json.loads(MessageReader(end).read())
                asked.append(question["method"])
                end.sendall(frame({"jsonrpc": "2.0", "id": question["id"], "result": {}}))
            if len(asked) == 4:
                request = json.loads(MessageReader(theirs).read())
                theirs.sendall(frame({"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}))

        threading.Thread(target=answer, daemon=True).start()
        return other

    large = {"text": "x" * 1_000_000}
    with theirs, BlockingDaemon(see_one_who_asks) as daemon:
        assert daemon.call("session/append", large) == large
    assert set(asked[1:]) == {"server/status"}


def test_a_daemon_that_takes_no_request_and_answers_nobody_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocking, "STATUS_SECONDS", 0.05)
    ends: list[socket.socket] = []

    def full() -> socket.socket:
        ours, theirs = socket.socketpair()
        ends.append(theirs)
        return ours

    with BlockingDaemon(full) as daemon, pytest.raises(DaemonUnresponsiveError):
        daemon.call("session/append", {"text": "x" * 1_000_000})
    for end in ends:
        end.close()


def test_a_request_that_may_have_been_read_is_not_sent_again() -> None:
    def script(sock: socket.socket, reader: MessageReader) -> None:
        reader.read()
        sock.recv(1, socket.MSG_PEEK)  # the question for a sign of life is there, and is never read

    daemon, dialled, thread = talking_to(script)
    with daemon, pytest.raises(DisconnectedError) as raised:
        daemon.call("session/append")
    assert not isinstance(raised.value, RequestNotReadError)
    assert dialled == [1]
    thread.join(BOUND)


def test_an_answer_that_came_before_the_end_is_taken_even_if_a_sign_of_life_can_no_longer_be_asked_for() -> (
    None
):
    ours, theirs = socket.socketpair()
    with theirs, BlockingDaemon(lambda: ours) as daemon:
        theirs.sendall(frame({"jsonrpc": "2.0", "id": 1, "result": {"done": True}}))
        theirs.close()
        daemon._request_status()
        text = daemon._receive()[0]
        assert json.loads(text)["result"] == {"done": True}
        with pytest.raises(DisconnectedError) as raised:
            daemon._receive()
        assert not isinstance(raised.value, RequestNotReadError)
