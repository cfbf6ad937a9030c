"""Counts the files of followed agents that the daemon has not read, so that no search claims to be complete.

A watch reports a file some time after it was written, and a folder that is new only when it is watched. So the folders
are looked at: each costs one `stat`, and one that changed since the last census is listed.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from sessiond.agents.agent import Environ
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.protocol import types as t

_CLOCK_NS: Final = 2_000_000_000
"""The maximum delay of the clock of a file system, in nanoseconds."""


def unread_in(agents: Iterable[FollowedAgent]) -> t.UnsearchedTexts:
    """Return the number of sources of these agents that are known and not read, with their known size.

    The sources of an agent that was not looked at yet count as one.
    """
    count = size = 0
    for agent in agents:
        if agent.failure is None and (not agent.has_census or agent.is_census_due):
            count += 1
        reported = agent.written.keys() | ({agent.taken} if agent.taken is not None else set())
        waiting = [*agent.reading.values(), *(status for _, status in agent.waiting)]
        count += len(reported) + len(waiting)
        size += sum(status.size for status in waiting)
        size += sum(agent.seen[path].size for path in reported if path in agent.seen)
    return t.UnsearchedTexts(session_count=count, size_bytes=size)


def unreported(followed: FollowedAgent, environ: Environ) -> tuple[list[str], bool]:
    """Find what is new in the folders of an agent. Blocks.

    Args:
        followed: The agent. Its first census was taken.
        environ: The environment variables, which may move its folders.

    Returns:
        Files that were neither read nor reported, and whether a folder is new, so that a census is due.
    """
    known = set(followed.folders)
    files: list[str] = []
    for root in followed.agent.folders(environ):
        if os.path.isdir(root) and root not in known:  # noqa: PTH112 - a text
            return files, True
    for folder in known:
        with suppress(OSError, ValueError):
            if os.stat(folder).st_mtime_ns < followed.looked_at_ns - _CLOCK_NS:  # noqa: PTH116 - a text
                continue
            for path, is_folder in _entries(folder):
                if is_folder and path not in known and followed.sources.is_recursive:
                    return files, True
                if not is_folder and _is_new(followed, path):
                    files.append(path)
    return files, False


def _is_new(followed: FollowedAgent, path: str) -> bool:
    written = followed.sources.written(path)
    if written is None or written in followed.containers:
        return False
    return not (written in followed.seen or written in followed.problems or written in followed.reading)


def _entries(folder: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each entry of a folder, and whether it is a folder."""
    with os.scandir(folder) as entries:
        for item in entries:
            yield item.path, item.is_dir(follow_symlinks=False)
