"""Connections over real unix sockets: partial reads, full kernel buffers, peers that vanish."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator

import pytest
from msgspec import Raw

from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import CutOff, encode_frame
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import encode_notification, encode_request, encode_result
from support.rpc_peers import PATIENCE, Echo, Recorder, until


@contextlib.asynccontextmanager
async def served(handler: Handler[Connection]) -> AsyncIterator[tuple[Connection, socket.socket]]:
    """A connection, and the raw socket at its other end."""
    near, far = socket.socketpair()
    far.setblocking(False)
    _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(handler), sock=near)
    try:
        yield connection, far
    finally:
        far.close()
        connection.abort()
        await connection.wait_closed()


@contextlib.asynccontextmanager
async def joined(
    a: Handler[Connection], b: Handler[Connection]
) -> AsyncIterator[tuple[Connection, Connection]]:
    loop = asyncio.get_running_loop()
    near, far = socket.socketpair()
    _, ours = await loop.create_connection(lambda: Connection(a), sock=near)
    _, theirs = await loop.create_connection(lambda: Connection(b), sock=far)
    try:
        yield ours, theirs
    finally:
        for connection in (ours, theirs):
            connection.close()
            await connection.wait_closed()


async def read_to_end(far: socket.socket) -> bytes:
    received = b""
    async with asyncio.timeout(PATIENCE):
        while piece := await asyncio.get_running_loop().sock_recv(far, 65536):
            received += piece
    return received


async def test_both_ends_call_each_other_with_small_and_large_bodies() -> None:
    async with joined(Echo(), Echo()) as pair:
        texts = [b'"' + b"x" * size + b'"' for size in (0, 1, 1000, 70_000, 1_000_000)] * 4
        calls = [end.call("echo", Raw(text)) for text in texts for end in pair]
        assert await asyncio.gather(*calls) == [Raw(text) for text in texts for _ in pair]


async def test_a_script_that_closes_its_half_gets_every_answer_and_then_the_end() -> None:
    mine = Recorder()
    async with served(mine) as (connection, far):
        requests = encode_request(1, "m") + b"\n" + encode_request(2, "m")
        await asyncio.get_running_loop().sock_sendall(far, requests)
        far.shutdown(socket.SHUT_WR)
        await until(lambda: mine.requests == [1, 2])
        connection.reply(1, "a")
        connection.reply(2, "b")
        assert await read_to_end(far) == encode_result(1, "a") + b"\n" + encode_result(2, "b") + b"\n"
        await connection.wait_closed()
        assert mine.ends == [None]


async def test_a_pause_after_the_end_of_the_stream_does_not_read_it_twice() -> None:
    mine = Recorder()
    async with served(mine) as (connection, far):
        await asyncio.get_running_loop().sock_sendall(far, encode_request(1, "m") + b"\n")
        await until(lambda: mine.requests)
        far.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionClosed):
            await connection.call("m")
        connection.pause()
        connection.resume()
        await asyncio.sleep(0)
        connection.reply(1, "a")
        assert (await read_to_end(far)).endswith(b"\n" + encode_result(1, "a") + b"\n")
        await connection.wait_closed()
        assert mine.ends == [None]


async def test_a_peer_that_vanishes_inside_a_body_is_a_cut_off() -> None:
    mine = Recorder()
    async with served(mine) as (connection, far):
        await asyncio.get_running_loop().sock_sendall(far, b"Content-Length: 10\r\n\r\n{")
        far.close()
        await connection.wait_closed()
        assert [type(end) for end in mine.ends] == [CutOff]


async def test_a_peer_that_vanishes_with_requests_in_work_is_noticed_at_the_reply() -> None:
    mine = Recorder()
    async with served(mine) as (connection, far):
        await asyncio.get_running_loop().sock_sendall(
            far, encode_frame(encode_request(1, "m"), "contentLength")
        )
        await until(lambda: mine.requests)
        far.close()
        connection.reply(1, None)
        await connection.wait_closed()
        assert len(mine.ends) == 1


async def test_a_bad_frame_is_explained_before_the_socket_closes() -> None:
    mine = Recorder()
    async with served(mine) as (_, far):
        await asyncio.get_running_loop().sock_sendall(far, b"Content-Length: -5\r\n\r\n{}")
        assert b'"id":null' in await read_to_end(far)
        assert len(mine.ends) == 1


async def test_a_reader_that_is_slow_is_counted_and_catches_up_without_loss() -> None:
    theirs = Recorder()
    async with joined(Recorder(), theirs) as (ours, their_end):
        their_end.pause()
        body = encode_notification("n", "x" * 1000)
        for _ in range(3000):
            ours.send_body(body)
        draining = asyncio.ensure_future(ours.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        assert 0 < ours.queued_bytes < 3000 * len(encode_frame(body, "contentLength"))
        their_end.resume()
        await draining
        await until(lambda: len(theirs.notifications) == 3000)
        assert ours.queued_bytes == 0


async def test_a_peer_that_reads_nothing_does_not_hold_up_an_abort() -> None:
    mine = Recorder()
    async with served(mine) as (connection, _):
        connection.notify("n", "x" * 5_000_000)
        connection.close()
        await asyncio.sleep(0)
        assert mine.ends == []
        connection.abort()
        await connection.wait_closed()
        assert mine.ends == [None]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the two apart")
async def test_a_peer_that_vanishes_while_much_is_written_ends_the_connection_once() -> None:
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))
    for size in range(0, 2_000_000, 100_000):
        mine = Recorder()
        async with served(mine) as (connection, far):
            connection.notify("m", Raw(b'"' + b"x" * 8_000_000 + b'"'))
            received = 0
            while received <= size:
                received += len(await asyncio.get_running_loop().sock_recv(far, 65_536))
            far.close()
            await connection.wait_closed()
        assert len(mine.ends) == 1
    assert not failures


async def test_a_peer_that_left_is_told_from_one_that_only_stopped_sending() -> None:
    recorder = Recorder()
    async with served(recorder) as (connection, far):
        far.send(encode_frame(encode_request(1, "slow"), "contentLength"))
        assert not connection.is_deserted
        far.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionClosed):  # when the end has arrived
            await connection.call("anything", timeout=PATIENCE)
        assert not connection.is_deserted
        far.close()
        assert connection.is_deserted
