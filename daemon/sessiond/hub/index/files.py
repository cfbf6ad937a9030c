"""The table of log files in the index: which exist, their facts, and which must be read again.

For a session that is open in this daemon and differs from its file (`tracker`), the row holds the facts in memory. Its
file is read again when the session no longer differs from it.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from sessiond.hub.index.columns import (
    COLUMNS,
    FACTS,
    LISTED,
    as_key,
    as_ref,
    columns_of,
    identity_of,
    list_row,
    listing_columns,
    stamp_of,
    storable,
)
from sessiond.hub.index.committed_entries import TAIL_BYTES
from sessiond.hub.index.database import Database, row_checksum
from sessiond.hub.index.facts import HEAD_BYTES, LogFacts, bytes_of, hash_of, read_facts
from sessiond.hub.index.list_changes import ListChanges, ListRow
from sessiond.hub.index.tracker import OpenChanges, OpenFacts
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Census, Store
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.records import Stored

log = logging.getLogger(__name__)
T = TypeVar("T")

_FILES_PER_TRANSACTION: Final = 200
"""The number of files in one transaction."""
_MAX_TREES: Final = 4
"""The number of cached trees. They belong to files that other programs write: a new line then costs one line only."""

_UPSERT: Final = f"""
    INSERT INTO files(id, {FACTS}, checksum, indexed_bytes, indexed_rows, tail, is_indexed)
    VALUES({"?," * 16} 0, 0, x'', 0)
    ON CONFLICT(id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}, checksum = excluded.checksum, is_indexed = 0
