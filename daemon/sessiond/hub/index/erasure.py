"""Makes the file of the index free of texts that were removed from it, after a session was forgotten.

A removed text leaves traces: words in segments of FTS5 that are not merged yet, fragments in a dictionary, and bytes in
free pages and in the WAL. An erasure merges the segments, packs the texts with a dictionary that is trained on those
that are left, and writes the file anew. It runs in small steps in the background. Only the last one, which writes the
file, takes as long as the file is large: some 4 seconds for 1 GB.
"""

import logging
import sqlite3
import time
from typing import Final

from sessiond.hub.index import text_tables
from sessiond.hub.index.database import Database
from sessiond.session.tree.steps import Steps

log = logging.getLogger(__name__)

_MERGED_PAGES: Final = 64
"""The pages of FTS5 that a step writes, at about 4 KB."""
_RETRY_SECONDS: Final = 600.0


class Erasure:
    """The erasure of a database. A request for it is recorded in the database, so it is done after a kill, too."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._steps: Steps[None] | None = None
        self._not_before = 0.0

    def request(self) -> None:
        """Record that texts are removed now or soon. Call it again after the removal."""
        self._steps = None
        self._not_before = 0.0
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO erasures DEFAULT VALUES")

    def step(self) -> bool:
        """Do a small part of a requested erasure. Returns False if there is nothing to do.

        The texts must have been removed, so that of all files in the index only existing ones are left.
        """
        if self._steps is None:
            if time.monotonic() < self._not_before or not self._is_requested():
                return False
            self._steps = self._erase()
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        return True

    def discard(self) -> None:
        """Stop, because the database is made anew."""
        self._steps = None

    def _is_requested(self) -> bool:
        return self._database.connection.execute("SELECT 1 FROM erasures LIMIT 1").fetchone() is not None

    def _erase(self) -> Steps[None]:
        connection = self._database.connection
        yield from self._database.texts.pack_again()
        for table in text_tables.NAMES:
            sql = f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)"
            # A negative number makes FTS5 merge all segments into one, which the following steps continue.
            connection.execute(sql, (-_MERGED_PAGES,))
            while True:
                before = connection.total_changes
                connection.execute(sql, (_MERGED_PAGES,))
                if connection.total_changes - before < 2:  # nothing was left to merge
                    break
                yield
        try:
            self._database.write_anew()
        except sqlite3.OperationalError as error:  # a full disk: a new file needs as much space again
            self._not_before = time.monotonic() + _RETRY_SECONDS
            log.warning("removed texts cannot be erased from the index yet: %s", error)
        else:
            connection.execute("DELETE FROM erasures")
