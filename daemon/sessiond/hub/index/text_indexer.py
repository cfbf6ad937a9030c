"""Indexes the texts of logs, and the usage of models, in small steps that continue where the last run stopped.

The texts of a closed log are read from its file. The hub passes in the committed entries of open sessions.
"""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.index import text_tables, usage_table
from sessiond.hub.index.columns import FileRow, as_ref
from sessiond.hub.index.committed_entries import TAIL_BYTES, CommittedEntries, title_beside_entries
from sessiond.hub.index.database import Database
from sessiond.hub.index.facts import bytes_of, hash_of
from sessiond.hub.index.files import FileTable
from sessiond.protocol import types as t
from sessiond.session.content import search_words
from sessiond.session.content.search_text import MAX_MESSAGE_CHARS, SearchText, milliseconds, text_of_entry
from sessiond.session.state.recorded_usage import RecordedUsage, usage_of_entry
from sessiond.session.tree.tree import BAD, HEADER, Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, StorageFailed

_BATCH_ROWS: Final = 256
_BATCH_BYTES: Final = 256 * 1024
_STEP_SECONDS: Final = 0.003
"""The time after which a step ends. The event loop requests each step, which costs as much as a small log."""
_ROWS_PER_PAUSE: Final = 8
_PAUSE_SECONDS: Final = 50e-6
"""The pause after every few rows, so that the event loop's thread can run. It would otherwise wait a millisecond."""
HEADER_TYPE: Final = "session"
"""The `type` of a header's text: the title that the session was created with."""


