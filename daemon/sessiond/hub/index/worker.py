"""The work of the index, done on its thread: the files are looked at, texts taken in, questions answered.

A file of the index that turns out to be damaged, or was taken away, is made again, and the work is done again.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeVar

import msgspec

from sessiond.hub.errors import HubError
from sessiond.hub.index import listing, searching
from sessiond.hub.index.database import Database
from sessiond.hub.index.files import FileTable
from sessiond.hub.index.fill import Filler
from sessiond.hub.index.handed import Fed
from sessiond.hub.index.tracker import OpenChanges
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.unicode import valid_unicode

_PROBLEMS: Final = 100
"""Files that one answer names at most."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class Worker:
    """All of the index. `path` None: in a temporary file. Every method may raise `StorageFailed`."""

    def __init__(self, store: Store, path: str | None) -> None:
        self.made = 0
        """How often the file was opened or made again."""
        self._database = Database(path)
        self._files = FileTable(store, self._database)
        self._filler = Filler(store, self._database, self._files)

    def tell(self, changes: OpenChanges, hints: Collection[str]) -> None:
        """Take in what open sessions say of themselves, and which files somebody saw change."""
        self._files.tell(changes, hints)

    def page(self, params: t.ListParams) -> t.ListResult:
        """A page of the list, after a look at the files."""
        page = self._after_a_look(lambda it: listing.page(it, params))
        return msgspec.structs.replace(page, problems=self._problems())

    def everything(self, cwd: str | None) -> list[t.ListedSession]:
        """All sessions, or those of a folder, after a look at the files."""
        return self._after_a_look(lambda it: listing.everything(it, cwd=cwd))

    def near(self, beginning: str, shortest: int) -> listing.Near:
        """What an id may mean, after a look at the files."""
        return self._after_a_look(lambda it: listing.near(it, beginning, shortest=shortest))

    def beginning(self, query: str, shortest: int, most: int) -> list[t.ListedSession]:
        """The sessions whose id begins so, after a look at the files."""
        return self._after_a_look(partial(listing.beginning, query=query, shortest=shortest, most=most))

    def look(self) -> int:
        """Look at the files; answers how often the index was made."""
        return self._after_a_look(lambda _: self.made)

    def search(self, params: t.SearchParams, ref: str | None) -> tuple[searching.Hits, int]:
        """A page of hits in what was taken in, and how many sessions were not to their end."""

        def find() -> tuple[searching.Hits, int]:
            self._database.verify()
            return searching.search(self._database.connection, params, ref), self._filler.waiting()

        return self._do(find)

    def step(self) -> bool:
        """Take in some texts of logs that speak for their sessions; whether there are more."""
        return self._do(self._filler.step)

    def rows(self, refs: Collection[str]) -> dict[str, int | None]:
        """How many rows of each log were taken in; None for a log that is not known."""
        return self._do(lambda: {ref: self._filler.rows(ref) for ref in refs})

    def feed(self, ref: str, fed: Fed) -> int:
        """Take in entries of an open log; answers how many rows of it were."""
        return self._do(lambda: self._filler.feed(ref, fed))

    def fed(self, refs: Collection[str]) -> None:
        """All that is committed of these open logs was handed in."""
        self._do(lambda: self._filler.fed(refs))

    def close(self) -> None:
        self._database.close_and_seal()

    def _problems(self) -> list[t.ListProblem]:
        failures = sorted(self._files.failures.items())[:_PROBLEMS]
        return [t.ListProblem(path=valid_unicode(ref), message=reason) for ref, reason in failures]

    def _after_a_look(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        def look_and_ask() -> T:
            if self._files.refresh():
                self._filler.stop()
            return ask(self._database.connection)

        return self._do(look_and_ask)

    def _do(self, work: Callable[[], T]) -> T:
        try:
            return self._done(work)
        except sqlite3.Error as error:  # a new file is no better, so it is the disk
            raise StorageFailed(f"the index cannot be read or written: {error}") from error

    def _done(self, work: Callable[[], T]) -> T:
        if not self._database.is_open:
            self._begin()
        elif not self._database.in_place():
            log.warning("the index was taken away; it is made again")
            self._make_anew()
        try:
            self._database.verify_if_known()
            return work()
        except (HubError, StorageFailed):
            raise
        except Exception as error:  # noqa: BLE001 - damage shows as anything: no row, no text, a number too large
            log.warning("the index is damaged; it is made again: %r", error)
            self._make_anew()
            return work()

    def _begin(self) -> None:
        self.made += 1
        self._database.open()
        try:
            self._files.load()
        except Exception as error:  # noqa: BLE001 - as below
            log.warning("the index is damaged; it is made again: %r", error)
            self._database.throw_away()
            self._database.open()
            self._files.load()

    def _make_anew(self) -> None:
        self._filler.stop()
        self._database.throw_away()
        self._begin()