"""
_UPDATE_FACTS: Final = (
    f"UPDATE files SET {', '.join(f'{name} = ?' for name in COLUMNS)}, checksum = ? WHERE id = ?"
)


class FileRow(NamedTuple):
    """The part of a row of the table `files` that is held in memory."""

    id: int
    stamp: str
    identity: str
    head: bytes
    indexed_bytes: int
    indexed_rows: int
    tail: bytes


@dataclass(frozen=True, slots=True)
class _Changed:
    facts: LogFacts
    columns: list[object]
    is_continuation: bool
    """Whether the file still begins with its indexed part."""


class FileTable:
    """The table of files. `refresh` synchronizes it with the disk."""

    def __init__(self, store: Store, database: Database) -> None:
        self._store = store
        self._database = database
        self._census: Census = store.census()
        self._rows: dict[bytes, FileRow] = {}
        self._stored: dict[str, Stored] = {}
        self.open_facts: dict[str, OpenFacts] = {}
        """The facts of the open sessions that differ from their files, by ref."""
        self._unwritten: set[str] = set()  # refs in `open_facts` whose rows are not updated yet
        self._released: set[str] = set()  # refs removed from `open_facts`, whose files must be read
        self._reported_changes: set[str] = set()  # files and folders that were reported as changed
        self._trees: dict[str, tuple[str, Tree]] = {}
        self.failures: dict[str, str] = {}
        """The reason why a file is not in the index, by ref."""
        self.changes = ListChanges()
        self.is_file_missing = False
        """Whether the last `refresh` did not find the file of an open session. It may be moving."""
        self._checked = False
        self._last_id = 0

    def load(self) -> None:
        """Replace the state in memory by that of the database. All files are checked again."""
        self._census, self._checked = self._store.census(), False
        self._trees.clear()
        self._stored.clear()
        self._rows.clear()
        self.failures.clear()
        self._unwritten = set(self.open_facts)
        self._last_id = 0
        self.changes.clear()
        rows = self._database.connection.execute(
            f"SELECT id, checksum, indexed_bytes, indexed_rows, tail, {FACTS} FROM files"
        )
        damaged: list[int] = []
        for number, checksum, indexed_bytes, count, tail, *facts in rows:
            self._last_id = max(self._last_id, number)
            if row_checksum([number, *facts]) != checksum:
                damaged.append(number)
                continue
            ref, identity, stamp, head = facts[:4]
            self._rows[ref] = FileRow(number, stamp, identity, head, indexed_bytes, count, tail)
        if damaged:
            log.warning("the index is damaged in %d places; these files are read again", len(damaged))
            self._forget_files(damaged)

    def row_of(self, ref: str) -> FileRow | None:
        """Return the row of a log, or None."""
        return self._rows.get(as_key(ref))

    def record_changes(self, changes: OpenChanges, changed_files: Collection[str]) -> None:
        """Record changes of open sessions and reports of changed files, for the next `refresh`."""
        self._reported_changes.update(changed_files)
        for ref in changes.released:
            self.open_facts.pop(ref, None)
        self.open_facts.update(changes.changed)
        self._unwritten = (self._unwritten | changes.changed.keys()) - changes.released
        self._released = (self._released | changes.released) - changes.changed.keys()

    def refresh(self) -> bool:
        """Read new and changed files, and store the facts of open sessions. Returns whether any file changed."""
        changes = self._census.poll({*self._reported_changes, *self._released})
        self._reported_changes = set()
        self._stored.update((it.ref, it) for it in changes.found)
        found = {it.ref: it for it in changes.found}
        for ref in self._released:
            if ref in self._stored:
                found[ref] = self._stored[ref]
        removed = (
            changes.gone if self._checked else [as_ref(key) for key in self._rows if as_ref(key) not in found]
        )
        self._checked, self._released = True, set()
        for ref in removed:
            self._stored.pop(ref, None)
        removed = self._rename_moved(removed, found)
        self._in_batches(removed, self._drop)
        # The file of a session in `open_facts` is read once, so that there is a row for its texts.
        unread = [
            it for ref, it in found.items()
            if (known := self.row_of(ref)) is None or (ref not in self.open_facts and known.stamp != stamp_of(it))
        ]  # fmt: skip
        self._in_batches(unread, self._index_files)
        self._unwritten.update(it.ref for it in unread if it.ref in self.open_facts)
        self._in_batches([ref for ref in self._unwritten if self.row_of(ref) is not None], self._write_open)
        self.is_file_missing = any(self.row_of(ref) is None for ref in self.open_facts)
        return bool(removed or unread)

    def save_progress(self, ref: str, known: FileRow) -> None:
        """Store how far the texts of a file are indexed. Must be called within a transaction."""
        self._database.connection.execute(
            "UPDATE files SET indexed_bytes = ?, indexed_rows = ?, tail = ? WHERE id = ?",
            (known.indexed_bytes, known.indexed_rows, known.tail, known.id),
        )
        self._rows[as_key(ref)] = known

    def record_failure(self, ref: str, error: Exception) -> None:
        """Record that a part of a file could not be indexed."""
        log.error("a part of session file %s cannot be indexed", ref, exc_info=error)
        self.failures.setdefault(ref, f"a part of it cannot be indexed: {error!r:.200}")

    def forget_texts(self, ref: str) -> None:
        """Delete the texts of a file from the database."""
        known = self.row_of(ref)
        if known is not None:
            with self._database.transaction():
                self._forget_texts(known.id)
            self._rows[as_key(ref)] = known._replace(indexed_bytes=0, indexed_rows=0, tail=b"")

    def tree(self, ref: str) -> Tree | None:
        """Return the cached tree of a file that has grown recently, or None."""
        identity, tree = self._trees.get(ref, ("", None))
        known = self.row_of(ref)
        return tree if known is not None and known.identity == identity else None

    def _in_batches(self, items: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
        for start in range(0, len(items), _FILES_PER_TRANSACTION):
            work(items[start : start + _FILES_PER_TRANSACTION])

    def _rename_moved(self, removed: Sequence[str], found: dict[str, Stored]) -> list[str]:
        """Give renamed files their rows under the new names. Returns the files that no longer exist."""
        by_identity = {identity_of(it): it.ref for it in found.values() if as_key(it.ref) not in self._rows}
        remaining: list[str] = []
        for ref in removed:
            known = self.row_of(ref)
            new = None if known is None else by_identity.pop(known.identity, None)
            if known is None or new is None:
                remaining.append(ref)
            else:
                self._rename(ref, known, new)
        return remaining

    def _rename(self, ref: str, known: FileRow, new: str) -> None:
        connection = self._database.connection
        facts = list(connection.execute(f"SELECT {FACTS} FROM files WHERE id = ?", (known.id,)).fetchone())
        facts[0], facts[2] = as_key(new), ""  # no stamp: the file is read again
        connection.execute(
            "UPDATE files SET ref = ?, stamp = ?, checksum = ? WHERE id = ?",
            (facts[0], facts[2], row_checksum([known.id, *facts]), known.id),
        )
        self.failures.pop(ref, None)
        del self._rows[as_key(ref)]
        self._rows[as_key(new)] = known._replace(stamp="")

    def _write_open(self, refs: Sequence[str]) -> None:
        """Write the facts of open sessions to their rows, with an empty stamp, so that the files are read later."""
        with self._database.transaction() as connection:
            for ref in refs:
                known, facts = self._rows[as_key(ref)], self.open_facts[ref]
                row = connection.execute(f"SELECT {FACTS} FROM files WHERE id = ?", (known.id,)).fetchone()
                columns = dict(zip(COLUMNS, row, strict=True)) | {"stamp": ""}
                try:
                    values = storable(list((columns | listing_columns(facts.listed)).values()), facts.labels)
                except ValueError as error:
                    self.record_failure(ref, error)
                    continue
                connection.execute(_UPDATE_FACTS, (*values, row_checksum([known.id, *values]), known.id))
                self.changes.record(list_row(row), list_row(values))
                self._save_labels(known.id, facts.labels)
                self._rows[as_key(ref)] = known._replace(stamp="")
        self._unwritten.difference_update(refs)

    def _save_labels(self, number: int, labels: Iterable[tuple[str, str]]) -> None:
        connection = self._database.connection
        connection.execute("DELETE FROM labels WHERE file = ?", (number,))
        connection.executemany(
            "INSERT INTO labels VALUES(?, ?, ?)", [(number, entry_id, text) for entry_id, text in labels]
        )

    def _drop(self, refs: Sequence[str]) -> None:
        numbers: list[int] = []
        for ref in refs:
            self.failures.pop(ref, None)
            known = self._rows.pop(as_key(ref), None)
            self._trees.pop(ref, None)
            if known is not None:
                self.changes.record(self._list_row(known.id), None)
                numbers.append(known.id)
        self._forget_files(numbers)

    def _index_files(self, files: Sequence[Stored]) -> None:
        read = [(it.ref, self._read(it)) for it in files]
        with self._database.transaction():
            for _, changed in read:
                if changed is not None:
                    self._save(changed)
        # The row of a file that disappeared meanwhile is older than the last facts of its session.
        self._drop([ref for ref, changed in read if changed is None])

    def _read(self, it: Stored) -> _Changed | None:
        known = self.row_of(it.ref)
        self.failures.pop(it.ref, None)
        try:
            is_continuation = known is not None and self._continues(it, known)
            facts = read_facts(self._store, it, self._tree_for(it, grown=is_continuation))
            return _Changed(facts, storable(columns_of(facts), facts.labels), is_continuation)
        except LogNotFound:
            return None  # it disappeared meanwhile
        except StorageFailed as error:
            log.warning("a session file cannot be read for the index: %s", error)
            return self._failed(it, error.reason)
        except Exception as error:  # one file must not affect the results of others
            log.exception("session file %s cannot be indexed", it.ref)
            return self._failed(it, f"it cannot be indexed: {error!r:.200}")

    def _failed(self, it: Stored, reason: str) -> _Changed:
        """Return a row without facts and with an empty stamp, so that the next daemon reads the file again."""
        self.failures[it.ref] = reason
        self._trees.pop(it.ref, None)
        facts = LogFacts(it, b"", None, (), b"[]")
        columns = columns_of(facts)
        columns[COLUMNS.index("stamp")] = ""
        return _Changed(facts, columns, is_continuation=False)

    def _continues(self, it: Stored, known: FileRow) -> bool:
        """Whether a file still begins with its indexed part."""
        if known.identity != identity_of(it) or it.size < known.indexed_bytes:
            return False
        if known.indexed_bytes >= HEAD_BYTES and known.head != hash_of(
            bytes_of(self._store, it.ref, 0, HEAD_BYTES)
        ):
            return False
        tail = bytes_of(self._store, it.ref, max(0, known.indexed_bytes - TAIL_BYTES), known.indexed_bytes)
        return not known.indexed_bytes or hash_of(tail) == known.tail

    def _tree_for(self, it: Stored, *, grown: bool) -> Tree:
        """Return the tree to read a file into: the cached one if the file only grew."""
        identity, tree = self._trees.pop(it.ref, ("", None))
        if not grown:
            return Tree()
        if tree is None or identity != identity_of(it) or it.size < tree.end or tree.tail:
            tree = Tree()
        self._trees[it.ref] = (identity_of(it), tree)
        while len(self._trees) > _MAX_TREES:
            del self._trees[next(iter(self._trees))]
        return tree

    def _save(self, changed: _Changed) -> None:
        facts, values, connection = changed.facts, changed.columns, self._database.connection
        before = self.row_of(facts.stored.ref)
        number = before.id if before is not None else self._next_id()
        self.changes.record(None if before is None else self._list_row(number), list_row(values))
        connection.execute(_UPSERT, (number, *values, row_checksum([number, *values])))
        self._save_labels(number, facts.labels)
        indexed_bytes, indexed_rows, tail = 0, 0, b""
        if before is not None and changed.is_continuation:
            indexed_bytes, indexed_rows, tail = before.indexed_bytes, before.indexed_rows, before.tail
        elif before is not None:
            self._forget_texts(number)
        stored = facts.stored
        self._rows[as_key(stored.ref)] = FileRow(
            number,
            str(values[COLUMNS.index("stamp")]),
            identity_of(stored),
            facts.head,
            indexed_bytes,
            indexed_rows,
            tail,
        )

    def _list_row(self, number: int) -> ListRow | None:
        """Return the columns of a row that lists show; None if its file holds no session."""
        row = self._database.connection.execute(
            f"SELECT {LISTED} FROM files WHERE id = ? AND draft IS NOT NULL", (number,)
        ).fetchone()
        return None if row is None else ListRow._make(row)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _forget_files(self, numbers: Sequence[int]) -> None:
        with self._database.transaction() as connection:
            for number in numbers:
                self._forget_texts(number)
                connection.execute("DELETE FROM labels WHERE file = ?", (number,))
                connection.execute("DELETE FROM files WHERE id = ?", (number,))

    def _forget_texts(self, number: int) -> None:
        connection = self._database.connection
        connection.execute(
            "INSERT INTO words(words, rowid, text) SELECT 'delete', texts.id, text FROM texts"
            " JOIN entries ON entries.id = texts.id WHERE entries.file = ?",
            (number,),
        )
        connection.execute("DELETE FROM texts WHERE id IN (SELECT id FROM entries WHERE file = ?)", (number,))
        connection.execute("DELETE FROM entries WHERE file = ?", (number,))
        connection.execute(
            "UPDATE files SET indexed_bytes = 0, indexed_rows = 0, tail = x'', is_indexed = 0 WHERE id = ?",
            (number,),
        )
