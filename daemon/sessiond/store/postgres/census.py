"""Finds new, changed and removed sessions by the transactions that changed their rows.

Rows do not become visible in the order of their times: a transaction may commit late. So the question is by snapshot:
which rows did a transaction change that the last look may not have seen as done. That finds each change exactly once,
or a few times.
"""

from collections.abc import Iterable

import asyncpg

from sessiond.store.postgres.link import Link
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import DatabaseRequests
from sessiond.store.records import Changes, Stored

ALL = "0"
"""The snapshot before every transaction."""


class PostgresCensus:
    """A census of the sessions of one owner. `poll` is called by one thread at a time, and waits for the server."""

    def __init__(self, requests: DatabaseRequests, link: Link) -> None:
        self._requests = requests
        self._link = link
        self._known: dict[str, Stored] = {}
        self._snapshot = ALL
        self._system = ""

    def poll(self, hints: Iterable[str] = ()) -> Changes:
        """Return the changes since the last call. Hints are not needed. Raises `StorageFailed`."""
        if self._link.system != self._system:
            self._snapshot, self._system = ALL, self._link.system
        is_whole = self._snapshot == ALL
        rows = self._rows(self._snapshot)
        found, gone = self._apply(rows)
        if is_whole or rows[0]["total"] != len(self._known):
            if not is_whole:  # a session was trashed and purged since
                rows = self._rows(ALL)
                more, more_gone = self._apply(rows)
                found, gone = found + more, gone + more_gone
            here = {row["id"] for row in rows if row["key"] is not None and not row["trashed"]}
            gone += [ref for ref in self._known if ref not in here]
            for ref in gone:
                self._known.pop(ref, None)
        self._snapshot = rows[0]["snapshot"]
        return Changes(found, gone)

    def _rows(self, snapshot: str) -> list[asyncpg.Record]:
        owner = self._link.owner
        return self._requests.wait_for(lambda connection: connection.fetch(query("list"), owner, snapshot))

    def _apply(self, rows: list[asyncpg.Record]) -> tuple[list[Stored], list[str]]:
        """Remember what the rows say. A session may be in the trash and exist again with another key."""
        found: list[Stored] = []
        gone: list[str] = []
        listed = [row for row in rows if row["key"] is not None]
        living = {row["id"] for row in listed if not row["trashed"]}
        for row in listed:
            if not row["trashed"]:
                stored = stored_of(row)
                if self._known.get(stored.ref) != stored:
                    self._known[stored.ref] = stored
                    found.append(stored)
            elif row["id"] not in living:
                known = self._known.get(row["id"])
                if known is not None and known.identity == (row["key"],):
                    del self._known[row["id"]]
                    gone.append(row["id"])
        return found, gone


def stored_of(row: asyncpg.Record) -> Stored:
    """Return the record of a row."""
    return Stored(
        ref=row["id"],
        session_id=row["id"],
        draft=row["draft"],
        size=row["size"],
        modified_ns=row["modified"] * 1_000,
        stamp=(row["epoch"], row["change"]),
        identity=(row["key"],),
    )
