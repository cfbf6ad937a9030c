"""Watches the folders of followed agents. Reports are hints; a census finds the rest."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sessiond.agents.agent import Environ
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.store.files.watch import FolderWatch


@dataclass(slots=True)
class Report:
    """What a watch found.

    Attributes:
        written: The session files that were written, by the name of the agent.
        has_begun: Whether the watch has begun just now, so that all files must be checked once.
        new_folders: The agents with a new folder. Files may have been written to it before it was watched.
    """

    written: dict[str, list[str]] = field(default_factory=dict)
    has_begun: bool = False
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
        self._watch: FolderWatch | None = None
        self._watched: tuple[list[str], bool] = ([], True)

    def watch(self, agents: Mapping[str, FollowedAgent]) -> bool:
        """Watch the folders of these agents, and no others. Returns whether a watch of other folders begins.

        A recursive watch would follow links to folders elsewhere. If an agent has such links, each folder is watched
        by itself.
        """
        if any(it.has_linked_folders for it in agents.values()):
            target = sorted({path for it in agents.values() for path in it.folders}), False
        else:
            target = [it for a in agents.values() for it in a.agent.folders(self._environ)], True
        if target == self._watched:
            return False
        self.close()
        self._watched = target
        if not target[0]:
            return False
        loop, followed = asyncio.get_running_loop(), list(agents.items())

        def send(report: Report) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop closed before the watch did
                loop.call_soon_threadsafe(self._receive, report)

        folders, is_recursive = target
        self._watch = FolderWatch(
            folders, lambda paths: send(self._sorted(paths, followed)), is_reported=lambda _path: True,
            is_recursive=is_recursive, began=lambda: send(Report(has_begun=True)),
        )  # fmt: skip
        return True

    @property
    def is_watching(self) -> bool:
        """Whether every change is reported at present."""
        return self._watch is not None and self._watch.has_watched_since(time.monotonic())

    def close(self) -> None:
        """Stop watching."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _sorted(self, paths: Iterable[str], agents: Iterable[tuple[str, FollowedAgent]]) -> Report:
        """Return a report of changed paths. It is made on the thread of the watch: there may be thousands."""
        report = Report()
        for name, followed in agents:
            folders = [f"{it}/" for it in followed.agent.folders(self._environ)]
            for path in paths:
                folder = next((it for it in folders if path.startswith(it)), None)
                if folder is None:
                    continue
                if followed.agent.is_session_file(path[len(folder) :]):
                    report.written.setdefault(name, []).append(path)
                elif os.path.isdir(path):  # noqa: PTH112 - a text
                    report.new_folders.add(name)
        return report
