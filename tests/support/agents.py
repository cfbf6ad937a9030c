"""The parts of tests of agents: a connection to a daemon of their own, a model that fills its context, and writers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sessiond.client import AgentSession, Summary, SummaryRequest, connect
from sessiond.client.daemon import Daemon
from sessiond.client.summarizer import Summarize
from sessiond.paths import Locations

WINDOW = {"context_window": 4_000, "reserve_tokens": 1_000, "keep_recent_tokens": 500}
"""Settings whose limit a few long messages exceed."""


def prompt(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text}


def answer(text: str, *, used: int = 0) -> dict[str, Any]:
    """An assistant's message with a token count of its provider."""
    usage = {"input": used, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": used}
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "usage": usage}


def call(name: str, id: str) -> dict[str, Any]:
    """An assistant's message that calls a tool."""
    return {"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": name, "arguments": {}}]}


def result(id: str, text: str) -> dict[str, Any]:
    """The answer of the tool."""
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": id, "toolName": "look", "content": content, "isError": False}


@asynccontextmanager
async def an_agent(
    locations: Locations, folder: Path, summarize: Summarize | None = None
) -> AsyncIterator[AgentSession]:
    """An agent with a connection and a new session of its own."""
    async with connect(locations=locations, name="agent", summarize=summarize) as daemon:
        yield await AgentSession.create(daemon, str(folder))


async def fill(session: AgentSession, turns: int = 4, *, used: int = 3_500) -> list[str]:
    """Append turns until the context is full according to `WINDOW`; the last answer says so. Returns the ids."""
    ids = []
    for number in range(turns):
        ids.append(await session.append(prompt(f"question {number} " + "x" * 1_500)))
        last = number == turns - 1
        ids.append(await session.append(answer(f"answer {number} " + "y" * 1_500, used=used if last else 0)))
    return ids


class Writer:
    """Writes summaries when the test allows it; `asked` has the requests."""

    def __init__(self, *, says: str = "What was said.", at_once: bool = True) -> None:
        self.asked: list[SummaryRequest] = []
        self.canceled = 0
        self.may_write = asyncio.Event()
        self._says = says
        if at_once:
            self.may_write.set()

    async def __call__(self, request: SummaryRequest) -> Summary:
        self.asked.append(request)
        request.report("reading", percentage=50)
        try:
            await self.may_write.wait()
        except asyncio.CancelledError:
            self.canceled += 1
            raise
        return Summary(self._says, short="short", details={"by": "test"})


async def the_path(daemon: Daemon, session_id: str) -> list[str]:
    """The types of the entries to the leaf, messages by their role."""
    entries = (await daemon.path(session_id)).entries
    return [entry["message"]["role"] if entry["type"] == "message" else entry["type"] for entry in entries]
