"""The session store of the Claude Agent SDK, with a real daemon: the SDK's own contracts, and what editors see."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sessiond.client import connect
from sessiond.paths import Locations
from support.homes import a_home, environment

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk.testing import run_session_store_conformance

from sessiond.adapters.claude_agent_sdk import SessiondSessionStore

KEY: Any = {"project_key": "-home-ada-atlas", "session_id": "0b9f3c52-52d4-4a3c-9d0e-5a1f6d3a7e11"}
AT = "2026-03-01T08:00:00.000Z"


@pytest.fixture
def locations() -> Iterator[Locations]:
    with a_home() as locations:
        yield locations


def line(type: str, uuid: str, content: Any, **more: Any) -> Any:
    message = {"role": type, "content": content}
    if type == "assistant":
        message |= {
            "id": "msg_1",
            "model": "claude-x",
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 9},
        }
    return {"type": type, "uuid": uuid, "timestamp": AT, "cwd": "/", "message": message, **more}


TURN = [
    line("user", "u1", "Where is the heron?"),
    line("assistant", "a1", [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "reeds.txt"}}]),
    line("user", "u2", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a bird"}]),
    line("assistant", "a2", [{"type": "text", "text": "In the reeds."}]),
    {"type": "ai-title", "aiTitle": "The heron", "sessionId": KEY["session_id"]},
]  # fmt: skip


@pytest.mark.slow  # each contract has a daemon of its own
async def test_the_store_keeps_all_contracts_of_the_sdk() -> None:
    homes: list[Any] = []
    stores: list[SessiondSessionStore] = []

    def fresh() -> SessiondSessionStore:
        home = a_home()
        homes.append(home)
        stores.append(SessiondSessionStore(locations=home.__enter__()))
        return stores[-1]

    try:
        await run_session_store_conformance(fresh)  # type: ignore[arg-type, unused-ignore]
    finally:
        for store in stores:
            await store.aclose()
        for home in homes:
            home.__exit__(None, None, None)
    assert len(stores) >= 14


async def test_lines_are_messages_in_the_tree_a_search_and_a_context(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, TURN)
    async with connect(locations=locations) as daemon:
        (found,) = (await daemon.list_sessions()).sessions
        assert (found.title, found.first_prompt, found.cwd) == ("The heron", "Where is the heron?", "/")
        context = await daemon.context(found.session_id, format="anthropic")
        assert context.messages == [
            {"role": "user", "content": "Where is the heron?"},
            {"role": "assistant", "content": TURN[1]["message"]["content"]},
            {"role": "user", "content": TURN[2]["message"]["content"]},
            {"role": "assistant", "content": TURN[3]["message"]["content"]},
        ]
        nodes = (await daemon.tree(found.session_id, filter="all")).nodes
        assert [node.role for node in nodes if node.type == "message"] == [
            "user", "assistant", "toolResult", "assistant",
        ]  # fmt: skip
        hits = (await daemon.search("reeds")).hits
        assert {hit.entry_id for hit in hits} == {"a1", "a2"}
    assert await store.load(KEY) == TURN
    await store.aclose()


async def test_an_editor_sees_a_line_when_it_is_appended(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, TURN[:1])
    async with connect(locations=locations) as daemon:
        session_id = (await daemon.list_sessions(include_drafts=True)).sessions[0].session_id
        async with daemon.subscribe(session_id) as subscription:
            await store.append(KEY, TURN[1:4])
            seen = [(await anext(subscription))["id"] for _ in range(3)]
    assert seen == ["a1", "u2", "a2"]
    await store.aclose()


IMAGE = {"type": "base64", "media_type": "image/png", "data": "A" * 4096}
ODD: list[Any] = [
    {"type": "x"},
    {"type": "user", "uuid": "not an id of ours!", "message": {"content": [{"type": "document", "source": {}}]}},
    {"type": "assistant", "uuid": "o1", "message": "no object"},
    {"type": "assistant", "uuid": "o2", "timestamp": "yesterday", "message": {"content": [7, "text", {"type": "odd"}]}},
    line("user", "o3", [{"type": "text", "text": "half \ud83d"}]),
    line("user", "o4", "x" * 600_000, partialJson="kept", jsonlEvents=[1]),
    {"type": "system", "uuid": "o5", "number": 2**80, "float": 1.0, "nested": {"partialJson": [None]}},
    line("user", "o6", "", isCompactSummary=True),
    {"type": "custom-title", "customTitle": "a\nb\0", "uuid": "o7"},
    line("user", "o8", [{"type": "image", "source": IMAGE}]),
    line("user", "x" * 64, [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "and"}]),
]  # fmt: skip


async def test_lines_of_any_shape_come_back_equal(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, ODD)
    assert await store.load(KEY) == ODD
    again = SessiondSessionStore(locations=locations)
    await again.append(KEY, ODD[1:])
    assert await again.load(KEY) == ODD, "a line with an uuid is stored once"
    await store.aclose()
    await again.aclose()


async def test_a_line_is_stored_once_also_if_its_copy_differs(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, TURN[:2])
    await store.append(KEY, [TURN[0] | {"parentUuid": "moved"}, TURN[3], TURN[3]])
    assert await store.load(KEY) == [*TURN[:2], TURN[3]]
    await store.aclose()


async def test_appends_go_on_over_the_end_of_a_daemon(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    for number, each in enumerate(TURN):
        if number:
            async with connect(locations=locations) as daemon:
                os.kill((await daemon.status()).pid, signal.SIGKILL)
        await store.append(KEY, [each])
    assert await store.load(KEY) == TURN
    await store.aclose()


WRITER = """
import asyncio, sys
from sessiond.adapters.claude_agent_sdk import SessiondSessionStore
async def main():
    store = SessiondSessionStore()
    key = {"project_key": "p", "session_id": "shared"}
    for number in range(20):
        await store.append(key, [{"type": "x", "uuid": f"{sys.argv[1]}-{number}", "by": sys.argv[1], "n": number}])
    await store.aclose()
