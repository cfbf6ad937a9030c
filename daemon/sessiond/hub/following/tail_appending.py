"""Appends to sessions the lines that were added to large files, whose earlier lines were read before.

A tail is the end of such a file, with the state of its reader (decision 0036). It is kept for the files that were
written last, and begins with the stored state of the reader for the others.
"""

import asyncio
import logging
import re
import zlib
from collections.abc import Callable
from typing import Final

import msgspec

from sessiond.hub.errors import Draining, HubError
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.sources import SourceTail
from sessiond.hub.following.tails import Added, fits
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.transfer.leading_file import is_origin
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.transfer.unchanged import IMPORTER
from sessiond.protocol import types as t
from sessiond.session.dialects import recorded
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

MAX_TAILS: Final = 32
"""Limit of the tails that are kept."""
_NUMBERED: Final = re.compile(r"(raw|line)-[0-9]+")
"""An id of an entry that comes from the number of a line."""


class Tails:
    """The tails of the large files that were written last.

    Args:
        open_sessions: The open sessions.
        exchange: Appends the entries.
        is_excluded: Returns whether a session is not read, for the path of its file and its folder. Blocks.
    """

    def __init__(
        self, open_sessions: OpenSessions, exchange: Exchange, is_excluded: Callable[[str, str], bool]
    ) -> None:
        self._open = open_sessions
        self._exchange = exchange
        self._is_excluded = is_excluded
        self._tails: dict[str, tuple[SourceTail, str]] = {}  # with the ids of their sessions

    def forget(self, path: str) -> None:
        """Forget the tail of a file that is read whole, or is gone."""
        self._tails.pop(path, None)

    async def append_added(self, followed: FollowedAgent, path: str) -> FileStatus | None:
        """Append what was added to a large file that was read before.

        Returns:
            The status of the file when it was read; None if it must be read whole.
        """
        if path not in self._tails:  # the history of a small fork may be large
            await self.begin(followed, path)
        known_tail = self._tails.pop(path, None)
        if known_tail is None:
            return None
        tail, session_id = known_tail
        try:
            added = await asyncio.to_thread(self._read_added, tail, path)
            if added is None:
                return None
            live = await self._open.session(session_id)
            if recorded.is_recorded(live.tree, added.imported) or not is_origin(path, live.tree):
                return None  # the whole file is compared with what was recorded, or was in another file

            def has(entry_id: str) -> bool:
                return live.tree.any_row(entry_id) is not None

            new = [entry for entry in added.entries if not has(entry.id)]
            if any(_NUMBERED.fullmatch(entry.id) for entry in added.entries if has(entry.id)):
                return None  # another file of the session may have had this id for another line
            if not fits(new, added.imported.leaf, has):
                return None
            if new:
                imports = await self._exchange.imports()
                origin = t.Origin(kind="foreign")
                await imports.append_followed(live, added.imported, new, path, origin)
        except Draining:
            raise
        except (HubError, StorageFailed, LogReplaced, OSError, RecursionError) as error:
            log.info("%s is read whole: %s", path, error)
            return None
        self._tails[path] = tail, session_id
        return added.status

    def _read_added(self, tail: SourceTail, path: str) -> Added | None:
        """Return what was added to a file; None if it must be read whole, or its folder is excluded now."""
        added = tail.read_added()
        return None if added is None or self._is_excluded(path, added.imported.cwd) else added

    async def begin(self, followed: FollowedAgent, path: str, *, is_read_now: bool = False) -> bool:
        """Continue after the lines that were read of a large file.

        Returns:
            False if the file has a format that is always read whole.
        """
        imports = await self._exchange.imports()

        def begin() -> tuple[bool, SourceTail | None, str]:
            record = imports.records.find([path], None).get(path)
            if record is None or record.session is None or record.skipped is not None:
                return False, None, ""
            if record.importer != IMPORTER:
                return False, None, ""
            format, session_id = record.session.format, record.session.session_id
            if format not in followed.sources.tail_dialects:
                return False, None, ""
            reader = imports.records.reader(path, record)
            if reader is None and not is_read_now:
                return True, None, ""
            return True, followed.sources.tail(path, format, record.state, reader), session_id

        try:
            can_go_on, tail, session_id = await asyncio.to_thread(begin)
        except (OSError, msgspec.DecodeError, zlib.error) as error:
            log.info("%s is read whole: %s", path, error)
            return True
        if tail is not None:
            self._tails[path] = tail, session_id
            while len(self._tails) > MAX_TAILS:
                del self._tails[next(iter(self._tails))]
        return can_go_on
