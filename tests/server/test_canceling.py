"""`$/cancelRequest` at every moment of every kind of request: one answer, whichever, and nothing is left behind."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sessiond.protocol.methods import METHODS
from sessiond.rpc.message import encode_request
from support.daemons import Peer, Refused, Running, assistant, user
from support.summarizers import SMALL, summarizing, talk

MOMENTS = [*range(12), 16, 24, 40]
"""Ticks of the loop between a request and its cancellation; most requests are answered within these."""


def requests(session_id: str, cwd: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Requests that take more than one tick."""
    on = {"sessionId": session_id}
    return {
        "session/list": {},
        "session/search": {"query": "anything"},
        "session/context": {**on, "format": "anthropic", "explain": True},
        "session/path": on,
        "session/tree": on,
        "session/entries": {**on, "resolveBlobs": True},
        "session/stats": on,
        "session/export": {**on, "format": "markdown"},
        "session/prepareCompaction": {**on, "settings": SMALL},
        "session/compact": {**on, "settings": SMALL},
        "session/branch": {**on, "entryId": "a1", "summarize": True},
        "session/prepareBranch": {**on, "entryId": "a1"},
        "session/append": {**on, "entries": [user("more")]},
        "session/fork": on,
        "session/tag": {**on, "add": ["t"]},
        "session/flush": on,
        "session/import": {"path": str(folder / "source.jsonl")},
        "session/create": {"cwd": cwd, "ephemeral": True},
        "session/continue": {"cwd": cwd},
        "history/list": {"query": "x"},
        "history/delete": {"promptIds": ["5e1f09-1"]},
        "blob/put": {"data": "aGVsbG8="},
        "blob/get": {"hash": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
        "blob/collect": {"dryRun": True},
        "session/cleanup": {"dryRun": True, "policy": {"maxAgeMs": 1}},
        "trash/list": {},
    }


@pytest.mark.parametrize("method", requests("x" * 8, "/", Path("/")))
async def test_a_request_that_is_canceled_at_any_moment_is_answered_once(
    memory: Running, cwd: str, method: str, tmp_path: Path
) -> None:
    assert method in METHODS
    peer, session_id = await talk(memory, cwd, turns=8)
    await summarizing(memory)  # it never answers
    (tmp_path / "source.jsonl").write_bytes(b"")
    params = requests(session_id, cwd, tmp_path)[method]
    for moment in MOMENTS:
        call = asyncio.create_task(outcome(peer, method, params))
        for _ in range(moment + 1):
            await asyncio.sleep(0)
        peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
        assert await call in ("answered", "canceled", *EXPECTED.get(method, ()))
    status = await peer.call("server/status")
    assert status["inFlightCount"] == 0
    assert peer.order.count("reply") == len(peer.calls)
    await peer.append(session_id, user("goes on"), assistant("yes"))


EXPECTED = {
    "session/import": ("invalidParams", "storageFailed", "sessionNotFound", "sessionDamaged"),
    "session/cleanup": ("invalidParams",),
    "session/compact": ("nothingToCompact",),
    "blob/get": ("blobNotFound",),
}
"""Other possible answers, since cancellation may come late."""


async def outcome(peer: Peer, method: str, params: dict[str, Any]) -> str:
    try:
        await peer.call(method, **params)
    except Refused as refused:
        return refused.kind
    return "answered"


async def test_a_request_that_waits_for_room_is_canceled_there(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    answers = memory.inside.memory_budget.answers
    await answers.enter(answers.size)
    call = asyncio.create_task(outcome(peer, "session/context", {"sessionId": session_id}))
    behind = asyncio.create_task(outcome(peer, "session/context", {"sessionId": session_id}))
    await asyncio.sleep(0)
    await peer.call("server/status")
    assert answers.waiting == 1
    peer.connection.notify("$/cancelRequest", {"id": "call-2"})
    assert await call == "canceled"
    assert not behind.done()
    answers.leave(answers.size)
    assert await behind == "answered"
    assert (answers.taken, answers.waiting) == (0, 0)


async def test_a_request_that_waits_behind_another_of_its_client_is_canceled_there(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await talk(memory, cwd)
    answers = memory.inside.memory_budget.answers
    await answers.enter(answers.size)
    first = asyncio.create_task(outcome(peer, "session/context", {"sessionId": session_id}))
    behind = asyncio.create_task(outcome(peer, "session/path", {"sessionId": session_id}))
    await asyncio.sleep(0)
    await peer.call("server/status")
    peer.connection.notify("$/cancelRequest", {"id": "call-3"})
    assert await behind == "canceled"
    answers.leave(answers.size)
    assert await first == "answered"


async def test_a_cancellation_in_the_same_read_as_its_request_finds_it(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    call = asyncio.create_task(outcome(peer, "session/path", {"sessionId": session_id}))
    await asyncio.sleep(0)
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert await call == "canceled"
    # The id may be used again at once.
    peer.calls[peer.last_id] = again = asyncio.get_running_loop().create_future()
    peer.connection.send_body(encode_request(peer.last_id, "session/path", {"sessionId": session_id}))
    assert (await again)["items"]
