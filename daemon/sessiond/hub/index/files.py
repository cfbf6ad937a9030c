"""The table of log files in the index: the existing files, their facts, and the files that must be read again.

For a session that is open in this daemon and differs from its file (`tracker`), the row holds the facts in memory. Its
file is read again when the session no longer differs from it.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar

import msgspec

from sessiond.hub import session_info
from sessiond.hub.index import blob_uses, text_tables, usage_table
from sessiond.hub.index.columns import (
    COLUMNS,
    FACTS,
    LISTED,
    FileRow,
    as_key,
    as_ref,
    identity_of,
    list_row,
    listing_columns,
    stamp_of,
    storable,
)
from sessiond.hub.index.database import Database, row_checksum
from sessiond.hub.index.facts import STEP_BYTES
from sessiond.hub.index.facts_reader import FactsReader, ReadFacts
from sessiond.hub.index.list_changes import ListChanges, ListRow
from sessiond.hub.index.tracker import OpenChanges, OpenFacts
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Census, Store
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.files import paths
from sessiond.store.records import Stored

log = logging.getLogger(__name__)
T = TypeVar("T")

_FILES_PER_TRANSACTION: Final = 200
"""The number of files in one transaction."""
_FILES_PER_STEP: Final = 32
"""The maximum number of provisional rows that one step completes."""
WHOLE_BYTES: Final = 2 * 1024 * 1024
"""The bytes of new files that one check reads as a whole, the newest first. Of others, it reads the ends."""

_UPSERT: Final = f"""
    INSERT INTO files(id, {FACTS}, checksum, indexed_bytes, indexed_rows, tail, is_indexed)
    VALUES({"?," * (len(COLUMNS) + 2)} 0, 0, x'', 0)
    ON CONFLICT(id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}, checksum = excluded.checksum, is_indexed = 0
