"""Checks the files and databases of followed agents: names those that are not read, and versions that were not checked.

No file of an agent is opened. What was found when a file was read is in the records of imports.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator

from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.hub.doctor.databases import opened_read_only
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.following import agent_list
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer.import_results import UNREMARKABLE
from sessiond.hub.transfer.source_records import SourceRecord, records_below


def check_agent_files(scope: Scope) -> Iterator[None]:
    """Report the files and folders of followed agents that are not read, and newer versions than the checked one."""
    for name in scope.config.agents.follow:
        if name in AGENTS:
            _check(scope, AGENTS[name])
        yield


def _check(scope: Scope, agent: Agent) -> None:
    found = sources_of(agent, os.environ).census()
    for path, reason in found.problems.items():
        scope.add("agentFileSkipped", reason, path)
    records = _records(scope.locations.imports, agent)
    for path, record in records.items():
        is_unchanged = found.sources.get(path) == record.state.status
        if record.skipped is not None and is_unchanged and record.skipped.message not in UNREMARKABLE:
            scope.add("agentFileSkipped", record.skipped.message, path)
    newest = agent_list.newest_version(records.values())
    if agent.is_unchecked(newest):
        message = f"version {newest} of {agent.title} wrote sessions, and {agent.checked_version} was checked"
        scope.add("uncheckedAgentVersion", message, agent.folders(os.environ)[0])


def _records(path: str, agent: Agent) -> dict[str, SourceRecord]:
    """Return the records of an agent's files; none if the database is missing or damaged."""
    with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(opened_read_only(path)) as records:
        return records_below(records, agent.folders(os.environ))
    return {}
