"""Watches the folders of followed agents. Reports are hints; a census finds the rest."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sessiond.agents.agent import Environ
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.store.files.watch import FolderWatch


@dataclass(slots=True)
class Report:
    """Changes that a watch found.

    Attributes:
        written: The sources and databases that were written, by the name of the agent.
        begun: The agents whose watch has begun just now, so that all their files must be checked once.
        new_folders: The agents with a folder that is new, or was moved or removed. Files may have been written to a
            new one before it was watched, and those of one that was moved are not reported.
    """

    written: dict[str, dict[str, None]] = field(default_factory=dict)
    begun: frozenset[str] = frozenset()
    new_folders: set[str] = field(default_factory=set)


class AgentWatches:
    """The watch of the folders of all followed agents.

    Args:
        environ: The environment variables, which may move the folders of agents.
        receive: Receives reports, on the event loop.
    """

    def __init__(self, environ: Environ, receive: Callable[[Report], None]) -> None:
        self._environ = environ
        self._receive = receive
        self._watches: dict[bool, FolderWatch] = {}  # by whether folders below are watched, too
        self._watched: dict[
            bool, tuple[list[str], list[str]]
        ] = {}  # the folders and the agents of each watch

    def watch(self, agents: Mapping[str, FollowedAgent]) -> bool:
        """Watch the folders of these agents, and no others. Returns whether a watch of other folders begins.

        A recursive watch would follow links to folders elsewhere. If an agent has such links, each of its folders is
        watched by itself. So are the folders of databases.
        """
        has_begun = False
        for is_recursive in (True, False):
            those = {name: agent for name, agent in agents.items() if _is_recursive(agent) is is_recursive}
            folders = sorted({path for agent in those.values() for path in self._folders_of(agent)})
            target = folders, list(those)
            if target == self._watched.get(is_recursive, ([], [])):
                continue
            self._stop(is_recursive)
            self._watched[is_recursive] = target
            if folders:
                self._watches[is_recursive] = self._begin(folders, those, is_recursive=is_recursive)
                has_begun = True
        return has_begun

    @property
    def is_watching(self) -> bool:
        """Whether every change is reported at present."""
        now = time.monotonic()
        return bool(self._watches) and all(watch.has_watched_since(now) for watch in self._watches.values())

    def close(self) -> None:
        """Stop watching."""
        for watch in tuple(self._watches):
            self._stop(watch)

    def _folders_of(self, followed: FollowedAgent) -> list[str]:
        if followed.has_linked_folders:
            return followed.folders
        folders = followed.agent.folders(self._environ)
        return folders if followed.sources.is_recursive else [*folders, *followed.folders]

    def _begin(
        self, folders: Sequence[str], agents: Mapping[str, FollowedAgent], *, is_recursive: bool
    ) -> FolderWatch:
        loop, names = asyncio.get_running_loop(), frozenset(agents)
        followed = list(agents.items())

        def send(report: Report) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop closed before the watch did
                loop.call_soon_threadsafe(self._receive, report)

        return FolderWatch(
            folders, lambda paths: send(self._sorted(paths, followed)),
            is_reported=lambda _path: True, is_recursive=is_recursive, began=lambda: send(Report(begun=names)),
        )  # fmt: skip

    def _stop(self, is_recursive: bool) -> None:
        self._watched.pop(is_recursive, None)
        if (watch := self._watches.pop(is_recursive, None)) is not None:
            watch.close()

    def _sorted(self, paths: Iterable[str], agents: Iterable[tuple[str, FollowedAgent]]) -> Report:
        """Return a report of changed paths. It is made on the thread of the watch: there may be thousands."""
        report = Report()
        for name, followed in agents:
            folders = tuple(f"{folder}/" for folder in followed.agent.folders(self._environ))
            known = frozenset(followed.folders)
            for path in paths:
                if (changed := followed.sources.written(path)) is not None:
                    report.written.setdefault(name, {})[changed] = None
                elif (
                    followed.sources.is_recursive
                    and path.startswith(folders)
                    and (path in known or os.path.isdir(path))  # noqa: PTH112 - a text
                ):
                    report.new_folders.add(name)
        return report


def _is_recursive(followed: FollowedAgent) -> bool:
    return followed.sources.is_recursive and not followed.has_linked_folders