"""
_INFO: Final = COLUMNS.index("info")
_SIZE: Final = COLUMNS.index("size")
_MODIFIED_NS: Final = 3  # in a stamp of `store.files.census`
_UPDATE_FACTS: Final = (
    f"UPDATE files SET {', '.join(f'{name} = ?' for name in COLUMNS)}, checksum = ? WHERE id = ?"
)


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
        self._provisional: dict[str, None] = {}  # refs whose rows are provisional, the newest first
        self._completion: Steps[None] | None = None  # the file that is partly read
        self.reader = FactsReader(store)
        self.changes = ListChanges()
        self.is_file_missing = False
        """Whether the last `refresh` did not find the file of an open session, which may be moving."""
        self._checked = False
        self._last_id = 0
        self._unlimited_bytes = WHOLE_BYTES

    def load(self) -> None:
        """Replace the state in memory by that of the database. All files are checked again."""
        self._census, self._checked = self._store.census(), False
        self.reader.clear()
        self._stored.clear()
        self._rows.clear()
        self._provisional.clear()
        self._completion = None
        self._unwritten = set(self.open_facts)
        self._last_id = 0
        self.changes.clear()
        rows = self._database.connection.execute(
            f"SELECT id, checksum, indexed_bytes, indexed_rows, tail, provisional, {FACTS} FROM files"
            " ORDER BY updated DESC"
        )
        damaged: list[int] = []
        for number, checksum, indexed_bytes, count, tail, provisional, *facts in rows:
            self._last_id = max(self._last_id, number)
            if row_checksum([number, *facts]) != checksum:
                damaged.append(number)
                continue
            ref, identity, stamp, head = facts[:4]
            self._rows[ref] = FileRow(number, stamp, identity, head, indexed_bytes, count, tail)
            if provisional:
                self._provisional[as_ref(ref)] = None
        if damaged:
            log.warning("the index is damaged in %d places; these files are read again", len(damaged))
            self._forget_files(damaged)

    def row_of(self, ref: str) -> FileRow | None:
        """Return the row of a log, or None."""
        return self._rows.get(as_key(ref))

    def size_of(self, ref: str) -> int:
        """Return the size of a file as of the last check; 0 if it is not known."""
        stored = self._stored.get(ref)
        if stored is None:
            return 0
        try:
            return self._store.measured(stored).size
        except (LogNotFound, StorageFailed):
            return 0

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
        self._stored.update((stored.ref, stored) for stored in changes.found)
        found = {stored.ref: stored for stored in changes.found}
        for ref in self._released:
            if ref in self._stored:
                found[ref] = self._stored[ref]
        removed = (
            changes.gone if self._checked else [as_ref(key) for key in self._rows if as_ref(key) not in found]
        )
        self._checked, self._released = True, set()
        has_changed = bool(found or removed or self._unwritten) and self._update(found, removed)
        self.is_file_missing = any(self.row_of(ref) is None for ref in self.open_facts)
        return has_changed

    def _update(self, found: dict[str, Stored], removed: Sequence[str]) -> bool:
        """Read the files of `found` that changed, and store the facts of open sessions. Returns what `refresh` does."""
        for ref in removed:
            self._stored.pop(ref, None)
        removed = self._rename_moved(removed, found)
        self._in_batches(removed, self._drop)
        # The file of a session in `open_facts` is read once, so that there is a row for its texts.
        unread = [
            stored for ref, stored in found.items()
            if (known := self.row_of(ref)) is None or (ref not in self.open_facts and known.stamp != stamp_of(stored))
        ]  # fmt: skip
        unread.sort(key=lambda stored: stored.modified_ns, reverse=True)
        self._unlimited_bytes = WHOLE_BYTES
        self._in_batches(unread, self._index_files)
        self._unwritten.update(stored.ref for stored in unread if stored.ref in self.open_facts)
        self._in_batches([ref for ref in self._unwritten if self.row_of(ref) is not None], self._write_open)
        return bool(removed or unread)

    def save_progress(self, ref: str, known: FileRow) -> None:
        """Store the end of the indexed texts of a file. Must be called within a transaction."""
        self._database.connection.execute(
            "UPDATE files SET indexed_bytes = ?, indexed_rows = ?, tail = ? WHERE id = ?",
            (known.indexed_bytes, known.indexed_rows, known.tail, known.id),
        )
        self._rows[as_key(ref)] = known

    def record_failure(self, ref: str, error: Exception) -> None:
        """Record that a part of a file could not be indexed."""
        log.error("a part of session file %s cannot be indexed", ref, exc_info=error)
        self.reader.failures.setdefault(ref, f"a part of it cannot be indexed: {error!r:.200}")

    def forget_texts(self, ref: str) -> None:
        """Delete the texts of a file from the database."""
        known = self.row_of(ref)
        if known is not None:
            with self._database.transaction():
                self._forget_texts(known.id)
            self._rows[as_key(ref)] = known._replace(indexed_bytes=0, indexed_rows=0, tail=b"")

    def tree(self, ref: str) -> Tree | None:
        """Return the cached tree of a file that has grown recently, or None."""
        return self.reader.cached_tree(ref, self.row_of(ref))

    # --- provisional rows --------------------------------------------------------------------------------

    @property
    def has_provisional(self) -> bool:
        """Whether there are provisional rows."""
        return bool(self._provisional)

    def complete(self, folders: Collection[str] | None = None, session_ids: Collection[str] = ()) -> None:
        """Read the whole files of provisional rows: of all, of these folders, or of these session ids."""
        if not self._provisional:
            return
        sql, values = "SELECT ref, cwd, session_id FROM files WHERE provisional = 1", set(session_ids)
        refs = [
            ref for key, folder, session_id in self._database.connection.execute(sql).fetchall()
            if (ref := as_ref(key)) in self._provisional
            and (folders is None or folder in folders) and (not values or session_id in values)
        ]  # fmt: skip
        self._in_batches([self._stored[ref] for ref in refs if ref in self._stored], self._index_whole_files)

    def complete_step(self) -> bool:
        """Read about 512 KiB of the files whose rows are provisional. Returns False if there are none."""
        if self._completion is None:
            refs = [ref for ref in islice(self._provisional, _FILES_PER_STEP) if ref in self._stored]
            if not refs:
                return False
            self._completion = self._complete_in_steps(refs)
        try:
            next(self._completion)
        except StopIteration:
            self._completion = None
        return True

    def _complete_in_steps(self, refs: Sequence[str]) -> Steps[None]:
        """Read whole files, and save the rows together. A file of more than a step is saved alone."""
        read: list[tuple[Stored, ReadFacts | None]] = []
        size = 0
        for ref in refs:
            stored = self._stored.get(ref)
            if stored is None or ref not in self._provisional:
                continue
            read.append((stored, (yield from self.reader.read_in_steps(stored, self.row_of(ref)))))
            size += stored.size
            if size >= STEP_BYTES:
                break
        # A file that has changed meanwhile is read by the check that noticed it.
        self._save_all(
            [
                (log.ref, found) for log, found in read
                if log.ref in self._provisional and self._stored.get(log.ref) is log
            ]
        )  # fmt: skip

    def _in_batches(self, items: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
        for start in range(0, len(items), _FILES_PER_TRANSACTION):
            work(items[start : start + _FILES_PER_TRANSACTION])

    def _rename_moved(self, removed: Sequence[str], found: dict[str, Stored]) -> list[str]:
        """Give renamed files their rows under the new names. Returns the files that no longer exist."""
        new_files = {stored.ref: stored for stored in found.values() if as_key(stored.ref) not in self._rows}
        by_identity = {identity_of(stored): stored for stored in new_files.values()}
        remaining: list[str] = []
        for ref in removed:
            known = self.row_of(ref)
            new = None if known is None else by_identity.pop(known.identity, None)
            if known is not None and new is None:
                new = new_files.get(paths.other_name(ref))  # it was packed or unpacked
            if known is None or new is None:
                remaining.append(ref)
            else:
                self._rename(ref, known, new)
        return remaining

    def _rename(self, ref: str, known: FileRow, stored: Stored) -> None:
        """Give a log its row under a new name. Unless it was only packed or unpacked, it is read again."""
        connection, new = self._database.connection, stored.ref
        facts = list(connection.execute(f"SELECT {FACTS} FROM files WHERE id = ?", (known.id,)).fetchone())
        before = list_row(facts)
        info = (
            None if known.identity == identity_of(stored) else self._info_if_same(known, facts[_INFO], stored)
        )
        if info is not None:
            facts[_INFO], facts[_SIZE] = info, stored.size
        facts[:3] = as_key(new), identity_of(stored), "" if info is None else stamp_of(stored)
        connection.execute(_UPDATE_FACTS, (*facts, row_checksum([known.id, *facts]), known.id))
        if info is not None:
            self.changes.record(before, list_row(facts))
        usage_table.rank_again(connection, known.id)
        self.reader.forget(ref)
        if ref in self._provisional:
            del self._provisional[ref]
            self._provisional[new] = None
        del self._rows[as_key(ref)]
        self._rows[as_key(new)] = known._replace(stamp=facts[2], identity=facts[1])

    def _info_if_same(self, known: FileRow, info: bytes, stored: Stored) -> bytes | None:
        """Return the list row of a log under its new ref if its file was packed or unpacked, and not changed.

        The file has the same modification time then, and the log the same size (`store.files.packing`).
        """
        try:
            listed = session_info.from_json(info)
            modified_ns = int(known.stamp.split(".")[_MODIFIED_NS])
            measured = self._store.measured(stored)
        except (ValueError, IndexError, LogNotFound, StorageFailed):
            return None
        if (listed.size_bytes, modified_ns) != (measured.size, stored.modified_ns):
            return None
        return session_info.as_json(msgspec.structs.replace(listed, path=session_info.path_of(stored.ref)))

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
                self._provisional.pop(ref, None)
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
            self.reader.forget(ref)
            self._provisional.pop(ref, None)
            known = self._rows.pop(as_key(ref), None)
            if known is not None:
                self.changes.record(self._list_row(known.id), None)
                numbers.append(known.id)
        self._forget_files(numbers)

    def _index_files(self, files: Sequence[Stored]) -> None:
        """Read new and changed files. Complete rows remain complete. Of other large files, only the ends are read."""
        read: list[tuple[str, ReadFacts | None]] = []
        for file in files:
            known = self.row_of(file.ref)
            is_complete = known is not None and file.ref not in self._provisional
            if is_complete or file.size <= self._unlimited_bytes:
                self._unlimited_bytes -= 0 if is_complete else file.size
                read.append((file.ref, self.reader.read(file, known)))
            else:
                read.append((file.ref, self.reader.read_ends(file, known)))
        self._save_all(read)

    def _index_whole_files(self, files: Sequence[Stored]) -> None:
        self._save_all([(file.ref, self.reader.read(file, self.row_of(file.ref))) for file in files])

    def _save_all(self, read: Sequence[tuple[str, ReadFacts | None]]) -> None:
        with self._database.transaction():
            for _, found in read:
                if found is not None:
                    self._save(found)
        # The row of a file that disappeared meanwhile is older than the last facts of its session.
        self._drop([ref for ref, found in read if found is None])

    def _save(self, changed: ReadFacts) -> None:
        facts, values, connection = changed.facts, changed.columns, self._database.connection
        before = self.row_of(facts.stored.ref)
        number = before.id if before is not None else self._next_id()
        self.changes.record(None if before is None else self._list_row(number), list_row(values))
        connection.execute(_UPSERT, (number, *values, row_checksum([number, *values])))
        if before is not None or facts.labels:
            self._save_labels(number, facts.labels)
        if changed.is_provisional:
            self._provisional.setdefault(facts.stored.ref)
        else:
            self._provisional.pop(facts.stored.ref, None)
        indexed_bytes, indexed_rows, tail = 0, 0, b""
        if before is not None and changed.is_continuation:
            indexed_bytes, indexed_rows, tail = before.indexed_bytes, before.indexed_rows, before.tail
        elif before is not None and before.indexed_rows:
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
        text_tables.remove(connection, self._database.texts, number)
        usage_table.remove(connection, number)
        blob_uses.remove(connection, number)
        connection.execute("DELETE FROM entries WHERE file = ?", (number,))
        connection.execute(
            "UPDATE files SET indexed_bytes = 0, indexed_rows = 0, tail = x'', is_indexed = 0 WHERE id = ?",
            (number,),
        )