class TextIndexer:
    """Indexes the texts of files that are not fully indexed, the most recently updated first."""

    def __init__(self, store: Store, database: Database, files: FileTable) -> None:
        self._store = store
        self._database = database
        self._files = files
        self._work: Iterator[None] | None = None
        self._ref: str | None = None

    def step(self) -> bool:
        """Do a small part of the work. Returns False if nothing is left. Sessions in `open_facts` are skipped."""
        until = time.monotonic() + _STEP_SECONDS
        while self._next():
            if time.monotonic() >= until:
                return True
        return False

    def _next(self) -> bool:
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
        """Stop indexing the current file. The next step starts it again."""
        self._work = self._ref = None

    def unsearched(self, open_ends: Mapping[str, int]) -> t.UnsearchedTexts:
        """Return the number of sessions whose texts are not fully indexed, and the number of their remaining bytes.

        Args:
            open_ends: The offset after the last committed line of each open session that differs from its file, by
                ref.
        """
        rows = self._database.connection.execute(
            "SELECT ref, indexed_bytes FROM files WHERE is_indexed = 0 AND draft IS NOT NULL"
        )
        remaining = [
            self._files.size_of(ref) - indexed_bytes
            for key, indexed_bytes in rows
            if (ref := as_ref(key)) not in open_ends
        ]
        for ref, end in open_ends.items():
            row = self._files.row_of(ref)
            remaining.append(end - (0 if row is None else row.indexed_bytes))
        remaining = [size for size in remaining if size > 0]
        return t.UnsearchedTexts(session_count=len(remaining), size_bytes=sum(remaining))

    def indexed_rows(self, ref: str) -> int | None:
        """Return the number of indexed rows of a log; None if the index does not know the log."""
        file_row = self._files.row_of(ref)
        return None if file_row is None else file_row.indexed_rows

    def add_committed(self, ref: str, added: CommittedEntries) -> int:
        """Index entries of an open session. Returns the number of its indexed rows."""
        file_row = self._files.row_of(ref)
        if file_row is None:
            return 0
        if file_row.indexed_rows != added.first:
            if added.rows < file_row.indexed_rows:  # the log was replaced
                self._files.forget_texts(ref)
                return 0
            return file_row.indexed_rows
        title = None if added.first else _title(added.title, added.created_at)
        found = _Found(milliseconds(added.created_at))
        if title is not None:
            found.texts.append((0, title))
        for seq, entry in added.entries:
            self._read(ref, seq, entry, found)
        updated = file_row._replace(
            indexed_bytes=added.indexed_bytes, indexed_rows=added.rows, tail=hash_of(added.tail)
        )
        self._save(ref, updated, found)
        return added.rows

    def mark_indexed(self, refs: Collection[str]) -> None:
        """Mark these open sessions as fully indexed."""
        numbers = [(file_row.id,) for ref in refs if (file_row := self._files.row_of(ref)) is not None]
        with self._database.transaction() as connection:
            connection.executemany("UPDATE files SET is_indexed = 1 WHERE id = ? AND is_indexed = 0", numbers)

    def _begin(self) -> bool:
        open_refs = self._files.open_facts
        unindexed = self._database.connection.execute(
            "SELECT ref FROM files WHERE is_indexed = 0 AND draft IS NOT NULL ORDER BY updated DESC LIMIT ?",
            (len(open_refs) + 1,),
        )
        self._ref = next((ref for (key,) in unindexed if (ref := as_ref(key)) not in open_refs), None)
        if self._ref is None:
            return False
        self._work = self._fill(self._ref)
        return True

    def _fill(self, ref: str) -> Iterator[None]:
        file_row = self._files.row_of(ref)
        if file_row is None:
            return
        try:
            tree = self._files.tree(ref)
            if tree is None:
                tree = Tree()
                for data in self._store.scan(ref):
                    tree.read(data)
                    yield
                tree.finish()
            while (
                file_row := self._files.row_of(ref)
            ) is not None and file_row.indexed_rows < tree.committed:
                self._index_batch(ref, file_row, tree)
                yield
        except (LogNotFound, StorageFailed):
            pass  # the next check of the files determines the reason
        if file_row is not None:
            self._database.connection.execute("UPDATE files SET is_indexed = 1 WHERE id = ?", (file_row.id,))

    def _index_batch(self, ref: str, file_row: FileRow, tree: Tree) -> None:
        first = row = file_row.indexed_rows
        begin = tree.span(row)[0]
        while row < tree.committed and row - first < _BATCH_ROWS and tree.span(row)[0] - begin < _BATCH_BYTES:
            row += 1
        end = tree.span(row - 1)[1]
        data = bytes_of(self._store, ref, begin, end)
        found = _Found(None if tree.header is None else milliseconds(tree.header.timestamp))
        for line_row in range(first, row):
            start, after = tree.span(line_row)
            if tree.kind(line_row) == BAD:
                continue
            if tree.kind(line_row) != HEADER:
                self._read(ref, line_row, tree.entry(line_row, data[start - begin : after - begin]), found)
            elif (title := _title_of(tree)) is not None:
                found.texts.append((line_row, title))
            if line_row % _ROWS_PER_PAUSE == 0:
                time.sleep(_PAUSE_SECONDS)
        tail = bytes_of(self._store, ref, max(0, end - TAIL_BYTES), end)
        updated = file_row._replace(indexed_bytes=end, indexed_rows=row, tail=hash_of(tail))
        self._save(ref, updated, found)

    def _read(self, ref: str, seq: int, entry: bytes, found: "_Found") -> None:
        """Add what an entry has for the index. If that fails, record the failure."""
        try:
            usage = usage_of_entry(entry)
            if usage is not None:
                found.usages.append(usage)
            text = text_of_entry(entry)
            if text is not None:
                for value in (text.text, text.entry_id, text.type, text.role or "", text.target_id or ""):
                    value.encode()
                found.texts.append((seq, text))
        except Exception as error:  # noqa: BLE001 - one entry must not affect the search of others
            self._files.record_failure(ref, error)

    def _save(self, ref: str, updated: FileRow, found: "_Found") -> None:
        connection, texts = self._database.connection, found.texts
        first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM entries").fetchone()[0]
        rows = [
            (number, updated.id, seq, text.entry_id, text.type, text.role, text.at, text.target_id)
            for number, (seq, text) in enumerate(texts, first)
        ]
        numbered = [(number, text) for number, (_, text) in enumerate(texts, first)]
        with self._database.transaction():
            connection.executemany("INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)", rows)
            # Before the texts: a statement that adds several rows makes FTS5 write what it has gathered.
            usage_table.add(connection, updated.id, found.usages, found.created_at)
            text_tables.add(connection, numbered)
            self._files.save_progress(ref, updated)


@dataclass(slots=True)
class _Found:
    """The texts of some entries of a log for the index. `created_at` is the time of the log's header."""

    created_at: int | None
    texts: list[tuple[int, SearchText]] = field(default_factory=list)
    usages: list[RecordedUsage] = field(default_factory=list)


def _title_of(tree: Tree) -> SearchText | None:
    header = tree.header
    return None if header is None else _title(title_beside_entries(tree), header.timestamp)


def _title(title: str | None, created_at: str) -> SearchText | None:
    """Return the title that a session was created with, as a text."""
    if not title:
        return None
    return SearchText(
        "", HEADER_TYPE, None, milliseconds(created_at), search_words.searchable(title, MAX_MESSAGE_CHARS)
    )
