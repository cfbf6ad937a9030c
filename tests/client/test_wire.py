"""The thin client's messages, over real socket pairs."""

import json  # noqa: TID251 - what the thin client speaks
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import (
    DisconnectedError,
    InvalidResponseError,
    MessageReader,
    RequestNotReadError,
    RpcError,
    frame,
    members,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), JSON, min_size=1, max_size=4),
    st.sampled_from([None, 1, 3]),
)
def test_each_member_is_found_with_the_text_it_was_sent_as(
    message: dict[str, object], indent: int | None
) -> None:
    text = json.dumps(message, indent=indent)
    found = members(text)
    assert {name: value for name, (value, _, _) in found.items()} == message
    assert {name: json.loads(text[start:end]) for name, (_, start, end) in found.items()} == message


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{", '{"a"}', '{"a":1', '{"a":1,}', "{1:2}", "[" * 100_000, "{}"]
)
def test_a_text_that_is_no_message_is_told_from_one(text: str) -> None:
    with pytest.raises(InvalidResponseError):
        members(text)


def test_a_message_that_comes_byte_by_byte_is_read_whole() -> None:
    here, there = socket.socketpair()
    with here, there:
        sender = threading.Thread(
            target=lambda: [there.send(bytes([byte])) for byte in frame({"a": "é"}) * 2]
        )
        sender.start()
        reader = MessageReader(here)
        assert [json.loads(reader.read()), json.loads(reader.read())] == [{"a": "é"}] * 2
        sender.join()


@pytest.mark.parametrize("header", [b"Content-Length: x\r\n\r\n", b"Other: 1\r\n\r\n", b"y" * 9000])
def test_broken_framing_is_not_waited_for(header: bytes) -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(header)
        with pytest.raises(InvalidResponseError):
            MessageReader(here).read()


def test_a_value_that_json_cannot_hold_is_refused_before_it_is_sent() -> None:
    for value in (float("nan"), "\ud800"):
        with pytest.raises(ValueError, match=r".+"):
            frame({"a": value})


def test_results_come_decoded_or_exactly_as_they_were_sent() -> None:
    with answering(lambda asked: [{"id": asked["id"], "result": {"big": 10**30, "text": "é"}}]) as daemon:
        assert daemon.call("m") == {"big": 10**30, "text": "é"}
        assert daemon.call_text("m") == '{"big":1000000000000000000000000000000,"text":"é"}'


def test_a_refusal_is_raised_with_its_kind() -> None:
    error = {"code": 1404, "message": "no", "data": {"kind": "sessionNotFound", "retryable": False}}
    with (
        answering(lambda asked: [{"id": asked["id"], "error": error}]) as daemon,
        pytest.raises(RpcError) as raised,
    ):
        daemon.call("m")
    assert (raised.value.code, raised.value.kind, raised.value.retryable) == (1404, "sessionNotFound", False)


def test_notifications_that_come_during_a_call_are_kept_and_requests_are_declined() -> None:
    declined: list[Any] = []

    def answer(asked: dict[str, object]) -> list[dict[str, object]]:
        if asked["method"] == "end":
            return []
        return [
            {"method": "note", "params": {"n": 1}},
            {"id": "theirs", "method": "client/summarize", "params": {}},
            {"id": asked["id"], "result": {}},
        ]

    with answering(answer, declined.append) as daemon:
        daemon.call("m")
        with pytest.raises(DisconnectedError):
            daemon.call("end")
        assert list(daemon.notifications()) == [("note", {"n": 1})]
    assert declined[0]["error"]["code"] == -32601


def test_a_request_that_a_leaving_daemon_never_read_is_sent_to_the_next() -> None:
    here, there = socket.socketpair()
    there_again = answering(lambda asked: [{"id": asked["id"], "result": {"n": 2}}])
    dialled = [here, there_again.sock]

    def dial() -> socket.socket:
        found = dialled.pop(0)
        if found is here:
            threading.Timer(0.05, there.close).start()  # closes over the unread request
        return found

    with there_again, BlockingDaemon(dial) as daemon:
        assert daemon.call("m") == {"n": 2}


def test_a_request_that_was_read_and_not_answered_is_not_repeated() -> None:
    with answering(lambda asked: []) as daemon:
        with pytest.raises(DisconnectedError) as raised:
            daemon.call("m")
        assert not isinstance(raised.value, RequestNotReadError)


class answering:
    """A daemon in a thread: it sends what `answer` returns for a request, and without that ends."""

    def __init__(
        self,
        answer: Callable[[dict[str, object]], list[dict[str, object]]],
        replied: Callable[[dict[str, object]], object] = lambda message: None,
    ) -> None:
        self.sock, self._there = socket.socketpair()
        self._answer, self._replied = answer, replied
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> BlockingDaemon:
        self._thread.start()
        self._daemon = BlockingDaemon(lambda: self.sock)
        return self._daemon

    def __exit__(self, *_: object) -> None:
        self._daemon.close()
        self._thread.join()
        self._there.close()

    def _serve(self) -> None:
        reader = MessageReader(self._there)
        while True:
            try:
                message = json.loads(reader.read())
            except DisconnectedError:
                return
            if "method" not in message:
                self._replied(message)
                continue
            answers = self._answer(message)
            for answer in answers:
                self._there.sendall(frame({"jsonrpc": "2.0", **answer}))
            if not answers:
                self._there.shutdown(socket.SHUT_RDWR)
                return
