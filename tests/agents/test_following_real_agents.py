"""A person follows their agents, and goes on using them: each session is here, found, live and kept.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent_kinds import ANSWER, QUESTION, SECOND_ANSWER, SECOND_QUESTION
from support.columns import entries_of
from support.daemons import Peer, running
from support.patience import BOUND
from support.real_agents import NAMES, RealAgents, read_call
from support.scripted_model import ScriptedModel

PROMPT_TOKENS, ANSWER_TOKENS = 11, 7
"""The tokens that the scripted model counts for every request."""

pytestmark = [pytest.mark.agents, pytest.mark.slow]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        model.when(QUESTION).says(ANSWER)
        model.when(SECOND_QUESTION).says(SECOND_ANSWER)
        yield model


@pytest.fixture
def agents(agents_home: Path, model: ScriptedModel) -> RealAgents:
    return RealAgents(agents_home, model.url)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
async def peer(agents: RealAgents, tmp_path: Path) -> AsyncIterator[Peer]:
    """A client of a daemon that follows all these agents."""
    async with running(tmp_path / "daemon") as daemon:
        client = await daemon.attach()
        await client.call("agent/follow", agents=list(NAMES))
        yield client


async def session_of(peer: Peer, name: str, text: str) -> str:
    """The id of the one session of an agent in which a search finds a text, as soon as there is one."""
    async with asyncio.timeout(BOUND):
        while True:
            hits = (await peer.call("session/search", query=f'"{text}"', agent=name))["hits"]
            if hits:
                [found] = {hit["sessionId"] for hit in hits}
                return str(found)
            await asyncio.sleep(0.02)


async def spoken(peer: Peer, session_id: str) -> list[str]:
    """The texts of a session's user and assistant messages, in order."""
    entries = entries_of(await peer.call("session/entries", sessionId=session_id, limit=1_000))
    known = (QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER)
    return [
        text
        for entry in entries
        if entry["type"] == "message"
        for text in known
        if text in str(entry["message"])
    ]


async def info(peer: Peer, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await peer.call("session/info", sessionId=session_id))["session"]
    return found


@pytest.mark.parametrize("name", NAMES)
async def test_the_agent_goes_on_and_subscribers_see_its_session_grow(
    name: str, peer: Peer, agents: RealAgents, project: Path
) -> None:
    await asyncio.to_thread(agents.turn, name, project, QUESTION)
    session_id = await session_of(peer, name, ANSWER)
    await peer.call("session/subscribe", sessionId=session_id)
    native_id = agents.native_id(name)

    await asyncio.to_thread(agents.resume, name, project, native_id, SECOND_QUESTION)

    for text in (SECOND_QUESTION, SECOND_ANSWER):
        await peer.until(lambda client, text=text: any(text in str(body) for body in client.bodies))  # type: ignore[misc]
    assert await session_of(peer, name, SECOND_ANSWER) == session_id
    assert await spoken(peer, session_id) == [QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER]


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini"])
async def test_the_requests_of_an_agent_count_with_the_tokens_that_the_model_counted(
    name: str, peer: Peer, agents: RealAgents, project: Path
) -> None:
    await asyncio.to_thread(agents.turn, name, project, QUESTION)
    await session_of(peer, name, ANSWER)
    await asyncio.to_thread(agents.resume, name, project, agents.native_id(name), SECOND_QUESTION)
    await session_of(peer, name, SECOND_ANSWER)

    async def total() -> dict[str, Any]:
        found: dict[str, Any] = (await peer.call("usage/report", agent=name, waitMs=60_000))["total"]
        return found

    async with asyncio.timeout(BOUND):
        while (counted := await total())["requestCount"] < 2:  # noqa: ASYNC110 - a search may see an answer first
            await asyncio.sleep(0.02)

    assert counted["requestCount"] == 2
    assert (counted["tokens"]["input"], counted["tokens"]["output"]) == (2 * PROMPT_TOKENS, 2 * ANSWER_TOKENS)


@pytest.mark.parametrize("name", NAMES)
async def test_a_session_that_the_agent_deletes_is_kept_and_says_so(
    name: str, peer: Peer, agents: RealAgents, project: Path
) -> None:
    await asyncio.to_thread(agents.turn, name, project, QUESTION)
    session_id = await session_of(peer, name, ANSWER)
    await asyncio.to_thread(agents.delete_session, name, agents.native_id(name), project)

    async with asyncio.timeout(BOUND):
        while not (await info(peer, session_id))["origin"]["gone"]:  # noqa: ASYNC110 - no event says it to a client that did not subscribe
            await asyncio.sleep(0.02)

    assert await spoken(peer, session_id) == [QUESTION, ANSWER]
    assert await session_of(peer, name, ANSWER) == session_id


async def test_an_answer_is_announced_while_the_agent_is_still_at_work(
    peer: Peer, agents: RealAgents, model: ScriptedModel, project: Path
) -> None:
    reeds = project / "reeds.txt"
    reeds.write_text("a heron\n", encoding="utf-8")
    gate = threading.Event()
    tool, arguments = read_call("claude-code", reeds)
    model.when("Look there.").calls(tool, **arguments).waits_for(gate).says("There it is.")
    turn = asyncio.create_task(asyncio.to_thread(agents.turn, "claude-code", project, "Look there."))
    try:
        session_id = await session_of(peer, "claude-code", "a heron")  # the result of the tool
        assert not turn.done()
    finally:
        gate.set()
        await turn
    assert await session_of(peer, "claude-code", "There it is.") == session_id
