"""The index thread's work: checks files, indexes texts and answers queries.

If the index file turns out to be damaged or was removed, it is rebuilt, and the work is repeated.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeVar

import msgspec

from sessiond.hub.database_file import refusal
from sessiond.hub.errors import HubError
from sessiond.hub.index import listing, searching
from sessiond.hub.index.committed_entries import CommittedEntries
from sessiond.hub.index.database import Database
from sessiond.hub.index.files import FileTable
from sessiond.hub.index.projects import ProjectTable
from sessiond.hub.index.text_indexer import TextIndexer
from sessiond.hub.index.tracker import OpenChanges
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.unicode import valid_unicode

_PROBLEMS: Final = 100
"""The maximum number of files that one result names."""

log = logging.getLogger(__name__)
T = TypeVar("T")
P = TypeVar("P", t.ListParams, t.ListFilter, t.SearchParams, t.RecallParams, t.UsageReportParams)


class Worker:
    """The whole index. With `path` None, its file is temporary. Every method may raise `StorageFailed`."""

    def __init__(self, store: Store, path: str | None) -> None:
        self.build_number = 0
        """The build number: how often the file was opened or rebuilt."""
        self._path = path
        self._database = Database(path)
        self._files = FileTable(store, self._database)
        self._projects = ProjectTable()
        self._texts = TextIndexer(store, self._database, self._files)

    def record_changes(self, changes: OpenChanges, changed_files: Collection[str]) -> None:
        """Record changes of open sessions and reports of changed files."""
        self._files.record_changes(changes, changed_files)

    def page(self, params: t.ListParams) -> t.ListResult:
        """Check the files, then return a page of the list. Its filter and its order are final."""

        def query(connection: sqlite3.Connection) -> t.ListResult:
            asked = self._resolved(connection, params)
            if params.tags or params.query or params.sort == "title":
                self._files.complete(_folders(connection, params.cwd, asked.project))
            return listing.page(connection, self._files.changes, asked)

        page = self._after_check(query)
        return msgspec.structs.replace(page, problems=self._problems())

    def all_sessions(self, list_filter: t.ListFilter) -> list[t.ListedSession]:
        """Check the files, then return the sessions in a folder or a project, or all. No row is provisional."""

        def query(connection: sqlite3.Connection) -> list[t.ListedSession]:
            asked = self._resolved(connection, list_filter)
            self._files.complete(_folders(connection, asked.cwd, asked.project))
            return listing.all_sessions(connection, asked)

        return self._after_check(query)

    def find_by_id(self, session_id: str, min_prefix: int) -> listing.IndexedIds:
        """Check the files, then return the matches of an id."""
        return self._after_check(lambda it: listing.find_by_id(it, session_id, min_prefix=min_prefix))

    def find_by_prefix(self, prefix: str, min_prefix: int, limit: int) -> list[t.ListedSession]:
        """Check the files, then return the sessions whose id begins with `prefix`. No row is provisional."""
        find = partial(listing.find_by_prefix, prefix=prefix, min_prefix=min_prefix, limit=limit)

        def query(connection: sqlite3.Connection) -> list[t.ListedSession]:
            provisional = [it.session_id for it in find(connection) if it.provisional]
            if provisional:
                self._files.complete(session_ids=provisional)
            return find(connection)

        return self._after_check(query)

    @property
    def position(self) -> int:
        """The position of the last change of the list. May be read on any thread."""
        return self._files.changes.position

    @property
    def has_provisional(self) -> bool:
        """Whether there are provisional rows. May be read on any thread."""
        return self._files.has_provisional

    @property
    def is_file_missing(self) -> bool:
        """Whether the last check did not find the file of an open session. May be read on any thread."""
        return self._files.is_file_missing

    def delta(self, list_filter: t.ListFilter, range_: listing.ListRange) -> listing.ListDelta | None:
        """Return the changes of a list in a range, without checking the files; see `listing.delta`."""

        def read() -> listing.ListDelta | None:
            connection = self._database.connection
            asked = self._resolved(connection, list_filter)
            return listing.delta(connection, self._files.changes, asked, range_)

        return self._run(read)

    def known_positions(self) -> tuple[int, int]:
        """Check the files. Returns the oldest position after which every change is known, and the newest."""
        return self._after_check(lambda _: (self._files.changes.oldest, self._files.changes.position))

    def check_files(self) -> int:
        """Check the files. Returns the build number."""
        return self._after_check(lambda _: self.build_number)

    def search(self, params: t.SearchParams, ref: str | None, clean: Callable[[str], str]) -> searching.Hits:
        """Return a page of hits from the texts that are indexed; see `searching.search`."""

        def find() -> searching.Hits:
            self._database.verify()
            connection = self._database.connection
            return searching.search(connection, self._resolved(connection, params), ref, clean)

        return self._run(find)

    def read_indexed(self, params: P, find: Callable[[sqlite3.Connection, P], T]) -> T:
        """Return what a function finds in what is indexed. It gets params with the project's folder."""

        def read() -> T:
            self._database.verify()
            connection = self._database.connection
            return find(connection, self._resolved(connection, params))

        return self._run(read)

    def unsearched(self, open_ends: Mapping[str, int]) -> t.UnsearchedTexts:
        """Return how much is not indexed; see `TextIndexer.unsearched`."""
        return self._run(lambda: self._texts.unsearched(open_ends))

    def step(self) -> bool:
        """Read a part of a file whose row is provisional, or index some texts. Returns whether there is more to do."""
        return self._run(lambda: self._files.complete_step() or self._texts.step())

    def indexed_rows(self, refs: Collection[str]) -> dict[str, int | None]:
        """Return the number of indexed rows of each log; None for an unknown log."""
        return self._run(lambda: {ref: self._texts.indexed_rows(ref) for ref in refs})

    def add_committed(self, ref: str, added: CommittedEntries) -> int:
        """Index entries of an open session. Returns the number of its indexed rows."""
        return self._run(lambda: self._texts.add_committed(ref, added))

    def mark_indexed(self, refs: Collection[str]) -> None:
        """Mark these open sessions as fully indexed."""
        self._run(lambda: self._texts.mark_indexed(refs))

    def close(self) -> None:
        """Close and seal the file."""
        self._database.close_and_seal()

    def _resolved(self, connection: sqlite3.Connection, params: P) -> P:
        """Return params whose `project` is the folder of the project."""
        if params.project is None:
            return params
        project = self._projects.folder_of(connection, params.project)
        return msgspec.structs.replace(params, project=project)

    def _problems(self) -> list[t.ListProblem]:
        failures = sorted(self._files.reader.failures.items())[:_PROBLEMS]
        return [t.ListProblem(path=valid_unicode(ref), message=reason) for ref, reason in failures]

    def _after_check(self, query: Callable[[sqlite3.Connection], T]) -> T:
        def check_and_query() -> T:
            if self._files.refresh():
                self._texts.stop()
                self._projects.add_new(self._database.connection)
            return query(self._database.connection)

        return self._run(check_and_query)

    def _run(self, work: Callable[[], T]) -> T:
        try:
            return self._run_recovering(work)
        except sqlite3.Error as error:  # a new file fails as well, so the disk is the cause
            raise refusal(self._path or "", error) from error

    def _run_recovering(self, work: Callable[[], T]) -> T:
        if not self._database.is_open:
            self._begin()
        elif not self._database.is_in_place():
            log.warning("the index was deleted; it is rebuilt")
            self._rebuild()
        try:
            self._database.verify_if_known()
            return work()
        except (HubError, StorageFailed, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - damage may cause any error: no row, bad text, an overflow
            log.warning("the index is damaged; it is rebuilt: %r", error)
            self._rebuild()
            return work()

    def _begin(self) -> None:
        self.build_number += 1
        self._database.open()
        try:
            self._files.load()
        except Exception as error:  # noqa: BLE001 - damage may cause any error
            log.warning("the index is damaged; it is rebuilt: %r", error)
            self._database.delete()
            self._database.open()
            self._files.load()

    def _rebuild(self) -> None:
        self._texts.stop()
        self._database.delete()
        self._begin()


def _folders(connection: sqlite3.Connection, cwd: str | None, project: str | None) -> Collection[str] | None:
    """Return the folders to which a list is limited: one, or those of a project; None for all."""
    if cwd is not None:
        return [cwd]
    if project is None:
        return None
    return {it for (it,) in connection.execute("SELECT cwd FROM projects WHERE project = ?", (project,))}
