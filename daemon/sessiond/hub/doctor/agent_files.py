"""Checks the files and databases of agents: names those that are not read completely, and what will be deleted.

No file of an agent is opened. The problems of a file that was read are in the records of imports.
"""

import contextlib
import itertools
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from typing import Final

from sessiond import human
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.hub.doctor.databases import opened_read_only
from sessiond.hub.doctor.scope import Scope, device_of
from sessiond.hub.following import agent_list, agent_problems
from sessiond.hub.following.agent_problems import AgentFileProblem
from sessiond.hub.following.storage import sources_of
from sessiond.hub.storage import agent_deletions
from sessiond.hub.transfer.source_records import SourceRecord, records_below
from sessiond.hub.transfer.source_state import FileStatus

GIANT_BYTES: Final = 1_000_000_000
"""The size from which a session file of an agent is reported."""


def check_agent_files(scope: Scope) -> Iterator[None]:
    """Report files of followed agents that are not read, or not completely, and versions that were not checked.

    Of all agents, report what they will delete before it is here.
    """
    for name, agent in AGENTS.items():
        agent = agent.also_in(scope.config.agents.folders.get(name, ()))
        if name in scope.config.agents.follow:
            _check(scope, agent)
        elif (rule := agent.deletion(os.environ)) is not None and rule.deletes:
            with contextlib.suppress(Exception):  # nobody asked for the files of this agent
                files = sources_of(agent, os.environ).census().sources
                _check_deletion(scope, agent, files, _records(scope.locations.imports, agent))
        yield


def _check(scope: Scope, agent: Agent) -> None:
    try:
        found = sources_of(agent, os.environ).census()
    except Exception as error:  # noqa: BLE001 - an agent must not hide what is wrong with the others
        message = f"the files of {agent.title} cannot be found: {type(error).__name__}: {error}"
        scope.add("agentNotFollowed", message, agent.folders(os.environ)[0])
        return
    unread = dict(found.problems)
    if agent.storage == "files":
        for path in itertools.filterfalse(_is_readable, found.sources):
            unread[path] = agent_problems.FORBIDDEN
    for path, reason in unread.items():
        _add(scope, agent_problems.of_unread(path, reason))
    records = _records(scope.locations.imports, agent)
    for path, record in records.items():
        if path in unread or path not in found.sources:
            continue
        problem = agent_problems.of_record(path, record)
        # A file that could not be read stays one until it is read, also if its agent wrote more. Only the right to read
        # it may have been given since.
        is_outdated = found.sources[path] != record.state.status
        if problem is not None and not (problem.message == agent_problems.FORBIDDEN and is_outdated):
            _add(scope, problem)
    _check_sizes(scope, found.sources if agent.storage == "files" else {})
    _check_deletion(scope, agent, found.sources, records)
    newest = agent_list.newest_version(records.values())
    if agent.is_unchecked(newest):
        message = f"version {newest} of {agent.title} wrote sessions, and {agent.checked_version} was checked"
        scope.add("uncheckedAgentVersion", message, agent.folders(os.environ)[0])


def _check_sizes(scope: Scope, files: Mapping[str, FileStatus]) -> None:
    """Report giant files, and count the bytes that were written lately on the disk of the sessions."""
    device = device_of(scope.locations.data)
    for path, status in files.items():
        if status.size >= GIANT_BYTES:
            scope.add("giantAgentFile", f"it has {human.size(status.size)}", path)
        if status.device == device and status.modified_ns >= scope.recent_ns:
            scope.recent_bytes += status.size


def _check_deletion(
    scope: Scope, agent: Agent, files: Mapping[str, FileStatus], records: Mapping[str, SourceRecord]
) -> None:
    """Report that an agent will soon delete sessions that are not here."""
    rule = agent.deletion(os.environ)
    if rule is None or not rule.deletes:
        return
    due = agent_deletions.due(rule, files, time.time_ns())
    missing = agent_deletions.not_here(due, records) if due else []
    if missing:
        number = human.count(len(missing), "session file")
        scope.add(
            "agentWillDelete", f"{agent.title} will delete {number} within a week that are not here completely",
            missing[0], severity="warning" if agent.name in scope.config.agents.follow else "note",
        )  # fmt: skip


def _is_readable(path: str) -> bool:
    """Return whether this process may read a file."""
    # A setuid program has other rights than its user, whose rights are asked for without `effective_ids`.
    return os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)


def _add(scope: Scope, problem: AgentFileProblem) -> None:
    scope.add(problem.kind, problem.message, problem.path, line=problem.line)


def _records(path: str, agent: Agent) -> dict[str, SourceRecord]:
    """Return the records of an agent's files; none if the database is missing or damaged."""
    with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(opened_read_only(path)) as records:
        return records_below(records, agent.folders(os.environ))
    return {}
