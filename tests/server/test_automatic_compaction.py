"""Automatic compaction: who is told that a session is full, how often, and what the daemon does about it."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Refused, Running, running, user
from support.summarizers import (
    SMALL,
    Summarizing,
    answer_of,
    commanded,
    compactions,
    program,
    summarizing,
    talk,
    tool_call,
    tool_result,
)

NOTE = "session/contextFilled"
FULL = SMALL["contextWindow"] - SMALL["reserveTokens"] + 1


async def looked_after(daemon: Running, cwd: str, **choice: Any) -> tuple[Peer, str]:
    """A session with twenty messages that is compacted by itself once an answer says that it is full."""
    peer, session_id = await talk(daemon, cwd)
    await peer.call(
        "session/configure", sessionId=session_id, autoCompact={"enabled": True, **SMALL, **choice}
    )
    return peer, session_id


async def turn(peer: Peer, session_id: str, used: int, **more: Any) -> str:
    """A question and an answer whose provider counted so many tokens; the id of the answer."""
    done = await peer.append(session_id, user("?"), answer_of("!" * 400, used), **more)
    return str(done["entries"][-1]["id"])


async def told(peer: Peer, count: int = 1) -> list[dict[str, Any]]:
    await peer.until(lambda client: len(client.told(NOTE)) >= count)
    return peer.told(NOTE)


async def settled(peer: Peer, session_id: str) -> None:
    """Long enough for every look that is due: the daemon answers a request that comes behind them all."""
    for _ in range(5):
        await peer.call("session/context", sessionId=session_id)


async def compacted(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    """The compactions of a session that the client watches, as soon as there is one."""
    await peer.until(lambda client: any(_is_compaction(note) for note in client.told("session/appended")))
    return await compactions(peer, session_id)


def _is_compaction(note: dict[str, Any]) -> bool:
    return bool(note["items"][0]["entry"]["type"] == "compaction")


# --- who is told -------------------------------------------------------------------------------------------


async def test_watchers_are_told_once_that_a_session_is_full(daemon: Running, cwd: str) -> None:
    peer, session_id = await looked_after(daemon, cwd)
    await turn(peer, session_id, FULL - 1)
    leaf = await turn(peer, session_id, FULL)
    [note] = await told(peer)
    assert note == {
        "sessionId": session_id, "leafId": leaf, "tokens": FULL, "contextWindow": SMALL["contextWindow"],
        "reserveTokens": SMALL["reserveTokens"], "summarizer": None,
    }  # fmt: skip
    await turn(peer, session_id, FULL + 5)
    await settled(peer, session_id)
    assert len(peer.told(NOTE)) == 1


async def test_they_are_told_after_the_lines_that_caused_it(daemon: Running, cwd: str) -> None:
    peer, session_id = await looked_after(daemon, cwd)
    subscriber = await daemon.attach()
    await subscriber.call("session/subscribe", sessionId=session_id)
    await turn(peer, session_id, FULL)
    await told(subscriber)
    assert subscriber.order[-2:] == ["session/appended", NOTE]


async def test_after_a_compaction_they_are_told_again(memory: Running, cwd: str) -> None:
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await told(peer)
    await peer.call("session/compact", sessionId=session_id, summary="S")
    await turn(peer, session_id, FULL - 500)
    await settled(peer, session_id)
    assert len(peer.told(NOTE)) == 1
    await turn(peer, session_id, FULL)
    await told(peer, 2)


async def test_when_the_leaf_went_elsewhere_they_are_told_again(memory: Running, cwd: str) -> None:
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await told(peer)
    await peer.call("session/branch", sessionId=session_id, entryId="a9")
    await turn(peer, session_id, FULL)
    await told(peer, 2)


@pytest.mark.parametrize("message", ["without usage", "aborted"])
async def test_an_answer_without_a_usage_that_counts_says_nothing(
    memory: Running, cwd: str, message: str
) -> None:
    peer, session_id = await looked_after(memory, cwd)
    draft = answer_of("!", FULL)
    if message == "aborted":
        draft["message"]["stopReason"] = "aborted"
    else:
        del draft["message"]["usage"]
    await peer.append(session_id, user("?"), draft)
    await settled(peer, session_id)
    assert peer.told(NOTE) == []


async def test_nobody_is_told_where_it_is_not_wanted(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await turn(peer, session_id, 900_000)
    await settled(peer, session_id)
    assert peer.told(NOTE) == []


async def test_a_session_that_is_full_when_it_is_configured_is_looked_at_at_once(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await talk(memory, cwd)
    await turn(peer, session_id, FULL)
    await peer.call("session/configure", sessionId=session_id, autoCompact={"enabled": True, **SMALL})
    await told(peer)


async def test_another_programs_answer_counts_too(daemon: Running, cwd: str) -> None:
    peer, session_id = await looked_after(daemon, cwd)
    info = (await peer.call("session/info", sessionId=session_id))["session"]
    with Path(info["path"]).open("ab") as file:
        file.write(
            b'{"type":"message","id":"f1","parentId":"%b","timestamp":"2026-01-01T00:00:00.000Z","message":'
            b'{"role":"assistant","content":[],"usage":{"totalTokens":3001},"stopReason":"stop"}}\n'
            % info["leafId"].encode()
        )
    [note] = await told(peer)
    assert (note["leafId"], note["tokens"]) == ("f1", 3001)


async def test_the_configuration_may_look_after_all_sessions_and_a_session_opt_out(
    tmp_path: Path, cwd: str
) -> None:
    sizes = {"context_window": 4_000, "reserve_tokens": 1_000, "keep_recent_tokens": 500}
    command = program(tmp_path, "print('From the command.')")
    async with running(tmp_path / "home", config=commanded(command, enabled=True, **sizes)) as daemon:
        peer, session_id = await talk(daemon, cwd)
        out, out_id = await talk(daemon, cwd)
        await out.call("session/configure", sessionId=out_id, autoCompact={"enabled": False})
        for someone, some_id in ((out, out_id), (peer, session_id)):
            await turn(someone, some_id, FULL)
        [entry] = await compacted(peer, session_id)
        assert entry["summary"] == "From the command."
        assert (await told(peer))[0]["summarizer"] == "command"
        assert out.told(NOTE) == []
        assert await compactions(out, out_id) == []


# --- what the daemon does ----------------------------------------------------------------------------------


async def test_a_full_session_is_compacted_by_itself(daemon: Running, cwd: str) -> None:
    writer = await summarizing(daemon)
    peer, session_id = await looked_after(daemon, cwd)
    leaf = await turn(peer, session_id, FULL)
    params = await writer.asked()
    assert (params["sessionId"], params["purpose"]) == (session_id, "compaction")
    writer.answer("So far.")
    [entry] = await compacted(peer, session_id)
    assert (entry["parentId"], entry["tokensBefore"]) == (leaf, FULL)
    assert peer.told("session/appended")[-1]["origin"]["kind"] == "daemon"
    assert (await told(peer))[0]["summarizer"] == "client"


async def test_several_terminals_at_once_cause_one_compaction(daemon: Running, cwd: str) -> None:
    first, second = await summarizing(daemon), await summarizing(daemon)
    peer, session_id = await looked_after(daemon, cwd)
    for writer in (first, second):
        await writer.peer.call("session/open", sessionId=session_id)
    await asyncio.gather(*(turn(client, session_id, FULL) for client in (first.peer, second.peer, peer)))
    asked = [
        asyncio.ensure_future(item.peer.call("session/compact", sessionId=session_id))
        for item in (first, second)
    ]
    await first.peer.call("server/status")
    await first.asked()
    first.answer("Once.")
    done = await asyncio.gather(*asked, return_exceptions=True)
    refusals = [item for item in done if isinstance(item, Refused)]
    assert all(refusal.kind == "nothingToCompact" for refusal in refusals)
    await settled(peer, session_id)
    assert len(await compacted(peer, session_id)) == 1
    assert second.peer.asked == []


async def test_a_request_meanwhile_gets_the_compaction_that_is_under_way(memory: Running, cwd: str) -> None:
    writer = await summarizing(memory)
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await writer.asked()
    asked = asyncio.ensure_future(peer.call("session/compact", sessionId=session_id))
    await writer.peer.call("server/status")
    writer.answer("For both.")
    assert (await asked)["summary"] == "For both."
    assert len(await compactions(peer, session_id)) == 1


async def test_a_client_that_gives_up_does_not_cancel_the_compaction_of_the_daemon(
    memory: Running, cwd: str
) -> None:
    writer = await summarizing(memory)
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await writer.asked()
    asked = asyncio.ensure_future(peer.call("session/compact", sessionId=session_id))
    await writer.peer.call("server/status")
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    await asyncio.gather(asked, return_exceptions=True)
    writer.answer("All the same.")
    assert len(await compacted(peer, session_id)) == 1


async def test_inside_a_tool_call_it_waits_for_the_result(daemon: Running, cwd: str) -> None:
    writer = await summarizing(daemon)
    peer, session_id = await looked_after(daemon, cwd)
    call = tool_call("c1")
    call["message"]["usage"] = {"totalTokens": FULL}
    await peer.append(session_id, user("?"), call)
    await writer.asked()
    writer.answer()
    await settled(peer, session_id)
    assert await compactions(peer, session_id) == []
    await peer.append(session_id, tool_result("c1", id="r1"))
    [entry] = await compacted(peer, session_id)
    assert entry["parentId"] == "r1"


async def test_a_writer_that_comes_later_is_asked_after_the_next_answer(memory: Running, cwd: str) -> None:
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await told(peer)
    writer = await summarizing(memory)
    await turn(peer, session_id, FULL)
    await writer.asked()
    writer.answer()
    await compacted(peer, session_id)
    assert len(peer.told(NOTE)) == 1


async def refusing(writer: Summarizing, nth: int) -> None:
    await writer.asked(nth)
    writer.refuse(nth=nth)
    await writer.peer.call("server/status")


async def test_a_writer_that_fails_is_left_alone_for_a_while(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await summarizing(memory)
    peer, session_id = await looked_after(memory, cwd)
    await turn(peer, session_id, FULL)
    await refusing(writer, 1)
    for _ in range(3):
        await turn(peer, session_id, FULL)
        await settled(peer, session_id)
    assert len(writer.peer.asked) == 1
    pauses = [60.0, 120.0, 240.0]
    now = time.monotonic()
    for number, pause in enumerate(pauses, 2):
        monkeypatch.setattr("sessiond.hub.summaries.automatic.time", _Clock(now + pause - 1))
        await turn(peer, session_id, FULL)
        await settled(peer, session_id)
        assert len(writer.peer.asked) == number - 1
        now += pause + 1
        monkeypatch.setattr("sessiond.hub.summaries.automatic.time", _Clock(now))
        await turn(peer, session_id, FULL)
        await refusing(writer, number)
    asked = asyncio.ensure_future(peer.call("session/compact", sessionId=session_id))
    await writer.asked(5)
    writer.answer("For a person it tries at once.", nth=5)
    await asked


class _Clock:
    """A clock that shows one moment."""

    def __init__(self, now: float) -> None:
        self._now = now

    def monotonic(self) -> float:
        return self._now


async def test_a_context_that_stays_full_is_not_compacted_after_every_answer(
    memory: Running, cwd: str
) -> None:
    writer = await summarizing(memory)
    peer, session_id = await looked_after(memory, cwd)
    for number in range(1, 3):  # the second look shows that the first compaction did not help
        await turn(peer, session_id, FULL)
        if number == 1:
            await writer.asked()
            writer.answer()
            await compacted(peer, session_id)
    for _ in range(5):
        await turn(peer, session_id, FULL)
        await settled(peer, session_id)
    assert len(writer.peer.asked) == 1
    assert len(peer.told(NOTE)) == 2


async def test_a_daemon_that_stops_while_it_compacts_by_itself_leaves_no_half(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        writer = await summarizing(daemon)
        peer, session_id = await looked_after(daemon, cwd)
        await turn(peer, session_id, FULL)
        await writer.asked()
    async with running(tmp_path) as daemon:
        assert await compactions(await daemon.attach(), session_id) == []