asyncio.run(main())
"""


async def test_two_programs_write_one_transcript(locations: Locations) -> None:
    running = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, name, env=environment(locations))
        for name in ("one", "two")
    ]
    assert [await process.wait() for process in running] == [0, 0]
    store = SessiondSessionStore(locations=locations)
    found: Any = await store.load({"project_key": "p", "session_id": "shared"})
    for name in ("one", "two"):
        assert [item["n"] for item in found if item["by"] == name] == list(range(20))
    assert len(found) == 40
    await store.aclose()


async def test_a_deleted_transcript_is_in_the_trash_and_its_key_can_be_used_again(
    locations: Locations,
) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, TURN)
    await store.append({**KEY, "subpath": "subagents/agent-1"}, TURN[:1])
    await store.delete(KEY)
    async with connect(locations=locations) as daemon:
        assert len((await daemon.trash()).sessions) == 2
    await store.append(KEY, TURN[3:4])
    assert await store.load(KEY) == TURN[3:4]
    assert await store.list_subkeys(KEY) == []
    await store.aclose()


async def test_a_subagent_is_a_session_of_its_own_that_names_the_main_one(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    await store.append(KEY, TURN)
    await store.append({**KEY, "subpath": "subagents/agent-1"}, [line("assistant", "s1", "Here.")])
    async with connect(locations=locations) as daemon:
        rows = {session.first_prompt: session for session in (await daemon.list_sessions()).sessions}
        assert rows[None].parent_session_id == rows["Where is the heron?"].session_id
    await store.aclose()


async def test_a_compaction_of_claude_code_is_one_of_the_session(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "compactMetadata": {"preTokens": 900},
    }
    summary = line("user", "s", "The heron was found.", isCompactSummary=True)
    await store.append(KEY, [*TURN[:4], boundary, summary, line("user", "u3", "And now?")])
    async with connect(locations=locations) as daemon:
        session_id = (await daemon.list_sessions()).sessions[0].session_id
        context = await daemon.context(session_id, format="anthropic")
        (message,) = context.messages
    assert "The heron was found." in str(message)
    assert "And now?" in str(message)
    assert "reeds" not in str(message)
    await store.aclose()


def test_a_store_is_used_by_one_event_loop_after_another(locations: Locations) -> None:
    store = SessiondSessionStore(locations=locations)
    for each in TURN:
        asyncio.run(store.append(KEY, [each]))
    assert asyncio.run(store.load(KEY)) == TURN
