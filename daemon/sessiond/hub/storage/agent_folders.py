"""The sizes of the agents' own folders, and what the agents will delete there. No file is opened or changed."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.hub.following.storage import sources_of
from sessiond.hub.storage import agent_deletions
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol import types as t
from sessiond.session.tree.lines import valid_text

MAX_MISSING: Final = 10
"""Limit of the files that a result names because their sessions are not here."""

log = logging.getLogger(__name__)


class AgentFolders:
    """Measures the folders of agents.

    Args:
        agents: The agents.
        environ: The environment variables that may move their folders.
        followed: The names of the agents that are followed.
        records: Returns the records of the imports of all files below some folders.
        now_ns: The present time, in nanoseconds since 1970.
        recent_ns: The time since when a change is recent.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        environ: Environ,
        followed: Sequence[str],
        records: Callable[[Sequence[str]], Mapping[str, SourceRecord]],
        *,
        now_ns: int,
        recent_ns: int,
    ) -> None:
        self._agents = agents
        self._environ = environ
        self._followed = followed
        self._records = records
        self._now_ns = now_ns
        self._recent_ns = recent_ns
        self.found: list[t.AgentStorage] = []
        """The agents that have any file, as far as they were measured."""
        self.progress = "", 0
        """The title of the agent that is measured, and the percentage of the agents before it."""

    def measure(self) -> Iterator[None]:
        """Measure the folders of all agents in steps. Blocks."""
        for number, agent in enumerate(self._agents):
            self.progress = agent.title, 100 * number // len(self._agents)
            yield
            try:
                yield from self._measure(agent)
            except Exception:  # an agent must not hide the others
                log.exception("the folders of %s cannot be measured", agent.title)

    def _measure(self, agent: Agent) -> Iterator[None]:
        folders = agent.folders(self._environ)
        sources = sources_of(agent, self._environ)
        files = sources.census().sources
        yield
        session_bytes = sources.size_of(files)
        total = recent = 0
        for status in _statuses(folders):
            if status is None:
                yield
                continue
            total += status.st_size
            recent += status.st_size if status.st_mtime_ns >= self._recent_ns else 0
        if not total and not files:
            return
        self.found.append(
            t.AgentStorage(
                agent=agent.name, title=agent.title, is_followed=agent.name in self._followed,
                folders=[valid_text(folder) for folder in folders if os.path.isdir(folder)],  # noqa: PTH112 - texts
                file_count=len(files), session_bytes=session_bytes, other_bytes=max(total - session_bytes, 0),
                recent_bytes=recent, deletion=self._deletion(agent, files),
            )
        )  # fmt: skip

    def _deletion(self, agent: Agent, files: Mapping[str, FileStatus]) -> t.AgentDeletion | None:
        rule = agent.deletion(self._environ)
        if rule is None:
            return None
        due = agent_deletions.due(rule, files, self._now_ns)
        missing = agent_deletions.not_here(due, self._records(agent.folders(self._environ))) if due else []
        return t.AgentDeletion(
            max_age_days=rule.max_age_days, max_count=rule.max_count,
            settings_path=None if rule.settings is None else valid_text(rule.settings), remark=rule.remark,
            due_count=len(due), due_bytes=sum(status.size for status in due.values()),
            missing_count=len(missing), missing=[valid_text(path) for path in missing[:MAX_MISSING]],
            message=agent_deletions.sentences(agent.title, rule, due, len(missing)),
        )  # fmt: skip


def _statuses(folders: Sequence[str]) -> Iterator[os.stat_result | None]:
    """Yield the status of each file below the folders, and None after each folder. Links are not followed."""
    waiting = list(dict.fromkeys(folders))
    visited: set[tuple[int, int]] = set()
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False) and (
                        status.st_nlink == 1 or (status.st_dev, status.st_ino) not in visited
                    ):
                        visited |= {(status.st_dev, status.st_ino)} if status.st_nlink > 1 else set()
                        yield status
        except OSError:
            pass  # it is gone or cannot be read, so it has no size that can be told
        yield None
