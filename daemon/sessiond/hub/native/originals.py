"""Finds the session of an agent that a session was read from, and whether it still exists.

The files and databases of agents are only read. All functions but `origin_of` block.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from sessiond.agents.agent import Agent, WrittenSession
from sessiond.agents.folder_walk import VisitedFolders, real_folders, session_files
from sessiond.agents.opencode import database as opencode_database
from sessiond.agents.table import AGENTS
from sessiond.hub.session.live import LiveSession
from sessiond.session.content import fields

_BY_FOLDER: Final = frozenset(("claude-code", "qwen"))
"""The agents that only find the sessions of the folder in which they are started."""
_ANY_TIME: Final = "1970-01-01T00:00:00.000Z"
"""A time, for agents whose names of files have none."""
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
    if origin is None or origin.agent not in AGENTS or "/" in origin.session_id:
        return None  # a subagent's session, whose id has that of its parent, cannot be resumed alone
    return Original(origin.agent, origin.session_id, origin.path)


def find(original: Original, cwd: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the file or database that has the session of an agent.

    Args:
        original: The session of an agent.
        cwd: The real path of the folder to resume in. Claude Code and Qwen Code only find sessions of that folder.
        environ: The environment variables that tell where agents keep their sessions.

    Returns:
        The path; None if the session is gone, or if the agent would not find it from this folder.
    """
    agent = AGENTS[original.agent]
    if original.native_id.startswith("-"):
        return None  # the command that resumes it would take the id for an option
    if agent.storage == "database":
        paths = _files(agent, environ)
        return next((path for path in paths if messages_in_database(path, original.native_id)), None)
    part = original.native_id[:_ID_IN_NAME] if agent.name == "gemini" else original.native_id
    known = [] if original.path is None else [original.path]
    for path in chain(known, _files(agent, environ)):
        if _is_found(path, part, original.native_id, agent, cwd, environ):
            return path
    return None


def _is_found(
    path: str, part: str, native_id: str, agent: Agent, cwd: str, environ: Mapping[str, str]
) -> bool:
    """Return whether the agent finds the session at a path when it is started in the folder `cwd`."""
    if (
        not path.startswith(tuple(f"{folder}/" for folder in agent.folders(environ)))
        or not Path(path).is_file()
    ):
        return False  # a copy elsewhere
    if agent.name == "gemini":
        return part in Path(path).name and _has_id(path, native_id)
    if agent.name in _BY_FOLDER and agent.new_file is not None:
        expected = agent.new_file(WrittenSession(native_id, cwd, _ANY_TIME), environ).path
        return path == expected
    if agent.name == "cursor" and not _has_chat(agent, native_id, cwd, environ):
        return False  # of the editor, or of another folder
    # Copilot CLI: <id>/events.jsonl
    return part in Path(path).name or part == Path(path).parent.name


def _has_chat(agent: Agent, native_id: str, cwd: str, environ: Mapping[str, str]) -> bool:
    """Return whether Cursor's command-line program has the chat of a transcript, in this folder."""
    [projects] = agent.folders(environ)
    workspace = hashlib.md5(os.fsencode(cwd), usedforsecurity=False).hexdigest()
    return (Path(projects).parent / "chats" / workspace / native_id).is_dir()


def messages_in_database(path: str, native_id: str) -> list[str]:
    """Return the ids of the messages of a session in OpenCode's database; none if there is no such session."""
    try:
        return opencode_database.message_ids(path, native_id)
    except opencode_database.UnreadableDatabase:
        return []


def _files(agent: Agent, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of all files that may hold sessions of an agent."""
    for folder in agent.folders(environ):
        for it in session_files(agent, folder, VisitedFolders(), real_folders(agent, environ)):
            yield it.path


def _has_id(path: str, native_id: str) -> bool:
    try:
        with open(path, "rb") as file:
            first = file.readline(_HEADER_BYTES)
        return bool(fields.mapping(msgspec.json.decode(first)).get("sessionId") == native_id)
    except (OSError, msgspec.DecodeError):
        return False
