"""A compaction while other clients are at work: joins, moves, tools, and ends in the middle."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.columns import message_ids_of
from support.daemons import Peer, Running, assistant, joined, refusal, running, spawn, user
from support.summarizers import (
    SMALL,
    Summarizing,
    compactions,
    summarizing,
    talk,
    tool_call,
    tool_result,
)


def compacting(peer: Peer, session_id: str, **params: Any) -> asyncio.Task[Any]:
    """A request for a compaction, on its way."""
    return asyncio.ensure_future(peer.call("session/compact", sessionId=session_id, settings=SMALL, **params))


async def begun(daemon: Running, cwd: str) -> tuple[Peer, str, Summarizing, asyncio.Task[Any]]:
    """A client, its session, the one who writes the summary, and the compaction that waits for it."""
    peer, session_id = await talk(daemon, cwd)
    writer = await summarizing(daemon)
    asked = compacting(peer, session_id)
    await writer.asked()
    return peer, session_id, writer, asked


async def test_two_clients_that_compact_at_once_get_one_compaction(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, first = await begun(daemon, cwd)
    other = await daemon.attach()
    second, third = compacting(other, session_id), compacting(other, session_id, instructions="Else.")
    await other.call("server/status")
    writer.answer("For all.")
    done = await asyncio.gather(first, second, third)
    assert all(item == done[0] for item in done)
    assert [entry["id"] for entry in await compactions(peer, session_id)] == [done[0]["recordId"]]
    assert len(writer.peer.asked) == 1


async def test_appends_go_on_meanwhile_and_stand_before_the_compaction(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    await peer.append(session_id, user("q10", id="q10"), assistant("a10", id="a10"))
    writer.answer()
    done = await asked
    [entry] = await compactions(peer, session_id)
    assert (entry["parentId"], done["previousLeafId"]) == ("a10", "a10")
    seen = await peer.call("session/context", sessionId=session_id)
    kept = message_ids_of(seen)
    assert kept[0] == entry["id"]
    assert kept[1] == done["firstKeptEntryId"]
    assert kept[-2:] == ["q10", "a10"]


async def test_appends_that_are_not_on_disk_yet_count_too(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    append = asyncio.ensure_future(peer.append(session_id, user("q10", id="q10")))
    done = await asyncio.ensure_future(
        peer.call("session/compact", sessionId=session_id, settings=SMALL, summary="S", expectedLeafId="q10")
    )
    await append
    assert done["previousLeafId"] == "q10"


async def test_a_leaf_that_went_elsewhere_is_a_conflict(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    await peer.call("session/branch", sessionId=session_id, entryId="a7")
    writer.answer()
    refused = await refusal(asked)
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", "a7")
    assert await compactions(peer, session_id) == []


async def test_a_leaf_that_came_back_is_none(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    await peer.call("session/branch", sessionId=session_id, entryId="a7")
    await peer.call("session/branch", sessionId=session_id, entryId="a9")
    writer.answer()
    await asked
    assert len(await compactions(peer, session_id)) == 1


async def test_after_another_compaction_there_is_nothing_left_to_compact(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    given = await peer.call("session/compact", sessionId=session_id, settings=SMALL, summary="Mine.")
    await peer.append(session_id, user("next"))
    writer.answer()
    assert (await refusal(asked)).kind == "nothingToCompact"
    assert [entry["id"] for entry in await compactions(peer, session_id)] == [given["recordId"]]


async def test_a_summary_waits_until_the_tools_have_answered(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    call = tool_call("c1", id="call")
    call["message"]["content"].append({**call["message"]["content"][0], "id": "c2"})
    await peer.append(session_id, call)
    writer.answer()
    await peer.append(session_id, tool_result("c2", id="r2"))
    assert await compactions(peer, session_id) == []
    await peer.append(session_id, tool_result("c1", id="r1"))
    assert (await asked)["previousLeafId"] == "r1"
    [entry] = await compactions(peer, session_id)
    assert entry["parentId"] == "r1"


async def test_entries_before_a_tool_call_are_summarized_while_the_tool_is_at_work(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await talk(daemon, cwd)
    writer = await summarizing(daemon)
    await peer.append(session_id, user("look", id="look"), tool_call("c1"))
    asked = compacting(peer, session_id)
    await writer.asked()
    writer.answer()
    await peer.append(session_id, tool_result("c1", id="r1"))
    assert (await asked)["previousLeafId"] == "r1"


async def test_a_client_that_waits_for_a_tool_may_give_up(memory: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(memory, cwd)
    compaction = peer.last_id
    await peer.append(session_id, tool_call("c1"))
    writer.answer()
    await writer.peer.call("server/status")
    peer.connection.notify("$/cancelRequest", {"id": compaction})
    assert (await refusal(asked)).kind == "canceled"
    await peer.append(session_id, tool_result("c1"))
    assert await compactions(peer, session_id) == []


async def test_another_programs_lines_are_taken_in_before_it_is_written(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    with path.open("ab") as file:
        file.write(
            b'{"type":"message","id":"f1","parentId":"a9","timestamp":"2026-01-01T00:00:00.000Z",'
            b'"message":{"role":"user","content":"from pi"}}\n'
        )
    writer.answer()
    assert (await asked)["previousLeafId"] == "f1"


async def test_the_client_that_asked_may_die_in_the_middle(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "socket") as daemon:
        peer, session_id, writer, asked = await begun(daemon, cwd)
        other = await daemon.attach()
        joins = compacting(other, session_id)
        await other.call("server/status")
        peer.connection.abort()
        await asyncio.gather(asked, return_exceptions=True)
        writer.answer()
        assert (await joins)["summarizedBy"] == "client"
        assert len(await compactions(other, session_id)) == 1


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_daemon_that_ends_in_the_middle_leaves_no_half(tmp_path: Path, cwd: str, how: str) -> None:
    process = await spawn(tmp_path)
    daemon = joined(tmp_path)
    peer, session_id, writer, asked = await begun(daemon, cwd)
    if how == "stop":
        await writer.peer.call("server/stop")
        assert (await refusal(asked)).kind == "draining"
        await writer.canceled()
    else:
        process.kill()
        await asyncio.gather(asked, return_exceptions=True)
    await process.wait()
    await daemon.detach_all()
    async with running(tmp_path, "process") as again:
        peer = await again.attach()
        assert await compactions(peer, session_id) == []
        assert (await peer.call("session/info", sessionId=session_id))["session"]["leafId"] == "a9"


async def test_a_session_is_kept_open_while_a_summary_is_written(memory: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(memory, cwd)
    await peer.call("session/close", sessionId=session_id)
    assert memory.hub is not None
    [live] = memory.hub.sessions.all()
    live.used_at -= 3600
    await memory.hub.upkeep.sweep()
    assert memory.hub.sessions.all() == [live]
    writer.answer()
    await asked
    assert not live.appending_jobs


async def test_a_closed_session_is_opened_for_its_compaction(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        _, session_id = await talk(daemon, cwd)
    async with running(tmp_path) as daemon:
        peer, writer = await daemon.attach(), await summarizing(daemon)
        asked = compacting(peer, session_id)
        await writer.asked()
        peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
        assert (await refusal(asked)).kind == "canceled"
        await writer.canceled()
        asked = compacting(peer, session_id)
        await writer.asked(2)
        writer.answer(nth=2)
        await asked


async def test_an_ephemeral_session_is_compacted_like_any_other(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd, ephemeral=True)
    writer = await summarizing(memory)
    asked = compacting(peer, session_id)
    await writer.asked()
    writer.answer()
    assert (await asked)["previousLeafId"] == "a9"
