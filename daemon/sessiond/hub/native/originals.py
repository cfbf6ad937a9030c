"""Finds the session of an agent that a session was read from, and whether it still exists.

The files and databases of agents are only read. All functions but `origin_of` block.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from sessiond.agents.agent import Agent
from sessiond.agents.folder_walk import VisitedFolders, real_folders, session_files
from sessiond.agents.session_database import SessionDatabase, UnreadableDatabase
from sessiond.agents.table import AGENTS
from sessiond.hub.session.live import LiveSession


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
        return None  # a subagent's session, whose id contains that of its parent, cannot be resumed alone
    return Original(origin.agent, origin.session_id, origin.path)


def find(original: Original, cwd: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the file or database that has the session of an agent.

    Args:
        original: The session of an agent.
        cwd: The real path of the folder to resume in. Some agents only find sessions of that folder.
        environ: The environment variables that say where agents keep their sessions.

    Returns:
        The path; None if the session is gone, or if the agent would not find it from this folder.
    """
    agent = AGENTS[original.agent]
    if original.native_id.startswith("-"):
        return None  # the command that resumes it would take the id for an option
    if agent.load_database is not None:
        database, paths = agent.load_database(), _files(agent, environ)
        return next(
            (path for path in paths if messages_in_database(database, path, original.native_id)), None
        )
    known = [] if original.path is None else [original.path]
    inside = tuple(f"{folder}/" for folder in agent.folders(environ))
    for path in chain(known, _files(agent, environ)):
        # A copy in another place does not belong to the agent's files.
        if (
            path.startswith(inside)
            and Path(path).is_file()
            and agent.finds(path, original.native_id, cwd, environ)
        ):
            return path
    return None


def messages_in_database(database: SessionDatabase, path: str, native_id: str) -> list[str]:
    """Return the ids of the messages of a session in a database; none if there is no such session."""
    try:
        return database.message_ids(path, native_id)
    except UnreadableDatabase:
        return []


def _files(agent: Agent, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of all files that may hold sessions of an agent."""
    for folder in agent.folders(environ):
        for item in session_files(agent, folder, VisitedFolders(), real_folders(agent, environ)):
            yield item.path
