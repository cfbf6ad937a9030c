"""Queries about followed sessions, repeated until they have an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from support.columns import entries_of
from support.daemons import Peer
from support.dialect_files import SESSION
from support.patience import BOUND


async def until(found: Callable[[], Awaitable[Any]]) -> Any:
    """Poll until `found` returns a true value, and return that."""
    async with asyncio.timeout(BOUND):
        while not (result := await found()):  # noqa: ASYNC110 - any state may be asked for
            await asyncio.sleep(0.01)
    return result


async def texts(peer: Peer, session: str = SESSION) -> list[str]:
    """The texts of the messages of a session in the order of its log; empty before the session exists."""
    found = (await peer.call("session/resolve", query=session))["sessions"]
    if not found:
        return []
    entries = entries_of(await peer.call("session/entries", sessionId=session, limit=1_000))
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    contents = [message["content"] for message in messages if message["role"] != "fileMention"]
    parts = [
        [{"type": "text", "text": content}] if isinstance(content, str) else content for content in contents
    ]
    return [part["text"] for content in parts for part in content if part["type"] == "text"]


async def has(peer: Peer, text: str, session: str = SESSION) -> None:
    """Wait until a session has a message with this text."""
    await until(lambda: _has(peer, text, session))


async def _has(peer: Peer, text: str, session: str) -> bool:
    return text in await texts(peer, session)


async def info(peer: Peer, session: str = SESSION) -> dict[str, Any]:
    found: dict[str, Any] = (await peer.call("session/info", sessionId=session))["session"]
    return found
