"""The session of the OpenAI Agents SDK, with a real daemon: what the SDK relies on, and what editors see."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sessiond.client import connect
from sessiond.paths import Locations
from support.homes import a_home, environment

pytest.importorskip("agents.memory")

from agents.memory import Session

from agents import SessionSettings
from sessiond.adapters.openai_agents import SessiondSession


@pytest.fixture(scope="module")
def locations() -> Iterator[Locations]:
    with a_home() as locations:
        yield locations


@pytest.fixture
async def session(locations: Locations, request: pytest.FixtureRequest) -> AsyncIterator[SessiondSession]:
    made = SessiondSession(f"session-{abs(hash(request.node.name))}", locations=locations)
    yield made
    await made.aclose()


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def said(text: str, **more: Any) -> Any:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {
        "id": "__fake_id__", "type": "message", "role": "assistant", "status": "completed", "content": content, **more,
    }  # fmt: skip


CALL: Any = {
    "type": "function_call",
    "id": "__fake_id__",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
OUTPUT: Any = {"type": "function_call_output", "call_id": "call_1", "output": "a heron"}
TURN: list[Any] = [user("Where?"), CALL, OUTPUT, said("In the reeds.")]


async def test_it_is_a_session_of_the_sdk(session: SessiondSession) -> None:
    assert isinstance(session, Session)


async def test_an_empty_session_has_no_items(session: SessiondSession) -> None:
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items([])
    await session.clear_session()
    assert await session.get_items() == []


async def test_items_come_back_equal_and_in_order(session: SessiondSession) -> None:
    await session.add_items(TURN[:1])
    await session.add_items(TURN[1:])
    assert await session.get_items() == TURN


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (3, 3), (4, 4), (9, 4), (None, 4), (-1, 4)])
async def test_a_limit_returns_the_latest_items_oldest_first(
    session: SessiondSession, limit: int | None, count: int
) -> None:
    await session.add_items(TURN)
    assert await session.get_items(limit) == TURN[4 - count :]


async def test_the_settings_have_a_limit_which_an_argument_overrides(locations: Locations) -> None:
    session = SessiondSession("with-a-limit", session_settings=SessionSettings(limit=2), locations=locations)
    await session.add_items(TURN)
    assert await session.get_items() == TURN[2:]
    assert await session.get_items(3) == TURN[1:]
    await session.aclose()


async def test_pop_returns_the_latest_item_and_leaves_it_on_a_branch(
    session: SessiondSession, locations: Locations
) -> None:
    await session.add_items(TURN)
    assert await session.pop_item() == TURN[3]
    assert await session.pop_item() == TURN[2]
    await session.add_items([user("Once more")])
    assert await session.get_items() == [*TURN[:2], user("Once more")]
    async with connect(locations=locations) as daemon:
        entries = (await daemon.entries(session.session_id)).entries
        assert sum(entry["type"] == "message" for entry in entries) == 5
        (hit,) = (await daemon.search("reeds", cwd=None)).hits[:1]
        assert hit.entry_id


async def test_a_session_is_empty_when_every_item_was_popped(session: SessiondSession) -> None:
    await session.add_items(TURN[:2])
    assert [await session.pop_item() for _ in range(3)] == [TURN[1], TURN[0], None]
    assert await session.get_items() == []


async def test_a_cleared_session_begins_anew_and_keeps_the_former_branch(
    session: SessiondSession, locations: Locations
) -> None:
    await session.add_items(TURN)
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items(TURN[:1])
    assert await session.get_items() == TURN[:1]
    async with connect(locations=locations) as daemon:
        entries = (await daemon.entries(session.session_id)).entries
    assert [entry["parentId"] for entry in entries if entry["type"] == "message"].count(None) == 2


async def test_sessions_are_separate_and_may_have_any_id(locations: Locations) -> None:
    ids = ["1", "a/../b", "é" * 300, "one-session", "one-session-more"]
    sessions = [SessiondSession(text, locations=locations) for text in ids]
    for each in sessions:
        await each.add_items([user(each.session_id)])
    for each in sessions:
        assert await each.get_items() == [user(each.session_id)]
        await each.aclose()


IMAGE = f"data:image/png;base64,{'A' * 4096}"
ODD: list[Any] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eHg="},
    {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "heron"}},
    {"role": "user", "content": [{"type": "input_file", "file_id": "f"}]},
    {"role": "user", "content": "half \ud83d", "partialJson": "kept"},
    {"role": "nobody", "content": 2**80},
    {"type": "compaction", "id": "c", "encrypted_content": "eHg="},
    {"type": "item_reference", "id": "msg_1"},
    {"role": "user", "content": ""},
    {"role": "user", "content": "x" * 600_000},
    {"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": IMAGE}]},
    user("the same"), user("the same"),
]  # fmt: skip


async def test_items_of_any_shape_come_back_equal(session: SessiondSession) -> None:
    await session.add_items(ODD)
    assert await session.get_items() == ODD
    for item in reversed(ODD):
        assert await session.pop_item() == item


async def test_items_are_messages_for_people_and_other_providers(
    session: SessiondSession, locations: Locations
) -> None:
    await session.add_items(TURN)
    async with connect(locations=locations) as daemon:
        nodes = (await daemon.tree(session.session_id, filter="all")).nodes
        assert [node.role for node in nodes] == ["user", "assistant", "toolResult", "assistant"]
        context = await daemon.context(session.session_id, format="anthropic")
        assert [message["role"] for message in context.messages] == ["user", "assistant", "user", "assistant"]
        listed = (await daemon.list_sessions(tags=["openai-agents"])).sessions
    assert session.session_id in {listed.session_id for listed in listed}


async def test_a_message_that_a_person_appends_is_an_item(
    session: SessiondSession, locations: Locations
) -> None:
    await session.add_items(TURN)
    async with connect(locations=locations) as daemon:
        await daemon.append(session.session_id, [{"role": "user", "content": "From an editor"}])
    assert await session.get_items() == [*TURN, user("From an editor")]
    assert await session.pop_item() == user("From an editor")
    assert await session.get_items() == TURN


async def test_after_a_compaction_its_summary_stands_for_the_earlier_items(
    session: SessiondSession, locations: Locations
) -> None:
    await session.add_items(TURN)
    async with connect(locations=locations) as daemon:
        last = (await daemon.path(session.session_id)).entries[-1]["id"]
        compaction = {
            "type": "compaction",
            "summary": "A heron.",
            "firstKeptEntryId": last,
            "tokensBefore": 9,
        }
        await daemon.append(session.session_id, [compaction])
    await session.add_items([user("And now?")])
    summary, *rest = await session.get_items()
    assert "A heron." in str(summary)
    assert rest == [TURN[3], user("And now?")]


async def test_an_agent_continues_a_session_of_another_program(locations: Locations) -> None:
    call = {"type": "toolCall", "id": "toolu_1", "name": "look", "arguments": {}}
    result: dict[str, Any] = {
        "role": "toolResult", "toolCallId": "toolu_1", "toolName": "look", "isError": False,
        "content": [{"type": "text", "text": "a heron"}],
    }  # fmt: skip
    async with connect(locations=locations) as daemon:
        await daemon.create("/", id="of-another-program")
        messages = [user("Where?"), {"role": "assistant", "content": [call]}, result]
        await daemon.append("of-another-program", messages)
    session = SessiondSession("of-another-program", locations=locations)
    assert await session.get_items() == [
        user("Where?"),
        {"type": "function_call", "call_id": "toolu_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "a heron"},
    ]
    await session.aclose()


async def test_items_are_added_over_the_end_of_a_daemon() -> None:
    with a_home() as locations:
        session = SessiondSession("over-restarts", locations=locations)
        for number, item in enumerate(TURN):
            if number:
                async with connect(locations=locations) as daemon:
                    os.kill((await daemon.status()).pid, signal.SIGKILL)
            await session.add_items([item])
        assert await session.get_items() == TURN
        await session.aclose()


WRITER = """
import asyncio, sys
from sessiond.adapters.openai_agents import SessiondSession
async def main():
    session = SessiondSession("shared-session")
    for number in range(20):
        await session.add_items([{"role": "user", "content": f"{sys.argv[1]} {number}"}])
    print(len([await session.pop_item() for _ in range(5)]))
    await session.aclose()
asyncio.run(main())
"""


async def test_two_programs_use_one_session(locations: Locations) -> None:
    pipe = asyncio.subprocess.PIPE
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, name, env=environment(locations), stdout=pipe
        )
        for name in ("one", "two")
    ]
    assert [(await process.communicate())[0] for process in running] == [b"5\n", b"5\n"]
    async with connect(locations=locations) as daemon:
        entries = (await daemon.entries("shared-session")).entries
        texts = [entry["message"]["content"] for entry in entries if entry["type"] == "message"]
    for name in ("one", "two"):
        assert [text for text in texts if text.startswith(name)] == [
            f"{name} {number}" for number in range(20)
        ]
