"""`session/prepareBranch`, and `session/branch` with a summary that the daemon has written."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, refusal, running, user
from support.summarizers import Summarizing, summarizing, talk, tool_call, tool_result


def branching(peer: Peer, session_id: str, target_id: str | None, **params: Any) -> asyncio.Task[Any]:
    """A request to move the leaf with a summary, on its way."""
    return asyncio.ensure_future(
        peer.call("session/branch", sessionId=session_id, entryId=target_id, summarize=True, **params)
    )


async def begun(daemon: Running, cwd: str) -> tuple[Peer, str, Summarizing, asyncio.Task[Any]]:
    """A client, its session, the one who writes the summary, and the move to a7 that waits for it."""
    peer, session_id = await talk(daemon, cwd)
    writer = await summarizing(daemon)
    asked = branching(peer, session_id, "a7")
    await writer.asked()
    return peer, session_id, writer, asked


async def leaf_and_count(peer: Peer, session_id: str) -> tuple[str | None, int]:
    info = (await peer.call("session/info", sessionId=session_id))["session"]
    return info["leafId"], info["entryCount"]


async def test_a_preparation_says_what_a_move_would_leave_behind(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    await peer.append(session_id, tool_call("c1", id="t"), tool_result("c1", id="r"), parentId="a7")
    prepared = await peer.call("session/prepareBranch", sessionId=session_id, entryId="q9")
    assert prepared.pop("prompt")
    assert prepared == {
        "entryId": "q9", "previousLeafId": "r", "commonAncestorId": "a7", "entryIdsToSummarize": ["t", "r"],
        "fileOperations": {"read": ["notes.md"], "modified": []}, "tokens": prepared["tokens"],
        "resumeAtId": "a8", "editorText": "?" * 400,
    }  # fmt: skip
    assert await leaf_and_count(peer, session_id) == ("r", 22)


async def test_a_preparation_may_begin_anywhere_and_go_to_the_root(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    prepared = await peer.call("session/prepareBranch", sessionId=session_id, leafId="q1", entryId=None)
    assert (prepared["commonAncestorId"], prepared["entryIdsToSummarize"]) == (None, ["q0", "a0", "q1"])
    nothing = await peer.call("session/prepareBranch", sessionId=session_id, leafId=None, entryId="a3")
    assert (nothing["previousLeafId"], nothing["entryIdsToSummarize"], nothing["prompt"]) == (None, [], None)


async def test_the_summary_stands_where_the_leaf_goes(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    params = await writer.asked()
    assert (params["purpose"], params["entryIds"]) == ("branch", ["q8", "a8", "q9", "a9"])
    writer.answer("Tried eight and nine.", details={"n": 1})
    done = await asked
    [item] = (await peer.call("session/entries", sessionId=session_id, entryIds=[done["recordId"]]))["items"]
    entry = item["entry"]
    stored = {name: entry[name] for name in ("type", "parentId", "fromId", "summary", "details")}
    assert stored == {
        "type": "branch_summary", "parentId": "a7", "fromId": "a7", "summary": "Tried eight and nine.",
        "details": {"n": 1},
    }  # fmt: skip
    assert done == {
        "recordId": entry["id"], "leafId": entry["id"], "logId": done["logId"], "seq": 21,
        "previousLeafId": "a9", "summary": "Tried eight and nine.", "summarizedBy": "client",
        "duplicate": False,
    }  # fmt: skip
    await peer.call("session/branch", sessionId=session_id, entryId=done["previousLeafId"])
    assert (await leaf_and_count(peer, session_id))[0] == "a9"


async def test_before_the_first_entry_the_branch_is_from_the_root(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    writer = await summarizing(daemon)
    asked = branching(peer, session_id, None)
    await writer.asked()
    writer.answer()
    done = await asked
    [item] = (await peer.call("session/entries", sessionId=session_id, entryIds=[done["recordId"]]))["items"]
    entry = item["entry"]
    assert (entry["parentId"], entry["fromId"]) == (None, "root")


async def test_the_files_that_were_touched_are_noted(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await peer.append(session_id, tool_call("c1"), tool_result("c1"))
    writer = await summarizing(memory)
    asked = branching(peer, session_id, "a9", fromExtension=True)
    await writer.asked()
    writer.answer()
    done = await asked
    [item] = (await peer.call("session/entries", sessionId=session_id, entryIds=[done["recordId"]]))["items"]
    entry = item["entry"]
    assert (entry["details"], entry["fromExtension"]) == (
        {"readFiles": ["notes.md"], "modifiedFiles": []}, True,
    )  # fmt: skip


async def test_where_nothing_is_left_behind_the_leaf_just_moves(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await peer.call("session/branch", sessionId=session_id, entryId="a3")
    writer = await summarizing(memory)
    done = await branching(peer, session_id, "a9")
    assert (done["leafId"], done["summary"], done["summarizedBy"]) == ("a9", None, None)
    assert writer.peer.asked == []


async def test_without_a_summary_the_leaf_stays(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    before = await leaf_and_count(peer, session_id)
    assert (await refusal(branching(peer, session_id, "a7"))).kind == "noSummarizer"
    writer = await summarizing(memory)
    asked = branching(peer, session_id, "a7")
    await writer.asked()
    writer.refuse()
    assert (await refusal(asked)).kind == "summarizerFailed"
    assert await leaf_and_count(peer, session_id) == before


async def test_a_move_that_is_given_up_leaves_the_leaf_where_it_is(daemon: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert (await refusal(asked)).kind == "canceled"
    await writer.canceled()
    writer.answer("Too late.")
    assert await leaf_and_count(peer, session_id) == ("a9", 20)


@pytest.mark.parametrize("how", ["append", "branch"])
async def test_a_leaf_that_moved_meanwhile_is_not_taken_away(daemon: Running, cwd: str, how: str) -> None:
    peer, session_id, writer, asked = await begun(daemon, cwd)
    other = await daemon.attach()
    if how == "append":
        await other.append(session_id, user("more", id="more"))
    else:
        await other.call("session/branch", sessionId=session_id, entryId="a5")
    writer.answer()
    refused = await refusal(asked)
    leaf = "more" if how == "append" else "a5"
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", leaf)
    assert (await leaf_and_count(peer, session_id))[0] == leaf


async def test_an_append_that_leaves_the_leaf_alone_is_no_obstacle(memory: Running, cwd: str) -> None:
    peer, session_id, writer, asked = await begun(memory, cwd)
    await peer.append(session_id, user("aside"), parentId="a2", advance=False)
    writer.answer()
    assert (await asked)["previousLeafId"] == "a9"


async def test_entries_sent_before_a_branch_are_left_behind_too(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    writer = await summarizing(memory)
    append = asyncio.ensure_future(peer.append(session_id, user("last", id="last"), assistant("a", id="la")))
    asked = branching(peer, session_id, "a9", expectedLeafId="la")
    assert (await writer.asked())["entryIds"] == ["last", "la"]
    writer.answer()
    await asyncio.gather(append, asked)


async def test_an_expected_leaf_that_has_moved_asks_nobody(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    writer = await summarizing(memory)
    refused = await refusal(branching(peer, session_id, "a7", expectedLeafId="a8"))
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", "a9")
    assert refused.details["missingCount"] == 2
    assert (await refusal(branching(peer, session_id, "a77"))).kind == "entryNotFound"
    assert writer.peer.asked == []


async def test_a_summary_is_given_or_asked_for(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    assert (await refusal(branching(peer, session_id, "a7", summary="S"))).kind == "invalidParams"


async def test_a_daemon_that_stops_in_the_middle_leaves_the_leaf(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "process") as daemon:
        _, session_id, writer, asked = await begun(daemon, cwd)
        await writer.peer.call("server/stop")
        assert (await refusal(asked)).kind == "draining"
    async with running(tmp_path, "process") as daemon:
        assert await leaf_and_count(await daemon.attach(), session_id) == ("a9", 20)
