"""The interface of the index for the rest of the hub. A question to it is a function that runs on its one thread.

The index is never authoritative: the files are checked first, open sessions override their files, and an index file
that is damaged, deleted or of another version is rebuilt and gives the same results (decision 0027).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sessiond.hub.index import listing, searching
from sessiond.hub.index.index_thread import IndexThread
from sessiond.hub.index.listing import IndexedIds, ListDelta, ListRange
from sessiond.hub.index.tracker import OpenTracker
from sessiond.hub.index.updating import IndexUpdater
from sessiond.protocol import types as t
from sessiond.session.tree import steps
from sessiond.store.base import Store

if TYPE_CHECKING:
    from sessiond.hub.index.worker import Worker
    from sessiond.hub.session.live import LiveSession


T = TypeVar("T")

_MAX_ATTEMPTS: Final = 3
"""The maximum number of times that a question is asked, if open sessions change or move meanwhile."""
_RETRY_SECONDS: Final = 0.02
"""The pause before the next attempt: the disk takes time to move the file of a session."""


class Index:
    """The index of a store.

    Args:
        store: The store of the logs.
        path: The database file; None means a temporary file.
        open_sessions: Returns the open sessions that may differ from their files.
        describe: Returns the protocol's description of an open session.
        is_importing: Returns whether files of other programs are read at present.
        unread: Returns the unread amount of what followed agents have written, after waiting at most until a time of
            `time.monotonic` until all is read.
    """

    def __init__(
        self,
        store: Store,
        path: str | None,
        open_sessions: "Callable[[], Iterable[LiveSession]]",
        describe: "Callable[[LiveSession], t.SessionInfo]",
        is_importing: "Callable[[], bool]",
        unread: "Callable[[float], Awaitable[t.UnsearchedTexts]]",
    ) -> None:
        self._unread = unread
        self._tracker = OpenTracker(open_sessions, describe, store.lists)
        self._thread = IndexThread(store, path, self._tracker)
        self.updater = IndexUpdater(self._thread, self._tracker, self._note_position_if_current, is_importing)
        self._position_changed = asyncio.Event()
        self.position = 0
        """The position of the list up to which its changes may be sent. It grows with every change of a row."""

    async def page(self, params: t.ListParams) -> t.ListResult:
        """Return a page of the list. Raises `CursorExpired`, `StorageFailed`."""
        is_first = params.cursor is None and params.changed_after is None
        unread = (await self._unread(0.0)).session_count if is_first else 0
        found = await self.ask_fresh(lambda index: listing.page(index, params))
        return msgspec.structs.replace(found, unread_count=unread) if unread else found

    async def all_sessions(
        self, *, cwd: str | None = None, project: str | None = None
    ) -> list[t.ListedSession]:
        """Return all sessions on disk including drafts, or those of a folder, or of the project of a folder.

        Raises `StorageFailed`.
        """
        wanted = t.ListFilter(cwd=cwd, project=project, include_drafts=True)
        return await self.ask_fresh(lambda index: listing.all_sessions(index, wanted))

    async def known_positions(self) -> tuple[int, int]:
        """Return the positions after which all changes of the list are known: the oldest and the newest.

        Raises `StorageFailed`.
        """
        return await self.ask_fresh(lambda index: (index.files.changes.oldest, index.files.changes.position))

    async def delta(
        self, list_filter: t.ListFilter, after: int, *, complete_at: int, limit: int
    ) -> ListDelta | None:
        """Return the changes of a list after a position, up to `position`; see `listing.ListRange`.

        Raises `StorageFailed`.
        """
        range_ = ListRange(after, complete_at, self.position, limit)
        return await self._thread.ask(
            lambda index: listing.delta(
                index.database.connection, index.files.changes, index.resolved(list_filter), range_
            )
        )

    async def wait_beyond(self, position: int) -> None:
        """Wait until the list has changed after a position. Does not check the files: see `known_positions`."""
        while self.position <= position:
            await self._position_changed.wait()

    async def find_by_id(self, session_id: str, *, min_prefix: int) -> IndexedIds:
        """Return the sessions on disk whose id begins with `session_id`, or similar ids. Raises `StorageFailed`."""
        return await self.ask_fresh(
            lambda index: listing.find_by_id(index, session_id, min_prefix=min_prefix)
        )

    async def find_by_prefix(self, prefix: str, *, min_prefix: int, limit: int) -> list[t.ListedSession]:
        """Return up to `limit` sessions on disk whose id begins with `prefix`. Raises `StorageFailed`."""
        return await self.ask_fresh(
            lambda index: listing.find_by_prefix(index, prefix, min_prefix=min_prefix, limit=limit)
        )

    async def search(
        self, params: t.SearchParams, ref: str | None, clean: "Callable[[str], str]"
    ) -> t.SearchResult:
        """Return a page of hits; see `searching.SlicedSearch`.

        Raises `IncompatibleParams`, `CursorExpired`, `StorageFailed`.
        """
        while True:
            search, unsearched, open_now = await self.ask_indexed(
                lambda index: searching.SlicedSearch(index, params, ref, clean), params.wait_ms
            )
            while search.hits is None and await self._thread.ask(search.run_slice):
                pass
            if search.hits is not None:
                found = search.hits
                break
        places = [(ref, hit.seq, hit.on_path) for ref, hit in zip(found.refs, found.hits, strict=True)]
        hits = [
            msgspec.structs.replace(hit, on_path=on_path)
            for hit, on_path in zip(found.hits, await on_current_path(places, open_now), strict=True)
            if on_path is not None
        ]
        return t.SearchResult(hits=hits, next_cursor=found.next_cursor, unsearched=unsearched)

    async def erase_removed(self) -> None:
        """Have the file of the index cleared of all texts that were or are being removed, soon and also after a kill.

        Raises `StorageFailed`.
        """
        await self._thread.ask(lambda index: index.erasure.request())
        self.updater.wake_up()

    async def ask_indexed(
        self, question: "Callable[[Worker], T]", wait_ms: int
    ) -> "tuple[T, t.UnsearchedTexts, Mapping[str, LiveSession]]":
        """Ask about the indexed texts and usages, after a check of the files.

        Args:
            question: A function that is called on the thread of the index.
            wait_ms: The milliseconds for which to wait until everything is indexed.

        Returns:
            The answer, the texts that are not indexed, and the open sessions that differ from their files, by ref.

        Raises:
            StorageFailed: The index cannot be read.
        """

        def verify_and_answer(worker: "Worker") -> tuple[T, int]:
            worker.database.verify()
            return question(worker), worker.build_number

        until = time.monotonic() + wait_ms / 1000
        unread = await self._unread(until)
        while True:  # if the index is rebuilt during the question, it is empty at first
            prepared_build, unsearched = await self.updater.prepare_search(until)
            open_now = self._tracker.overrides()
            answer, answered_build = await self._thread.ask(verify_and_answer)
            if answered_build == prepared_build:
                count = unsearched.session_count + unread.session_count
                size = unsearched.size_bytes + unread.size_bytes
                return answer, t.UnsearchedTexts(session_count=count, size_bytes=size), open_now

    async def close(self) -> None:
        """Finish the work in progress. Later questions raise `Draining`."""
        await self._thread.close()

    async def ask_fresh(self, question: "Callable[[Worker], T]") -> T:
        """Return the answer to a question about the files and the open sessions as they are now.

        Raises `StorageFailed`.
        """

        def check_and_answer(worker: "Worker") -> T:
            worker.check_files()
            return question(worker)

        for _ in range(_MAX_ATTEMPTS):
            answer = await self._thread.ask_with_changes(check_and_answer)
            # If this is not current, a session may be listed twice, not at all, or with pending lines.
            if self._thread.is_current:
                break
            await asyncio.sleep(_RETRY_SECONDS)
        self._note_position()
        if self._thread.has_provisional:
            self.updater.wake_up()
        return answer

    def _note_position_if_current(self) -> None:
        if self._thread.is_current:
            self._note_position()

    def _note_position(self) -> None:
        """Publish the position of the worker. Before this call, a moved session may appear to be removed."""
        if self._thread.position > self.position:
            self.position = self._thread.position
            changed, self._position_changed = self._position_changed, asyncio.Event()
            changed.set()


async def on_current_path(
    places: "Iterable[tuple[str, int, bool]]", open_now: "Mapping[str, LiveSession]"
) -> list[bool | None]:
    """Return whether each entry lies on the path to the leaf of its session, as the session is now.

    Args:
        places: The ref of each entry's log, its row, and whether it is on the path in the file.
        open_now: The open sessions that differ from their files, by ref.

    Returns:
        None for an entry that is not committed.
    """
    paths: dict[str, frozenset[int]] = {}
    current: list[bool | None] = []
    for ref, seq, on_path in places:
        if ref not in open_now:
            current.append(on_path)
            continue
        tree = open_now[ref].tree
        if seq >= tree.committed:
            current.append(None)
            continue
        if ref not in paths:
            paths[ref] = frozenset(await open_now[ref].drive(steps.path(tree, tree.leaf)))
        current.append(not seq or seq in paths[ref])
    return current
