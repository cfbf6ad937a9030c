"""After a client is gone nothing of it stays, whatever it was doing when it went."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.server.connection.client import Client
from support.daemons import Peer, Running, running, user
from support.summarizers import SMALL, talk
from support.waiting import until


@pytest.fixture
async def reached(tmp_path: Path) -> AsyncIterator[Running]:
    """A daemon in this process behind a socket: joined in memory, a test would hold on to its client by itself."""
    async with running(tmp_path, "socket") as made:
        yield made


OURS = {"sessiond": {"clientId": "gone", "terminal": {"id": "tty-gone", "kind": "tty", "cwd": "/"}}}


async def leaves_nothing(daemon: Running, peer: Peer) -> None:
    """Let a client go, and see that nothing holds on to it."""
    server = daemon.inside
    [client] = [
        client
        for client in server.clients.values()
        if client.origin().client_id == client.client_id and _is(client, peer)
    ]
    client_id, ref = client.client_id, weakref.ref(client)
    del client
    peer.connection.abort()
    await peer.connection.wait_closed()
    await until(lambda: client_id not in server.clients)
    await until(lambda: gc.collect() is not None and ref() is None)
    assert daemon.hub is not None
    for live in daemon.hub.sessions.all():
        assert client_id not in live.holders
        assert client_id not in live.subscribers


def _is(client: Client, peer: Peer) -> bool:
    return client.name == f"peer-{id(peer)}"


async def introduced(daemon: Running, **options: Any) -> Peer:
    peer = await daemon.attach()
    await peer.call(
        "initialize", clientInfo={"name": f"peer-{id(peer)}"}, initializationOptions={"sessiond": options}
    )
    return peer


async def test_a_client_that_only_greeted_leaves_nothing(reached: Running) -> None:
    await leaves_nothing(reached, await introduced(reached))


async def test_a_client_with_a_name_a_terminal_and_sessions_leaves_nothing(
    reached: Running, cwd: str
) -> None:
    _, session_id = await talk(reached, cwd)
    peer = await introduced(reached, **OURS["sessiond"])
    await peer.call("session/open", sessionId=session_id)
    await peer.call("session/create", cwd=cwd)
    await peer.call("session/continue", cwd=cwd)
    await peer.append(session_id, user("x"))
    for method in ("session/context", "session/path", "session/tree", "session/stats"):
        await peer.call(method, sessionId=session_id)
    await peer.call("session/list")
    await peer.call("session/search", query="x")
    await leaves_nothing(reached, peer)


async def test_a_client_that_waits_for_a_summary_leaves_nothing(reached: Running, cwd: str) -> None:
    _, session_id = await talk(reached, cwd)
    writer = await introduced(reached, capabilities={"summarize": {}})
    peer = await introduced(reached)
    asking = asyncio.create_task(
        peer.call("session/compact", sessionId=session_id, settings=SMALL, workDoneToken="t")
    )
    await writer.until(lambda client: bool(client.asked))
    await leaves_nothing(reached, peer)
    await asyncio.wait([asking])
    assert asking.exception() is not None
    await leaves_nothing(reached, writer)


async def test_a_client_that_writes_a_summary_when_it_goes_leaves_nothing(reached: Running, cwd: str) -> None:
    peer, session_id = await talk(reached, cwd)
    writer = await introduced(reached, capabilities={"summarize": {}})
    asking = asyncio.create_task(peer.call("session/compact", sessionId=session_id, settings=SMALL))
    await writer.until(lambda client: bool(client.asked))
    await leaves_nothing(reached, writer)
    await asyncio.wait([asking])
    assert asking.exception() is not None


async def test_a_client_that_reads_nothing_leaves_nothing(reached: Running, cwd: str) -> None:
    other, session_id = await talk(reached, cwd)
    peer = await introduced(reached)
    await peer.call("session/subscribe", sessionId=session_id, after=await peer.position(session_id, 0))
    peer.connection.pause()
    for _ in range(20):
        await other.append(session_id, user("x" * 100_000))
    await leaves_nothing(reached, peer)


async def test_a_client_in_the_middle_of_a_replay_leaves_nothing(reached: Running, cwd: str) -> None:
    other, session_id = await talk(reached, cwd)
    await other.append(session_id, *(user("x" * 100_000) for _ in range(60)))
    peer = await introduced(reached)
    beginning = await peer.position(session_id, 0)
    peer.connection.pause()
    peer.connection.notify("x")
    asking = asyncio.create_task(peer.call("session/subscribe", sessionId=session_id, after=beginning))
    await other.call("server/status")
    await leaves_nothing(reached, peer)
    await asyncio.wait([asking])
    assert asking.exception() is not None


async def test_a_client_with_large_answers_in_line_leaves_nothing(reached: Running, cwd: str) -> None:
    _, session_id = await talk(reached, cwd)
    answers = reached.inside.memory_budget.answers
    await answers.enter(answers.size)
    peer = await introduced(reached)
    calls = [asyncio.create_task(peer.call("session/context", sessionId=session_id)) for _ in range(5)]
    other = await reached.attach()
    await other.call("server/status")
    await leaves_nothing(reached, peer)
    await asyncio.wait(calls)
    assert all(call.exception() is not None for call in calls)
    answers.leave(answers.size)
    assert (answers.taken, answers.waiting, reached.inside.memory_budget.requests) == (0, 0, 0)


async def test_an_editor_leaves_nothing(reached: Running, cwd: str) -> None:
    peer, session_id = await talk(reached, cwd)
    path = (await peer.call("session/info", sessionId=session_id))["session"]["path"]
    editor = await reached.attach()
    await editor.call(
        "initialize", processId=None, rootUri=None, capabilities={"textDocument": {}},
        clientInfo={"name": f"peer-{id(editor)}"},
    )  # fmt: skip
    editor.connection.notify("initialized", {})
    await editor.call("textDocument/documentSymbol", textDocument={"uri": Path(path).as_uri()})
    await leaves_nothing(reached, editor)


@pytest.mark.slow
async def test_hundreds_who_come_and_go_leave_no_task(reached: Running, cwd: str) -> None:
    keeper, session_id = await talk(reached, cwd)
    before = len(asyncio.all_tasks())
    for _ in range(200):
        peer = await introduced(reached)
        await peer.call("session/subscribe", sessionId=session_id, after=await peer.position(session_id, 0))
        await peer.append(session_id, user("x"))
        peer.connection.abort()
    await until(lambda: len(reached.inside.clients) == 1 and len(asyncio.all_tasks()) <= before)
    assert (await keeper.call("server/status"))["inFlightCount"] == 0
