"""Indexes the texts of logs, the usage of models and the named blobs, in small steps that can be continued later.

The texts of a closed log are read from its file. The hub passes in the committed entries of open sessions.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.index import blob_uses, text_tables, usage_table
from sessiond.hub.index.columns import FileRow, as_ref
from sessiond.hub.index.committed_entries import TAIL_BYTES, CommittedEntries, title_beside_entries
from sessiond.hub.index.database import Database
from sessiond.hub.index.facts import bytes_of, hash_of
from sessiond.hub.index.files import FileTable
from sessiond.hub.index.text_tables import IndexedText
from sessiond.protocol import types as t
from sessiond.session.content import search_words
from sessiond.session.content.blobs import referenced_hashes
from sessiond.session.content.search_text import (
    MAX_MESSAGE_CHARS,
    SearchText,
    milliseconds,
    text_of_attachment,
    text_of_entry,
)
from sessiond.session.state.recorded_usage import RecordedUsage, usage_of_entry
from sessiond.session.tree.tree import BAD, HEADER, Tree
from sessiond.store.base import Store
from sessiond.store.blobs import BlobAbsent, BlobDamaged
from sessiond.store.errors import LogNotFound, StorageFailed

_PART_ROWS: Final = 256
_PART_BYTES: Final = 256 * 1024
_SAVED_TEXTS: Final = 512
"""The number of texts that are saved together, of one session or of several."""
_SAVED_CHARS: Final = 1 << 20
"""Limit of the characters of texts that wait until they are saved together."""
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
        self._unsaved: list[_Part] = []
        """The parts that are not saved yet. A transaction for each session would double the cost of small ones."""

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
            self._save_unsaved()
            return False
        try:
            next(self._work or iter(()))
        except StopIteration:
            self._work = self._ref = None
        return True

    def stop(self) -> None:
        """Save what was read, and stop indexing the current file. The next step starts it again."""
        self._save_unsaved()
        self._work = self._ref = None

    def discard(self) -> None:
        """Stop indexing, because the database is made anew."""
        self._unsaved = []
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
            found.add(0, title)
        for seq, entry in added.entries:
            self._read(ref, seq, entry, found, lambda entry_id: self._seq_of(file_row.id, entry_id, found))
        updated = file_row._replace(
            indexed_bytes=added.indexed_bytes, indexed_rows=added.rows, tail=hash_of(added.tail)
        )
        self._save([_Part(ref, file_row, updated, found)])
        return added.rows

    def mark_indexed(self, refs: Collection[str]) -> None:
        """Mark these open sessions as fully indexed."""
        numbers = [(file_row.id,) for ref in refs if (file_row := self._files.row_of(ref)) is not None]
        with self._database.transaction() as connection:
            connection.executemany("UPDATE files SET is_indexed = 1 WHERE id = ? AND is_indexed = 0", numbers)

    def _begin(self) -> bool:
        skipped = self._files.open_facts.keys() | {part.ref for part in self._unsaved}
        unindexed = self._database.connection.execute(
            "SELECT ref FROM files WHERE is_indexed = 0 AND draft IS NOT NULL ORDER BY updated DESC LIMIT ?",
            (len(skipped) + 1,),
        )
        self._ref = next((ref for (key,) in unindexed if (ref := as_ref(key)) not in skipped), None)
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
            while file_row.indexed_rows < tree.committed:
                part = self._part(ref, file_row, tree)
                file_row = part.updated
                yield from self._add_unsaved(part)
        except (LogNotFound, StorageFailed):
            pass  # the next check of the files determines the reason
        yield from self._add_unsaved(_Part(ref, file_row, file_row, _Found(None), is_last=True))

    def _add_unsaved(self, part: "_Part") -> Iterator[None]:
        self._unsaved.append(part)
        yield
        waiting = [unsaved.found for unsaved in self._unsaved]
        if (
            sum(len(found.texts) for found in waiting) >= _SAVED_TEXTS
            or sum(found.chars for found in waiting) >= _SAVED_CHARS
        ):
            self._save_unsaved()
            yield

    def _part(self, ref: str, file_row: FileRow, tree: Tree) -> "_Part":
        """Read the entries of a log that follow those of a row of the index: at most `_PART_ROWS` of them."""
        first = row = file_row.indexed_rows
        begin = tree.span(row)[0]
        while row < tree.committed and row - first < _PART_ROWS and tree.span(row)[0] - begin < _PART_BYTES:
            row += 1
        end = tree.span(row - 1)[1]
        data = bytes_of(self._store, ref, begin, end)
        found = _Found(None if tree.header is None else milliseconds(tree.header.timestamp))
        for line_row in range(first, row):
            start, after = tree.span(line_row)
            if tree.kind(line_row) == BAD:
                continue
            if tree.kind(line_row) != HEADER:
                entry = tree.entry(line_row, data[start - begin : after - begin])
                self._read(ref, line_row, entry, found, tree.any_row)
            elif (title := _title_of(tree)) is not None:
                found.add(line_row, title)
            if line_row % _ROWS_PER_PAUSE == 0:
                time.sleep(_PAUSE_SECONDS)
        tail = bytes_of(self._store, ref, max(0, end - TAIL_BYTES), end)
        updated = file_row._replace(indexed_bytes=end, indexed_rows=row, tail=hash_of(tail))
        return _Part(ref, file_row, updated, found)

    def _read(
        self, ref: str, seq: int, entry: bytes, found: "_Found", seq_of: Callable[[str], int | None]
    ) -> None:
        """Add what an entry has for the index. If that fails, record the failure.

        A file beside the transcript is indexed in the place of its result, which `seq_of` returns by the entry's id.
        """
        try:
            found.blobs.update(referenced_hashes(entry))
            usage = usage_of_entry(entry)
            if usage is not None:
                found.usages.append(usage)
            text = text_of_entry(entry)
            if text is None and (text := text_of_attachment(entry, self._read_blob)) is not None:
                place = seq_of(text.entry_id)
                seq = seq if place is None else place
            if text is not None:
                for value in (text.text, text.entry_id, text.type, text.role or "", text.target_id or ""):
                    value.encode()
                found.add(seq, text)
        except Exception as error:  # noqa: BLE001 - one entry must not affect the search of others
            self._files.record_failure(ref, error)

    def _read_blob(self, digest: str, offset: int, size: int) -> bytes:
        """Return bytes of a blob; none if the store has it not, or cannot read it."""
        try:
            return self._store.blobs.read(digest, offset, size)
        except (BlobAbsent, BlobDamaged, StorageFailed):
            return b""

    def _seq_of(self, file: int, entry_id: str, found: "_Found") -> int | None:
        """Return the row of an entry of a file that has a text."""
        there = next((seq for seq, text, _ in found.texts if text.entry_id == entry_id), None)
        if there is not None:
            return there
        row = self._database.connection.execute(
            "SELECT seq FROM entries WHERE file = ? AND entry_id = ? LIMIT 1", [file, entry_id]
        ).fetchone()
        return None if row is None else int(row[0])

    def _save_unsaved(self) -> None:
        parts, self._unsaved = self._unsaved, []
        if parts:
            self._save(parts)

    def _save(self, parts: "Sequence[_Part]") -> None:
        """Save parts together. A part is left out if its file has changed since: it is read again."""
        self._database.texts.train_if_due()
        with self._database.transaction() as connection:
            number: int = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM entries").fetchone()[0]
            numbered: defaultdict[int, list[tuple[int, IndexedText]]] = defaultdict(list)
            # Texts come last: a statement that adds several rows makes FTS5 write what it has gathered.
            for part in parts:
                if self._files.row_of(part.ref) != part.base:
                    continue
                file, texts = part.base.id, part.found.texts
                connection.executemany(
                    "INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (place, file, seq, text.entry_id, text.type, text.role, text.at, text.target_id)
                        for place, (seq, text, _) in enumerate(texts, number)
                    ],
                )
                numbered[file] += [(place, indexed) for place, (_, _, indexed) in enumerate(texts, number)]
                number += len(texts)
                usage_table.add(connection, file, part.found.usages, part.found.created_at)
                blob_uses.add(connection, file, part.found.blobs, self._store.blobs.size)
                self._files.save_progress(part.ref, part.updated)
                if part.is_last:
                    connection.execute("UPDATE files SET is_indexed = 1 WHERE id = ?", (file,))
            for file, added in numbered.items():
                if added:
                    self._database.texts.add(file, added[0][0], [indexed.text for _, indexed in added])
            text_tables.add(connection, [text for added in numbered.values() for text in added])


@dataclass(frozen=True, slots=True)
class _Part:
    """The entries of a log after those that its row `base` counts as indexed. `updated` is the row that counts them."""

    ref: str
    base: FileRow
    updated: FileRow
    found: "_Found"
    is_last: bool = False


@dataclass(slots=True)
class _Found:
    """The texts of some entries of a log for the index. `created_at` is the time of the log's header."""

    created_at: int | None
    texts: list[tuple[int, SearchText, IndexedText]] = field(default_factory=list)
    usages: list[RecordedUsage] = field(default_factory=list)
    blobs: set[str] = field(default_factory=set)
    chars: int = 0

    def add(self, seq: int, text: SearchText) -> None:
        """Add the text of the entry with this `seq`."""
        self.texts.append((seq, text, text_tables.indexed_text(text.text, text.role)))
        self.chars += len(text.text)


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
