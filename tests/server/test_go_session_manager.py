"""The Go session manager's document, line by line on the wire and on disk (decision 0023).

The effects of its methods for a program are in tests/e2e/test_go_library.py.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of, message_ids_of, messages_of
from support.daemons import Peer, Running, assistant, refusal, user
from support.shared import lines_of, started
from support.summarizers import tool_call, tool_result


async def label(peer: Peer, session_id: str, target: str, text: str) -> str:
    done = await peer.call("session/label", sessionId=session_id, entryId=target, label=text)
    entry_id: str = done["recordId"]
    return entry_id


async def labels(peer: Peer, session_id: str) -> dict[str, str]:
    rows = (await peer.call("session/tree", sessionId=session_id, filter="all"))["nodes"]
    return {row["id"]: row["label"] for row in rows if row.get("label")}


async def context_ids(peer: Peer, session_id: str) -> list[str]:
    return list(message_ids_of(await peer.call("session/context", sessionId=session_id)))


async def test_section_13_each_step_is_the_line_that_the_document_shows(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()

    # 1. Initialize or continue a session: there is none, so one is made.
    continued = await peer.call("session/continue", cwd=cwd)
    session, created = continued["session"]["sessionId"], continued["created"]
    assert created

    async def last_line() -> dict[str, Any]:
        path = (await peer.call("session/info", sessionId=session))["session"]["path"]
        lines = lines_of(path)
        assert (lines[0]["type"], lines[0]["id"], lines[0]["cwd"]) == ("session", session, cwd)
        return lines[-1]

    # 2. Append a user message.
    await peer.append(session, user("Hello, Agent!", id="msg-1"))
    line = await last_line()
    assert (line["type"], line["id"], line["parentId"]) == ("message", "msg-1", None)
    assert line["message"]["role"] == "user"

    # 3. Get context for the LLM: the context has 1 message.
    assert await context_ids(peer, session) == ["msg-1"]

    # 4. Simulate an assistant response.
    await peer.append(session, assistant("Hello! How can I help?", id="msg-2"))
    line = await last_line()
    assert (line["id"], line["parentId"], line["message"]["role"]) == ("msg-2", "msg-1", "assistant")

    # 5. Branching: go back to the user message.
    await peer.call("session/branch", sessionId=session, entryId="msg-1")
    await peer.append(session, user("Actually, tell me a joke.", id="msg-3"))
    line = await last_line()
    assert (line["id"], line["parentId"]) == ("msg-3", "msg-1")

    # 6. Labeling an entry.
    named = await label(peer, session, "msg-1", "first-greeting")
    line = await last_line()
    assert (line["type"], line["id"], line["parentId"]) == ("label", named, "msg-3")
    assert (line["targetId"], line["label"]) == ("msg-1", "first-greeting")

    # 7. Compaction: summarize msg-1 and msg-2, keep only msg-3 and forward.
    summary = "User greeted and then asked for a joke."
    draft = {
        "type": "compaction",
        "id": "comp-1",
        "summary": summary,
        "firstKeptEntryId": "msg-3",
        "tokensBefore": 1500,
    }
    await peer.append(session, draft)
    line = await last_line()
    assert (line["parentId"], {name: line[name] for name in draft}) == (named, draft)

    # 8. Resulting context: the compaction summary, then msg-3.
    seen = await peer.call("session/context", sessionId=session)
    assert message_ids_of(seen) == ["comp-1", "msg-3"]
    assert (messages_of(seen)[0]["role"], messages_of(seen)[0]["summary"]) == ("compactionSummary", summary)


async def test_section_7_1_concurrent_appends_make_one_chain(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    others = [peer, await daemon.attach(), await daemon.attach()]
    await asyncio.gather(*(client.append(session, user(f"{n}")) for n in range(10) for client in others))
    path = entries_of(await peer.call("session/path", sessionId=session))
    assert len(path) == 30
    assert [entry["parentId"] for entry in path] == [None, *(entry["id"] for entry in path[:-1])]


async def test_section_7_2_a_branch_only_moves_the_leaf(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    await peer.append(session, user("one", id="m1"), assistant("two", id="m2"))
    path = Path((await peer.call("session/info", sessionId=session))["session"]["path"])
    before = path.read_bytes()
    moved = await peer.call("session/branch", sessionId=session, entryId="m1")
    assert (moved["leafId"], moved["summary"]) == ("m1", None)
    assert path.read_bytes().startswith(before)


VALID = (
    ("a user message", user("more", id="cut")),
    ("an answer without tool calls", assistant("well", id="cut")),
    (
        "a change of the model",
        {"type": "model_change", "id": "cut", "provider": "openai", "modelId": "gpt-4o"},
    ),
    (
        "a change of the thinking level",
        {"type": "thinking_level_change", "id": "cut", "thinkingLevel": "high"},
    ),
)


@pytest.mark.parametrize("draft", [draft for _, draft in VALID], ids=[name for name, _ in VALID])
async def test_section_8_2_a_cut_is_valid_before(draft: dict[str, Any], memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    await peer.append(session, user("go", id="m1"), tool_call("c1", id="m2"), tool_result("c1", id="m3"))
    await peer.append(session, draft, user("last", id="m9"))
    done = await peer.call("session/compact", sessionId=session, summary="S", firstKeptEntryId="cut")
    kept = [name for name in await context_ids(peer, session) if name != "m9"]
    assert kept == [done["recordId"], *(["cut"] if draft["type"] == "message" else [])]


async def test_section_8_2_nothing_is_placed_between_a_call_and_its_result(memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    await peer.append(session, user("go", id="m1"), assistant("sure", id="m2"), user("do", id="m3"))
    await peer.append(session, tool_call("c1", id="m4"))
    draft = {"type": "compaction", "summary": "S", "firstKeptEntryId": "m3", "tokensBefore": 1}
    assert (await refusal(peer.append(session, draft))).details["rule"] == "noToolSplit"
    await peer.append(session, tool_result("c1", id="m5"))
    await peer.append(session, draft)


async def test_section_9_labels_infos_and_custom_entries_are_in_the_log_but_no_model_sees_them(
    daemon: Running, cwd: str
) -> None:
    peer, session = await started(daemon, cwd)
    await peer.append(session, user("one", id="m1"), assistant("two", id="m2"))
    await label(peer, session, "m1", "Bug reproduced")
    await label(peer, session, "m1", "Requirement defined")
    await label(peer, session, "m2", "needs_review")
    await peer.call("session/rename", sessionId=session, title="Jokes")
    await peer.append(session, {"type": "custom", "customType": "acme", "data": {"a": 1}})
    assert await context_ids(peer, session) == ["m1", "m2"]
    assert await labels(peer, session) == {"m1": "Requirement defined", "m2": "needs_review"}
    await label(peer, session, "m2", "")
    assert await labels(peer, session) == {"m1": "Requirement defined"}
    lines = lines_of((await peer.call("session/info", sessionId=session))["session"]["path"])
    assert [line["type"] for line in lines[3:]] == ["label"] * 3 + ["session_info", "custom", "label"]
