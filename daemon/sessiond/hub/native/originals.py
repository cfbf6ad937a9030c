"""Finds the session of an agent that a session was read from, and whether it still exists.

The files and databases of agents are only read. All functions but `origin_of` block.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.hub.session.live import LiveSession
from sessiond.session.content import fields

_ID_IN_NAME: Final = 8
"""The characters of an id of Gemini CLI that the name of its file has."""
_HEADER_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Original:
    """The session of an agent. `path` is that of its file, if the import recorded it."""

    agent: str
    native_id: str
    path: str | None


def origin_of(live: LiveSession) -> Original | None:
    """Return the session of an agent that a session was read from; None if it was read from none."""
    origin = live.tree.origin
    if origin is None or origin.agent not in AGENTS:
        return None
    return Original(origin.agent, origin.session_id, origin.path)


def find(original: Original, environ: Mapping[str, str]) -> str | None:
    """Return the path of the file or database that has the session of an agent; None if it is gone.

    Args:
        original: The session of an agent.
        environ: The environment variables that tell where agents keep their sessions.
    """
    agent = AGENTS[original.agent]
    if agent.storage == "database":
        paths = _files(agent, environ)
        return next((path for path in paths if messages_in_database(path, original.native_id)), None)
    above = [f"{folder}/" for folder in agent.folders(environ)]
    if original.path is not None and original.path.startswith(tuple(above)) and Path(original.path).is_file():
        return original.path  # elsewhere, as a copy, the agent does not find it
    part = original.native_id[:_ID_IN_NAME] if agent.name == "gemini" else original.native_id
    for path in _files(agent, environ):
        if part in Path(path).name and (agent.name != "gemini" or _has_id(path, original.native_id)):
            return path
    return None


def messages_in_database(path: str, native_id: str) -> list[str]:
    """Return the ids of the messages of a session in OpenCode's database; none if there is no such session."""
    try:
        connection = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, timeout=1)
        try:
            rows = connection.execute("SELECT id FROM message WHERE session_id = ?", [native_id]).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return []
    return [str(row[0]) for row in rows]


def _files(agent: Agent, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of all files that may hold sessions of an agent."""
    for folder in agent.folders(environ):
        for above, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(above, name)
                if agent.is_session_file(os.path.relpath(path, folder)):
                    yield path


def _has_id(path: str, native_id: str) -> bool:
    try:
        with open(path, "rb") as file:
            first = file.readline(_HEADER_BYTES)
        return bool(fields.mapping(msgspec.json.decode(first)).get("sessionId") == native_id)
    except (OSError, msgspec.DecodeError):
        return False


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
