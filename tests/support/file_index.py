"""An index over session files that a test writes: indexed and searched without a daemon."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sessiond.hub.index import searching
from sessiond.hub.index.worker import Worker
from sessiond.protocol import types as t
from sessiond.store.files.store import FileStore
from support import logs


class FileIndex:
    """The worker of an index, the files that it reads, and the time of the last file that was written."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / "data/sessions/--work--"
        self._folder.mkdir(parents=True, exist_ok=True)
        (home / "state").mkdir(exist_ok=True)
        self._written_at = 1_750_000_000
        self.worker = Worker(FileStore(home / "data", home / "state"), str(home / "state/index.db"))

    def write(self, session_id: str, *lines: Any) -> Path:
        """Write a whole session, which is newer than all that were written before."""
        path = self._folder / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
        path.write_bytes(logs.log(logs.header(id=session_id), *lines))
        self._written_at += 10
        os.utime(path, (self._written_at, self._written_at))
        return path

    def check(self) -> None:
        """Check the files and read those that are new or changed."""
        self.worker.ask(Worker.check_files)

    def step(self) -> bool:
        """Do a part of the work in the background. Returns False if nothing is left."""
        return self.worker.ask(lambda index: index.files.complete_step() or index.texts.step())

    def update(self) -> None:
        """Index all that the files hold now."""
        self.check()
        while self.step():
            pass

    def search(self, query: str, **params: Any) -> list[t.Hit]:
        """Return all hits of a search, from the first page to the last."""
        found: list[t.Hit] = []
        cursor: str | None = None
        while True:
            asked = t.SearchParams(query=query, cursor=cursor, **params)
            search = self.worker.ask(lambda index: searching.SlicedSearch(index, asked, None, str))  # noqa: B023 - asked now
            while search.hits is None and self.worker.ask(search.run_slice):
                pass
            page = search.hits
            if page is None:  # the index was built again
                return []
            found += page.hits
            cursor = page.next_cursor
            if cursor is None:
                return found

    def found(self, query: str, **params: Any) -> list[tuple[str, str | None]]:
        """Return the session and the entry of all hits of a search, best first."""
        return [(hit.session_id, hit.entry_id) for hit in self.search(query, **params)]


@contextmanager
def file_index(home: Path) -> Iterator[FileIndex]:
    """An index over the session files in a home, which is closed at the end."""
    made = FileIndex(home)
    try:
        yield made
    finally:
        made.worker.close()
