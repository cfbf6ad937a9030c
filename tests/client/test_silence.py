"""A daemon that is silent for long: it is asked for a sign of life, and what it may have read is not sent again."""

import json  # noqa: TID251 - the daemon here is a script
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sessiond.client import blocking
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import (
    DaemonUnresponsiveError,
    DisconnectedError,
    RequestNotReadError,
    frame,
)
from support.patience import BOUND


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(blocking, "STATUS_SECONDS", BOUND)


def read(sock: socket.socket) -> Any:
    """Take one message, and not a byte of the next one."""
    with sock.makefile("rb", buffering=0) as stream:
        length = int(stream.readline().partition(b":")[2])
        stream.readline()
        body = b""
        while len(body) < length:
            body += stream.read(length - len(body))
        return json.loads(body)


def talking_to(
    script: Callable[[socket.socket], None],
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
            script(theirs)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return BlockingDaemon(dial), dialled, thread


def test_a_request_may_take_long_while_signs_of_life_come() -> None:
    def script(sock: socket.socket) -> None:
        request = read(sock)
        for _ in range(3):
            sign = read(sock)
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

    def script(_sock: socket.socket) -> None:
        ended.wait(BOUND)

    daemon, _, thread = talking_to(script)
    with daemon, pytest.raises(DaemonUnresponsiveError):
        daemon.call("session/list")
    ended.set()
    thread.join(BOUND)


def test_a_large_request_waits_for_room_as_long_as_the_daemon_answers_others() -> None:
    ours, theirs = socket.socketpair()
    asked: list[str] = []

    def see_one_who_asks() -> socket.socket:
        if not asked:
            asked.append("nothing yet")
            return ours
        other, end = socket.socketpair()

        def answer() -> None:
            with end:
                question = read(end)
                asked.append(question["method"])
                end.sendall(frame({"jsonrpc": "2.0", "id": question["id"], "result": {}}))
            if len(asked) == 4:
                request = read(theirs)
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
    def script(sock: socket.socket) -> None:
        read(sock)
        sock.recv(1, socket.MSG_PEEK)  # the question for a sign of life is there, and is never read

    daemon, dialled, thread = talking_to(script)
    with daemon, pytest.raises(DisconnectedError) as raised:
        daemon.call("session/append")
    assert not isinstance(raised.value, RequestNotReadError)
    assert dialled == [1]
    thread.join(BOUND)


class Reached(socket.socket):
    """A connection to a daemon that does something as soon as the first request has reached it."""

    then: Callable[[], None] | None = None

    def send(self, *message: Any) -> int:
        sent = super().send(*message)
        if self.then is not None:
            then, self.then = self.then, None
            then()
        return sent


@pytest.mark.parametrize("is_answered", [True, False])
def test_bytes_before_the_end_are_taken_even_if_a_sign_of_life_can_no_longer_be_asked_for(
    is_answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        blocking, "SILENCE_SECONDS", 0.0
    )  # a sign of life is asked for before anything is read
    ours, theirs = socket.socketpair()
    connection = Reached(fileno=ours.detach())

    def answer_and_end() -> None:
        with theirs:
            id = read(theirs)["id"]
            if is_answered:
                theirs.sendall(frame({"jsonrpc": "2.0", "id": id, "result": {"done": True}}))

    connection.then = answer_and_end
    with BlockingDaemon(iter([connection]).__next__) as daemon:
        if is_answered:
            assert daemon.call("session/append") == {"done": True}
        else:
            with pytest.raises(DisconnectedError) as raised:
                daemon.call("session/append")
            assert not isinstance(raised.value, RequestNotReadError)
