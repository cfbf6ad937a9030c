"""Connections: two ends that are alike, joined in memory by the bytes they would send over a socket."""

import asyncio
import gc
import itertools
import time
from collections.abc import Awaitable, Callable

import pytest
from msgspec import Raw

from sessiond.rpc.connection import CANCEL, Connection
from sessiond.rpc.errors import ConnectionClosed, NotAwaited, RemoteError
from sessiond.rpc.framing import MAX_FRAME, CutOff, FrameTooLarge, FramingError, Mode, encode_frame
from sessiond.rpc.handler import Handler
from sessiond.rpc.memory import memory_pair
from sessiond.rpc.message import (
    INVALID_REQUEST,
    PARSE,
    EncodedResult,
    Head,
    decode_head,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from sessiond.rpc.receive_queue import LARGE_FRAME
from support.rpc_peers import Echo, Recorder, until


class Wire(asyncio.Transport):
    """A transport whose other end is the test: keeps every write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False
        self.reads = True
        self.ended = False

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


def wired(handler: Handler[Connection], *, max_frame: int = 1000) -> tuple[Connection, Wire]:
    connection, wire = Connection(handler, max_frame=max_frame), Wire()
    connection.connection_made(wire)
    return connection, wire


def frames(*bodies: bytes, mode: Mode = "contentLength") -> bytes:
    return b"".join(encode_frame(body, mode) for body in bodies)


async def feed(connection: Connection, wire: Wire, stream: bytes) -> None:
    """Have bytes arrive in pieces, as a socket does: only while the connection reads."""
    for at in range(0, len(stream), 65_536):
        connection.data_received(stream[at : at + 65_536])
        await until(lambda: wire.reads)


async def one_tick() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.mark.parametrize("mode", ["contentLength", "jsonLines"])
async def test_both_ends_call_and_answer_at_once(mode: Mode) -> None:
    left, right = memory_pair(Echo(), Echo(), mode=mode)
    calls = [end.call("echo", {"n": n}) for n in range(50) for end in (left, right)]
    answers = await asyncio.gather(*calls)
    assert answers == [Raw(b'{"n":%d}' % n) for n in range(50) for _ in "lr"]
    assert (left.unanswered, right.unanswered) == (0, 0)


async def test_messages_arrive_in_the_order_they_were_sent() -> None:
    theirs = Recorder()
    ours, _ = memory_pair(Recorder(), theirs)
    sent = [encode_notification("n", i) if i % 2 else encode_request(i, "r") for i in range(200)]
    for body in sent:
        ours.send_body(body)
        if body is sent[77]:
            await one_tick()
    await until(lambda: len(theirs.bodies) == 200)
    assert theirs.bodies == sent


async def test_an_error_comes_back_with_its_code_message_and_data() -> None:
    theirs = Recorder()
    ours, their_end = memory_pair(Recorder(), theirs)
    call = asyncio.ensure_future(ours.call("m"))
    await until(lambda: theirs.requests)
    their_end.fail(theirs.requests[0], 1404, "not there", {"kind": "sessionNotFound"})
    with pytest.raises(RemoteError) as caught:
        await call
    assert (caught.value.code, caught.value.message) == (1404, "not there")
    assert caught.value.data == Raw(b'{"kind":"sessionNotFound"}')


@pytest.mark.parametrize("error", [b"5", b"[]", b"{}", b'{"code":"x","message":1}', b"[" * 400 + b"]" * 400])
async def test_an_error_without_form_still_fails_the_call(error: bytes) -> None:
    connection, _ = wired(Recorder(), max_frame=10_000)
    call = asyncio.ensure_future(connection.call("m"))
    await one_tick()
    connection.data_received(frames(b'{"jsonrpc":"2.0","id":1,"error":' + error + b"}"))
    with pytest.raises(RemoteError) as caught:
        await call
    assert caught.value.data == Raw(error)


async def test_a_null_error_beside_a_result_is_no_error() -> None:
    connection, _ = wired(Recorder())
    call = asyncio.ensure_future(connection.call("m"))
    await one_tick()
    connection.data_received(frames(b'{"jsonrpc":"2.0","id":1,"error":null,"result":[1]}'))
    assert await call == Raw(b"[1]")


async def test_a_canceled_call_tells_the_peer_which() -> None:
    theirs = Recorder()
    ours, their_end = memory_pair(Recorder(), theirs)
    call = asyncio.ensure_future(ours.call("m"))
    await until(lambda: theirs.requests)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: theirs.notifications)
    assert decode_head(theirs.bodies[-1]).method == CANCEL
    assert decode_head(theirs.bodies[-1]).params == Raw(b'{"id":1}')
    their_end.fail(1, -32800, "canceled")
    assert their_end.unanswered == 0


async def test_a_call_that_times_out_tells_the_peer_too() -> None:
    theirs = Recorder()
    ours, _ = memory_pair(Recorder(), theirs)
    with pytest.raises(TimeoutError):
        await ours.call("m", timeout=0.01)
    await until(lambda: theirs.notifications == [CANCEL])


async def test_an_answer_that_comes_too_late_is_a_stray() -> None:
    mine = Recorder()
    connection, _ = wired(mine)
    with pytest.raises(TimeoutError):
        await connection.call("m", timeout=0)
    strays = [
        encode_result(1, 5),
        encode_result("x", 5),
        encode_error(99, 5, "m"),
        encode_error(None, 5, "m"),
    ]
    connection.data_received(frames(*strays))
    assert mine.strays == strays
    assert mine.complaints == []


async def test_a_request_is_answered_once() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request(7, "m")))
    assert connection.unanswered == 1
    connection.reply(7, None)
    with pytest.raises(NotAwaited):
        connection.reply(7, None)
    with pytest.raises(NotAwaited):
        connection.fail(8, 1, "never came")
    await one_tick()
    assert wire.writes == [frames(encode_result(7, None))]


async def test_a_withdrawn_request_gets_no_response() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request(7, "m"), encode_request(8, "m")))
    connection.withdraw(7)
    assert connection.unanswered == 1
    with pytest.raises(NotAwaited):
        connection.reply(7, None)
    connection.reply(8, None)
    await one_tick()
    assert wire.writes == [frames(encode_result(8, None))]


async def test_after_the_end_of_the_stream_the_last_withdrawn_request_closes_the_connection() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request(7, "m")))
    assert connection.eof_received()
    connection.withdraw(7)
    assert wire.closed


async def test_a_reply_that_cannot_be_encoded_leaves_its_request_unanswered() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request(7, "m")))
    with pytest.raises(TypeError):
        connection.reply(7, object())
    connection.fail(7, -32603, "The reply could not be encoded.")
    await one_tick()
    assert wire.writes == [frames(encode_error(7, -32603, "The reply could not be encoded."))]


async def test_an_id_that_is_still_in_work_is_refused_and_the_first_request_keeps_it() -> None:
    mine = Recorder()
    connection, _ = wired(mine)
    connection.data_received(frames(encode_request(7, "m"), encode_request(7, "m"), encode_request("7", "m")))
    assert mine.requests == [7, "7"]
    assert [(error.code, error.id) for error in mine.complaints] == [(INVALID_REQUEST, None)]
    connection.data_received(frames(b'{"jsonrpc":"2.0","id":7,"method":1}'))
    assert [error.id for error in mine.complaints] == [None, None]
    connection.reply(7, None)
    connection.data_received(frames(encode_request(7, "m")))
    assert mine.requests == [7, "7", 7]


async def test_broken_bodies_are_answered_and_the_connection_lives_on() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.data_received(
        frames(b"{", b"[]", b'{"jsonrpc":"2.0","id":"a","method":4}', b"", encode_request(1, "m"))
    )
    assert [(error.code, error.id) for error in mine.complaints] == [
        (PARSE, None),
        (INVALID_REQUEST, None),
        (INVALID_REQUEST, "a"),
        (PARSE, None),
    ]
    assert mine.requests == [1]
    assert connection.unanswered == 1
    assert not wire.closed


async def test_a_lone_surrogate_reaches_the_handler_replaced() -> None:
    mine = Recorder()
    connection, _ = wired(mine)
    connection.data_received(frames(rb'{"jsonrpc":"2.0","method":"n","params":"\ud83d"}'))
    assert mine.bodies == [rb'{"jsonrpc":"2.0","method":"n","params":"\ufffd"}']


async def test_messages_sent_in_one_tick_go_out_in_one_write() -> None:
    connection, wire = wired(Recorder())
    bodies = [encode_notification("n", i) for i in range(5)]
    for body in bodies:
        connection.send_body(body)
    assert wire.writes == []
    assert connection.queued_bytes == len(frames(*bodies))
    await one_tick()
    assert wire.writes == [frames(*bodies)]
    assert connection.queued_bytes == 0
    connection.notify("n")
    await one_tick()
    assert wire.writes[1:] == [frames(encode_notification("n"))]


async def test_replies_to_one_read_go_out_in_one_write_before_the_read_returns() -> None:
    connection, wire = wired(Echo())
    connection.data_received(frames(*(encode_request(i, "m", i) for i in range(1, 20))))
    assert wire.writes == [frames(*(encode_result(i, i) for i in range(1, 20)))]
    await one_tick()
    assert len(wire.writes) == 1


async def test_the_peer_is_answered_in_the_mode_it_speaks() -> None:
    connection, wire = wired(Echo())
    modes = [connection.mode]
    connection.data_received(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}\n')
    modes.append(connection.mode)
    assert modes == ["contentLength", "jsonLines"]
    assert wire.writes == [b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}\n']


async def test_a_response_encoded_elsewhere_answers_its_request() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request(7, "m")))
    connection.reply_body(7, encode_result(7, "elsewhere"))
    assert connection.unanswered == 0
    await one_tick()
    assert wire.writes == [frames(encode_result(7, "elsewhere"))]


async def test_a_peer_that_does_not_read_grows_what_is_queued_and_drain_waits_for_it() -> None:
    theirs = Recorder()
    ours, their_end = memory_pair(Recorder(), theirs)
    their_end.pause()
    for i in range(100):
        ours.notify("n", "x" * 10_000)
        assert ours.queued_bytes > i * 10_000
    draining = asyncio.ensure_future(ours.drain())
    await one_tick()
    assert ours.queued_bytes > 1_000_000
    assert not draining.done()
    assert theirs.notifications == []
    their_end.resume()
    await draining
    await until(lambda: len(theirs.notifications) == 100)
    assert ours.queued_bytes == 0
    await ours.drain()


async def test_a_paused_connection_holds_what_was_already_read_and_keeps_its_order() -> None:
    class PausesAtEach(Echo):
        def received(self, connection: Connection, head: Head, body: bytes) -> None:
            super().received(connection, head, body)
            connection.pause()

    mine = PausesAtEach()
    connection, wire = wired(mine)
    connection.data_received(frames(*(encode_request(i, "m", i) for i in range(4))))
    for seen in range(1, 5):
        assert mine.requests == list(range(seen))
        await one_tick()
        assert mine.requests == list(range(seen))
        connection.resume()
        await one_tick()
    assert b"".join(wire.writes) == frames(*(encode_result(i, i) for i in range(4)))


async def test_nothing_is_read_while_paused_or_while_read_messages_wait() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.pause()
    connection.resume()
    connection.pause()
    await one_tick()
    reads = [wire.reads]
    connection.resume()
    await one_tick()
    reads.append(wire.reads)
    connection.data_received(frames(*[encode_notification("n")] * 1000))
    while len(mine.notifications) < 1000:
        reads.append(wire.reads)
        await asyncio.sleep(0)
    reads.append(wire.reads)
    assert reads == [False, True, *[False] * (len(reads) - 3), True]
    assert len(reads) > 4


async def test_a_second_answer_to_one_call_is_a_stray() -> None:
    mine = Recorder()
    connection, _ = wired(mine)
    call = asyncio.ensure_future(connection.call("m"))
    await one_tick()
    connection.data_received(frames(encode_result(1, "first"), encode_result(1, "second")))
    assert await call == Raw(b'"first"')
    assert mine.strays == [encode_result(1, "second")]


async def test_ends_that_close_at_once_both_end_and_hear_nothing_more() -> None:
    recorders = Recorder(), Recorder()
    pair = memory_pair(*recorders)
    for one in pair:
        one.notify("n")
        one.close()
    for one in pair:
        await one.wait_closed()
    assert [(recorder.notifications, recorder.ends) for recorder in recorders] == [([], [None])] * 2


async def test_a_peer_that_leaves_without_reading_does_not_keep_the_other_end_open() -> None:
    mine = Recorder()
    ours, their_end = memory_pair(mine, Recorder())
    their_end.pause()
    ours.notify("n", "x" * 100_000)
    await one_tick()
    their_end.close()
    await their_end.wait_closed()
    await ours.wait_closed()
    assert mine.ends == [None]


async def test_a_flood_of_small_messages_leaves_the_loop_to_others() -> None:
    theirs = Recorder()
    ours, their_end = memory_pair(Recorder(), theirs)
    for _ in range(5000):
        ours.notify("n")
    seen = [0]
    while seen[-1] < 5000:
        await asyncio.sleep(0)
        seen.append(len(theirs.notifications))
    assert max(after - before for before, after in itertools.pairwise(seen)) < 1000
    call = asyncio.ensure_future(ours.call("m"))
    await until(lambda: theirs.requests)
    their_end.reply(1, 5)
    assert await call == Raw(b"5")


async def test_a_flood_before_the_end_of_the_stream_is_delivered_whole() -> None:
    mine = Echo()
    connection, wire = wired(mine)
    connection.data_received(frames(*(encode_request(i, "m", i) for i in range(1000))))
    connection.eof_received()
    await until(lambda: wire.closed)
    assert mine.requests == list(range(1000))
    assert b"".join(wire.writes) == frames(*(encode_result(i, i) for i in range(1000)))


async def test_an_unfinished_frame_has_a_beginning_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, _ = wired(Recorder())
    whole = frames(encode_notification("n"))
    seconds = [connection.frame_seconds]
    now = 1_000.0
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "time", lambda: now)
        for piece in (whole[:5], whole[5:9], whole[9:] + whole[:-1], whole[-1:]):
            connection.data_received(piece)
            now += 10
            seconds.append(connection.frame_seconds)
    assert seconds == [0, 10, 20, 10, 0]


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (b"Content-Length: 1001\r\n\r\n" + b"x" * 1001, FrameTooLarge),
        (b"GET / HTTP/1.1\r\n\r\n", FramingError),
    ],
)
async def test_a_bad_frame_is_complained_about_once_and_ends_the_connection(
    stream: bytes, error: type[FramingError]
) -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_notification("first")) + stream)
    assert mine.notifications == ["first"]
    (written,) = wire.writes
    head = decode_head(written.partition(b"\r\n\r\n")[2])
    assert head.id is None
    assert isinstance(head.error, Raw)
    assert b"-32700" in bytes(head.error)
    assert wire.closed
    assert mine.ends == []
    connection.connection_lost(None)
    assert len(mine.ends) == 1
    assert isinstance(mine.ends[0], error)


async def test_a_refused_body_is_discarded_before_the_connection_closes() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_notification("first")) + b"Content-Length: 2000\r\n\r\n")
    (written,) = wire.writes
    assert b"announces 2000 bytes; the limit is 1000" in written
    assert wire.ended
    closed = []
    for _ in range(20):
        connection.data_received(b"x" * 100)
        closed.append(wire.closed)
    assert closed == [False] * 19 + [True]
    assert mine.notifications == ["first"]
    assert len(wire.writes) == 1


async def test_texts_of_editors_that_are_too_large_are_left_out_once_that_is_wanted() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    text = b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":"%b"}' % (b"x" * 2000)
    connection.skip_large_texts()
    connection.data_received(frames(text, encode_notification("next")))
    assert mine.notifications == ["next"]
    assert not wire.closed


async def test_a_bad_first_line_is_complained_about_in_json_lines() -> None:
    connection, wire = wired(Recorder())
    connection.data_received(b"{" * 2000)
    assert wire.ended
    connection.data_received(b"{" * 2000)
    assert connection.eof_received() is False  # now the transport closes
    assert [write[:1] for write in wire.writes] == [b"{"]
    assert connection.mode == "jsonLines"


async def test_bodies_before_a_bad_frame_reach_a_paused_owner_before_the_end() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.pause()
    connection.data_received(frames(encode_notification("first")) + b"garbage\n")
    assert wire.writes == []
    connection.resume()
    await one_tick()
    assert mine.notifications == ["first"]
    assert wire.closed


async def test_the_end_of_the_stream_inside_a_body_is_the_reason_of_the_close() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_notification("n"))[:-1])
    assert not connection.eof_received()
    assert wire.closed
    connection.connection_lost(None)
    assert [type(end) for end in mine.ends] == [CutOff]


async def test_the_end_of_the_stream_delivers_a_last_line_without_newline() -> None:
    mine = Echo()
    connection, wire = wired(mine)
    connection.data_received(b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert mine.requests == []
    connection.eof_received()
    assert wire.writes == [b'{"jsonrpc":"2.0","id":1,"result":null}\n']
    assert wire.closed


async def test_requests_in_work_are_answered_after_the_peer_has_said_all_it_wants() -> None:
    mine = Recorder()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_request(1, "m"), encode_request(2, "m")))
    assert connection.eof_received()
    connection.reply(2, "b")
    await one_tick()
    assert wire.writes == [frames(encode_result(2, "b"))]
    connection.reply(1, "a")
    assert wire.closed
    assert b"".join(wire.writes) == frames(encode_result(2, "b"), encode_result(1, "a"))
    connection.connection_lost(None)
    assert mine.ends == [None]


class Leaving(Recorder):
    """Owes nothing to a peer that sends no more."""

    def ended(self, connection: Connection) -> None:
        connection.close()


async def test_an_owner_may_leave_a_peer_that_sends_no_more_without_the_answers_that_it_owes() -> None:
    mine = Leaving()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_request(1, "m"), encode_notification("n")))
    assert not connection.eof_received()
    assert wire.closed
    assert mine.notifications == ["n"]


async def test_calls_in_flight_fail_when_the_peer_can_answer_no_more() -> None:
    connection, _ = wired(Recorder())
    call = asyncio.ensure_future(connection.call("m"))
    connection.data_received(frames(encode_request(1, "m")))
    await one_tick()
    connection.eof_received()
    with pytest.raises(ConnectionClosed):
        await call
    with pytest.raises(ConnectionClosed):
        await connection.call("m")


@pytest.mark.parametrize("end", [Connection.close, Connection.abort])
@pytest.mark.parametrize("whose", [0, 1])
async def test_a_close_fails_the_calls_in_flight_at_both_ends(
    end: Callable[[Connection], None], whose: int
) -> None:
    recorders = Recorder(), Recorder()
    pair = memory_pair(*recorders)
    calls = [asyncio.ensure_future(one.call("m")) for one in pair for _ in range(3)]
    await until(lambda: all(len(recorder.requests) == 3 for recorder in recorders))
    end(pair[whose])
    # The other end may still answer until it finds that nobody listens.
    other = pair[1 - whose]
    for id in recorders[1 - whose].requests:
        other.reply(id, None)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionClosed] * 6
    await until(lambda: all(recorder.ends for recorder in recorders))
    assert [len(recorder.ends) for recorder in recorders] == [1, 1]
    for one in pair:
        await one.wait_closed()
        one.notify("n")
        one.reply(99, None)
        one.close()
        one.abort()
        with pytest.raises(ConnectionClosed):
            await one.call("m")
        with pytest.raises(ConnectionClosed):
            await one.drain()


async def test_messages_sent_before_a_close_arrive() -> None:
    theirs = Recorder()
    ours, their_end = memory_pair(Recorder(), theirs)
    for _ in range(3):
        ours.notify("n")
    ours.close()
    await their_end.wait_closed()
    assert theirs.notifications == ["n"] * 3
    assert theirs.ends == [None]


async def test_a_handler_that_closes_gets_nothing_more() -> None:
    class ClosesAtOnce(Recorder):
        def received(self, connection: Connection, head: Head, body: bytes) -> None:
            super().received(connection, head, body)
            connection.reply(1, "bye")
            connection.close()

    mine = ClosesAtOnce()
    connection, wire = wired(mine)
    connection.data_received(frames(encode_request(1, "m"), encode_request(2, "m")))
    assert mine.requests == [1]
    assert b"".join(wire.writes) == frames(encode_result(1, "bye"))


async def test_the_peers_last_complaint_explains_why_calls_failed() -> None:
    mine = Recorder()
    ours, their_end = memory_pair(mine, Recorder())
    call = asyncio.ensure_future(ours.call("m", {"much": "x"}))
    await one_tick()
    their_end.fail(None, PARSE, "Too much.")
    their_end.close()
    with pytest.raises(ConnectionClosed) as caught:
        await call
    assert isinstance(caught.value.__cause__, RemoteError)


async def test_a_broken_transport_is_the_reason_that_everybody_is_told() -> None:
    mine = Recorder()
    connection, _ = wired(mine)
    call = asyncio.ensure_future(connection.call("m"))
    await one_tick()
    reason = ConnectionResetError("gone")
    connection.connection_lost(reason)
    with pytest.raises(ConnectionClosed) as caught:
        await call
    assert caught.value.__cause__ is reason
    assert mine.ends == [reason]
    await connection.wait_closed()


async def test_a_drain_is_released_when_the_connection_is_lost() -> None:
    ours, their_end = memory_pair(Recorder(), Recorder())
    their_end.pause()
    ours.notify("n", "x" * 100_000)
    drains: list[Awaitable[None]] = [asyncio.ensure_future(ours.drain()) for _ in range(2)]
    await one_tick()
    ours.abort()
    results = await asyncio.gather(*drains, return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionClosed] * 2


async def test_an_abandoned_connection_leaves_nothing_behind() -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    for end in (Connection.close, Connection.abort):
        ours, their_end = memory_pair(Recorder(), Echo())
        calls = [asyncio.ensure_future(ours.call("m")) for _ in range(3)]
        await asyncio.sleep(0)
        calls[0].cancel()
        end(their_end)
        calls[1].cancel()
        await asyncio.wait(calls)
        assert isinstance(calls[2].exception(), ConnectionClosed | None)
        await ours.wait_closed()
        await their_end.wait_closed()
    del ours, their_end, calls
    gc.collect()
    await one_tick()
    assert complaints == []


async def test_the_time_of_a_frame_does_not_run_while_this_end_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, _ = wired(Recorder())
    whole = frames(encode_notification("n"))
    connection.data_received(whole[:9])
    time = asyncio.get_running_loop().time
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: time() + 100)
    assert connection.frame_seconds >= 100
    connection.pause()
    assert connection.frame_seconds == 0
    connection.resume()
    await until(lambda: 0 < connection.frame_seconds < 100)


class Announced(Recorder):
    """Remembers which large frames it was asked to make room for."""

    def __init__(self) -> None:
        super().__init__()
        self.large: list[int | str] = []

    def announced(self, connection: Connection, size: int) -> None:
        self.large.append(size)

    def arrived(self, connection: Connection) -> None:
        self.large.append(f"behind {len(self.bodies)} messages")


async def test_a_large_frame_is_announced_when_it_begins_and_arrives_once() -> None:
    mine = Announced()
    connection, wire = wired(mine, max_frame=MAX_FRAME)
    small = frames(encode_notification("small"))
    large = encode_notification("large", "x" * LARGE_FRAME)
    stream = small + frames(large) + small + frames(large) + small
    await feed(connection, wire, stream)
    assert mine.notifications == ["small", "large", "small", "large", "small"]
    assert [number for number in mine.large if isinstance(number, int)] == [len(large)] * 2
    assert len(mine.large) == 4


async def test_a_long_line_is_announced_as_what_it_may_become() -> None:
    mine = Announced()
    connection, wire = wired(mine, max_frame=MAX_FRAME)
    line = encode_notification("large", "x" * 2 * LARGE_FRAME) + b"\n"
    await feed(connection, wire, line)
    assert mine.large == [MAX_FRAME, "behind 1 messages"]


async def test_messages_that_are_much_work_do_not_keep_the_others_waiting() -> None:
    order: list[str] = []

    class Noted(Recorder):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def received(self, connection: Connection, head: Head, body: bytes) -> None:
            order.append(self.name)
            until = time.perf_counter() + 0.0005
            while time.perf_counter() < until:
                pass

    flooding, modest = wired(Noted("flood"))[0], wired(Noted("modest"))[0]
    asyncio.get_running_loop().call_soon(modest.data_received, frames(encode_notification("n")))
    flooding.data_received(frames(*[encode_notification("n")] * 200))
    await until(lambda: len(order) == 201)
    assert order.index("modest") < 50


async def test_others_are_heard_between_the_arrival_of_a_large_message_and_its_delivery() -> None:
    order: list[str] = []

    class Noted(Recorder):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def received(self, connection: Connection, head: Head, body: bytes) -> None:
            order.append(self.name)

    sending, _ = wired(Noted("large"), max_frame=MAX_FRAME)
    modest = wired(Noted("modest"))[0]
    sending.data_received(frames(encode_notification("large", "x" * LARGE_FRAME)))
    for _ in range(2):  # when it has been cut out, and when it has been decoded
        modest.data_received(frames(encode_notification("n")))
        await asyncio.sleep(0)
    await until(lambda: "large" in order)
    assert order == ["modest", "modest", "large"]


async def test_messages_after_a_large_one_are_delivered_behind_it() -> None:
    mine = Recorder()
    connection, wire = wired(mine, max_frame=MAX_FRAME)
    small, broken = encode_notification("small"), b'"' + b"x" * LARGE_FRAME
    large = encode_notification("large", "x" * LARGE_FRAME)
    connection.data_received(frames(small, large, small, broken, small, large))
    connection.eof_received()
    await until(lambda: wire.closed)
    assert mine.notifications == ["small", "large", "small", "small", "large"]
    assert [error.code for error in mine.complaints] == [PARSE]


async def test_a_large_message_is_handed_over_in_parts_as_the_transport_takes_them() -> None:
    connection, wire = wired(Recorder())
    large, small = encode_notification("large", "x" * 2_000_000), encode_notification("small")
    connection.send_body(large)
    connection.send_body(small)
    connection.pause_writing()
    await one_tick()
    assert wire.writes == []
    connection.resume_writing()
    await one_tick()
    assert b"".join(wire.writes) == frames(large, small)
    assert max(map(len, wire.writes)) < 600_000
    assert connection.queued_bytes == 0


async def test_closing_hands_over_all_that_was_sent() -> None:
    connection, wire = wired(Recorder())
    large = encode_notification("large", "x" * 2_000_000)
    connection.send_body(large)
    connection.pause_writing()
    connection.close()
    assert b"".join(wire.writes) == frames(large)
    assert wire.closed


@pytest.mark.parametrize("mode", ["contentLength", "jsonLines"])
async def test_a_result_in_parts_is_the_same_on_the_wire(mode: Mode) -> None:
    connection, wire = wired(Recorder())
    connection.data_received(frames(encode_request("null", "m"), mode=mode))
    connection.reply("null", EncodedResult([b'{"a":[', b"1,\n2", b"]}"]))
    await one_tick()
    body = b'{"jsonrpc":"2.0","id":"null","result":{"a":[1,\n2]}}'
    assert b"".join(wire.writes) == frames(body, mode=mode)
