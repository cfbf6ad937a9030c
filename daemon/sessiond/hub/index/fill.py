"""The texts of logs, put into the index from where it left off, a little at a time.

A log that is not open is read from its file; of one that is open the hub hands in the committed entries.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from sessiond.hub.index.database import Database
from sessiond.hub.index.facts import bytes_of, hash_of
from sessiond.hub.index.files import FileRow, FileTable, as_ref
from sessiond.hub.index.handed import TAIL, Fed, title_beside_entries
from sessiond.session.content import search_words
from sessiond.session.content.search_text import SAID, SearchText, milliseconds, text_of_entry
from sessiond.session.tree.tree import BAD, HEADER, Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, StorageFailed

_BATCH_ROWS: Final = 256
_BATCH_BYTES: Final = 256 * 1024
_ROWS_A_TURN: Final = 8
_TURN: Final = 50e-6
"""Every few rows the loop's thread gets a chance to take its turn: it would have to wait for a millisecond else."""
HEADER_TYPE: Final = "session"
"""The `type` of the text of a header: the title that the session was made with."""


class Filler:
    """Works through the files whose texts are not in the index yet, those that were written first at first."""

    def __init__(self, store: Store, database: Database, files: FileTable) -> None:
        self._store = store
        self._database = database
        self._files = files
        self._work: Iterator[None] | None = None
        self._ref: str | None = None

    def step(self) -> bool:
        """Do a little; False when nothing is left to do. Sessions that speak for themselves are left to `feed`."""
        if self._ref in self._files.open_facts:
            self.stop()
        if self._work is None and not self._begin():
            return False
        try:
            next(self._work or iter(()))
        except StopIteration:
            self.stop()
        return True

    def stop(self) -> None:
        """Leave the file that is in work as it is: the next step looks at it again."""
        self._work = self._ref = None

    def waiting(self) -> int:
        """How many files have texts that are not in the index yet."""
        row = self._database.connection.execute(
            "SELECT count(*) FROM files WHERE searched = 0 AND draft IS NOT NULL"
        ).fetchone()
        return int(row[0])

    def rows(self, ref: str) -> int | None:
        """How many rows of a log are in the index; None when it does not know the log."""
        known = self._files.known(ref)
        return None if known is None else known.rows

    def feed(self, ref: str, fed: Fed) -> int:
        """Take in entries of an open log; answers how many rows are in the index now."""
        known = self._files.known(ref)
        if known is None:
            return 0
        if known.rows != fed.first:
            if fed.rows < known.rows:  # it was replaced
                self._files.forget_texts(ref)
                return 0
            return known.rows
        title = None if fed.first else _title(fed.title, fed.created_at)
        texts = [(0, title)] if title is not None else []
        texts += [(seq, text) for seq, entry in fed.entries if (text := self._text(ref, entry)) is not None]
        now = known._replace(consumed=fed.consumed, rows=fed.rows, tail=hash_of(fed.tail))
        self._save(ref, now, texts)
        return fed.rows

    def fed(self, refs: Collection[str]) -> None:
        """All that is committed of these open logs has been handed in."""
        numbers = [(known.id,) for ref in refs if (known := self._files.known(ref)) is not None]
        with self._database.transaction() as connection:
            connection.executemany("UPDATE files SET searched = 1 WHERE id = ? AND searched = 0", numbers)

    def _begin(self) -> bool:
        open_refs = self._files.open_facts
        waiting = self._database.connection.execute(
            "SELECT ref FROM files WHERE searched = 0 AND draft IS NOT NULL ORDER BY updated LIMIT ?",
            (len(open_refs) + 1,),
        )
        self._ref = next((ref for (key,) in waiting if (ref := as_ref(key)) not in open_refs), None)
        if self._ref is None:
            return False
        self._work = self._fill(self._ref)
        return True

    def _fill(self, ref: str) -> Iterator[None]:
        known = self._files.known(ref)
        if known is None:
            return
        try:
            tree = self._files.tree(ref)
            if tree is None:
                tree = Tree()
                for data in self._store.scan(ref):
                    tree.read(data)
                    yield
                tree.finish()
            while (known := self._files.known(ref)) is not None and known.rows < tree.committed:
                self._take_batch(ref, known, tree)
                yield
        except (LogNotFound, StorageFailed):
            pass  # the next look at the files says what has become of it
        if known is not None:
            self._database.connection.execute("UPDATE files SET searched = 1 WHERE id = ?", (known.id,))

    def _take_batch(self, ref: str, known: FileRow, tree: Tree) -> None:
        first = row = known.rows
        begin = tree.span(row)[0]
        while row < tree.committed and row - first < _BATCH_ROWS and tree.span(row)[0] - begin < _BATCH_BYTES:
            row += 1
        end = tree.span(row - 1)[1]
        data = bytes_of(self._store, ref, begin, end)
        texts: list[tuple[int, SearchText]] = []
        for each in range(first, row):
            start, after = tree.span(each)
            if tree.kind(each) == BAD:
                continue
            raw = data[start - begin : after - begin]
            text = _title_of(tree) if tree.kind(each) == HEADER else self._text(ref, tree.entry(each, raw))
            if text is not None:
                texts.append((each, text))
            if each % _ROWS_A_TURN == 0:
                time.sleep(_TURN)
        tail = bytes_of(self._store, ref, max(0, end - TAIL), end)
        now = known._replace(consumed=end, rows=row, tail=hash_of(tail))
        self._save(ref, now, texts)

    def _text(self, ref: str, entry: bytes) -> SearchText | None:
        """The searchable text of an entry; of one that cannot be had, none, and the file is noted."""
        try:
            text = text_of_entry(entry)
            if text is not None:
                for it in (text.text, text.entry_id, text.type, text.role or "", text.target_id or ""):
                    it.encode()
        except Exception as error:  # noqa: BLE001 - one entry must not spoil the search of all others
            self._files.note_failure(ref, error)
            return None
        return text

    def _save(self, ref: str, now: FileRow, texts: Sequence[tuple[int, SearchText]]) -> None:
        connection = self._database.connection
        first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM entries").fetchone()[0]
        rows = [
            (number, now.id, seq, it.entry_id, it.type, it.role, it.at, it.target_id)
            for number, (seq, it) in enumerate(texts, first)
        ]
        said = [(number, it.text) for number, (_, it) in enumerate(texts, first)]
        with self._database.transaction():
            connection.executemany("INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO texts VALUES(?, ?)", said)
            connection.executemany("INSERT INTO words(rowid, text) VALUES(?, ?)", said)
            self._files.consumed(ref, now)


def _title_of(tree: Tree) -> SearchText | None:
    header = tree.header
    return None if header is None else _title(title_beside_entries(tree), header.timestamp)


def _title(title: str | None, created_at: str) -> SearchText | None:
    """The title that a session was made with, as a text."""
    if not title:
        return None
    return SearchText("", HEADER_TYPE, None, milliseconds(created_at), search_words.searchable(title, SAID))
