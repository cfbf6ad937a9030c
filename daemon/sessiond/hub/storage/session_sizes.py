"""The sizes of all sessions by agent, project and month, from the index."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents import names
from sessiond.hub import session_info
from sessiond.hub.index import blob_uses
from sessiond.protocol import types as t
from sessiond.session.tree.origin import HERE
from sessiond.store.files.paths import PACKED_SUFFIX

_KINDS: Final = {
    "packed": "packed sessions", "inPlace": "sessions in place", "originals": "agents' originals",
}  # fmt: skip
"""The kinds of data whose names are not the words for them."""
_SUMS: Final = f"""
SELECT agent, coalesce(project, files.cwd) AS folder, substr(updated, 1, 7) AS month, updated >= :recent AS is_recent,
    draft, substr(ref, 1, length(:own)) = :own AS is_own, substr(ref, -length(:packed)) = :packed AS is_packed,
    count(*), sum(files.size), coalesce(sum(blobs.bytes), 0)
FROM files LEFT JOIN projects ON projects.cwd = files.cwd LEFT JOIN ({blob_uses.BYTES_BY_FILE}) AS blobs ON file = id
WHERE draft IS NOT NULL GROUP BY agent, folder, month, is_recent, draft, is_own, is_packed
"""
_LARGEST: Final = f"""
SELECT info, files.size, coalesce(bytes, 0) FROM files LEFT JOIN ({blob_uses.BYTES_BY_FILE}) ON file = id
WHERE draft IS NOT NULL ORDER BY files.size + coalesce(bytes, 0) DESC, id LIMIT ?
"""


@dataclass(slots=True)
class Shares:
    """The number and the size of things by key, and how the keys are called."""

    title_of: Callable[[str], str] = str
    counts: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)

    def add(self, key: str, count: int, size: int) -> None:
        """Add things to those of a key."""
        self.counts[key] += count
        self.sizes[key] += size

    def rows(self, keys: Iterable[str]) -> list[t.StorageShare]:
        """Return the shares of these keys in this order."""
        return [
            t.StorageShare(
                key=key, title=self.title_of(key), count=self.counts[key], size_bytes=self.sizes[key]
            )
            for key in keys
        ]

    def largest(self, limit: int | None = None) -> list[t.StorageShare]:
        """Return the shares, the largest first."""
        order = sorted(self.sizes, key=lambda key: (-self.sizes[key], key))
        return self.rows(order[:limit])

    def newest(self) -> list[t.StorageShare]:
        """Return the shares of months, the newest first."""
        return self.rows(sorted(self.sizes, reverse=True))


def shares_of_kinds() -> Shares:
    """Return empty shares of kinds of data."""
    return Shares(lambda kind: _KINDS.get(kind, kind))


@dataclass(frozen=True, slots=True)
class SessionSizes:
    """The sizes of sessions.

    Attributes:
        kinds: The logs without blobs, by kind: `sessions`, `packed`, `drafts`, `inPlace`.
        agents: The sessions by agent.
        projects: The sessions by the folder of their project.
        months: The sessions by the month of their last change.
        largest: The largest sessions.
        recent_bytes: The size of the recently changed sessions.
    """

    kinds: Shares
    agents: Shares
    projects: Shares
    months: Shares
    largest: list[t.LargeSession]
    recent_bytes: int


def read(connection: sqlite3.Connection, *, own: bytes, recent: str, limit: int) -> SessionSizes:
    """Return the sizes of all sessions of an index.

    Args:
        connection: The database of the index.
        own: The beginning of the refs of logs in the folders of the store; empty if all are.
        recent: The time since when a change is recent, as ISO 8601.
        limit: The most sessions to list.
    """
    kinds, agents, projects, months = shares_of_kinds(), Shares(names.title_of), Shares(), Shares()
    recent_bytes = 0
    sums = connection.execute(_SUMS, {"recent": recent, "own": own, "packed": PACKED_SUFFIX.encode()})
    for agent, folder, month, is_recent, draft, is_own, is_packed, count, log_bytes, blob_bytes in sums:
        size = log_bytes + blob_bytes
        own_kind = "drafts" if draft else "packed" if is_packed else "sessions"
        kinds.add(own_kind if is_own else "inPlace", count, log_bytes)
        agents.add(agent or HERE, count, size)
        projects.add(folder, count, size)
        months.add(month, count, size)
        recent_bytes += size if is_recent else 0
    largest = [_described(*row) for row in connection.execute(_LARGEST, [limit])]
    return SessionSizes(kinds, agents, projects, months, largest, recent_bytes)


def _described(info: bytes, log_bytes: int, blob_bytes: int) -> t.LargeSession:
    session = session_info.from_json(info)
    return t.LargeSession(
        session_id=session.session_id, title=session.title or session.first_prompt, cwd=session.cwd,
        agent=HERE if session.origin is None else session.origin.agent, updated_at=session.updated_at,
        log_bytes=log_bytes, blob_bytes=blob_bytes,
    )  # fmt: skip
