"""Checks the files and databases of followed agents: names those that are not read completely, and unchecked versions.

No file of an agent is opened. The problems of a file that was read are in the records of imports.
"""

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Iterator

from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.hub.doctor.databases import opened_read_only
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.following import agent_list, agent_problems
from sessiond.hub.following.agent_problems import AgentFileProblem
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer.source_records import SourceRecord, records_below


def check_agent_files(scope: Scope) -> Iterator[None]:
    """Report files of followed agents that are not read, or not completely, and versions that were not checked."""
    for name in scope.config.agents.follow:
        if name in AGENTS:
            _check(scope, AGENTS[name].also_in(scope.config.agents.folders.get(name, ())))
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
    newest = agent_list.newest_version(records.values())
    if agent.is_unchecked(newest):
        message = f"version {newest} of {agent.title} wrote sessions, and {agent.checked_version} was checked"
        scope.add("uncheckedAgentVersion", message, agent.folders(os.environ)[0])


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
