"""Describes the agents for `agent/list`: their files on this machine, and their sessions here. Blocks."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from sessiond.agents import known
from sessiond.agents.agent import Agent, Environ, version_numbers
from sessiond.agents.folder_walk import has_session_files
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.hub import clock
from sessiond.hub.following import agent_problems
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer.source_records import SourceRecord, SourceRecords
from sessiond.protocol import types as t
from sessiond.session.tree import lines

MAX_PROBLEMS: Final = 20
MAX_KINDS: Final = 100
_MAX_FAILURE: Final = 300

log = logging.getLogger(__name__)


def describe_all(
    agents: Iterable[Agent],
    environ: Environ,
    records: SourceRecords,
    followed: Callable[[str], FollowedAgent | None],
) -> list[t.AgentInfo]:
    """Return a description of each agent.

    Args:
        agents: The agents.
        environ: The environment variables that may move the folders of agents.
        records: The records of imported files.
        followed: Returns the state of a followed agent by name, or None.
    """
    return [_describe(agent, environ, records, followed(agent.name)) for agent in agents]


def readable(agent: Agent) -> bool:
    """Return whether the sessions of an agent can be read, and so followed."""
    return agent.dialect in known.DIALECTS


def followable(agents: Iterable[Agent], environ: Environ, *, with_files: bool) -> list[str]:
    """Return the names of the agents that can be followed; with `with_files`, only of those that have session files."""
    return [
        agent.name
        for agent in agents
        if readable(agent) and (not with_files or has_session_files(agent, environ))
    ]


def newest_version(records: Iterable[SourceRecord]) -> str | None:
    """Return the newest version of an agent that wrote one of these files; None if no file names a version."""
    named = {
        record.version for record in records if record.version is not None and version_numbers(record.version)
    }
    return max(named, key=version_numbers, default=None)


def _describe(
    agent: Agent, environ: Environ, records: SourceRecords, followed: FollowedAgent | None
) -> t.AgentInfo:
    failure = None if followed is None else followed.failure
    if followed is not None and followed.has_census:
        files, unread = followed.files(), {**followed.problems}
        size = followed.sources.size_of(files)
    else:
        try:
            sources = sources_of(agent, environ)
            census = sources.census()
            files, unread, size = census.sources, census.problems, sources.size_of(census.sources)
        except Exception as error:  # an agent must not hide the others
            log.exception("the files of %s cannot be found", agent.title)
            files, unread, size = {}, {}, 0
            failure = failure or lines.valid_text(f"{type(error).__name__}: {error}"[:_MAX_FAILURE])
    problems = {path: agent_problems.of_unread(path, reason) for path, reason in unread.items()}
    preserved: Counter[str] = Counter()
    sessions: set[str] = set()
    stored = 0
    recorded = records.below(agent.folders(environ))
    for path, record in recorded.items():
        # The follower knows itself which files are not read at present.
        if path in files and (record.session is not None or followed is None):
            found = agent_problems.of_record(path, record)
            if found is not None:
                problems.setdefault(path, found)
        if record.session is not None and record.session.session_id not in sessions:
            sessions.add(record.session.session_id)
            stored += record.blob_bytes + (0 if record.log_status is None else record.log_status.size)
            preserved.update(record.session.preserved_lines)
    newest = max((status.modified_ns for status in files.values()), default=None)
    newest_version_here = newest_version(recorded.values())
    return t.AgentInfo(
        name=agent.name, title=agent.title, short_name=agent.short_name, program=agent.program,
        format=agent.dialect if readable(agent) else None, checked_version=agent.checked_version,
        newest_version=newest_version_here, is_unchecked_version=agent.is_unchecked(newest_version_here),
        folders=[lines.valid_text(folder) for folder in agent.folders(environ)], variables=list(agent.variables),
        is_writable=agent.name in NATIVE_WRITERS, is_followed=followed is not None,
        file_count=len(files), size_bytes=size,
        last_written_at=None if newest is None else clock.iso(newest),
        session_count=len(sessions), stored_bytes=stored,
        waiting_count=0 if followed is None else len(followed.waiting),
        queued_count=0 if followed is None else followed.queued_count,
        not_understood=dict(preserved.most_common(MAX_KINDS)),
        problems=[problem.on_the_wire() for problem in islice(problems.values(), MAX_PROBLEMS)],
        problem_count=len(problems), failure=failure,
    )  # fmt: skip
