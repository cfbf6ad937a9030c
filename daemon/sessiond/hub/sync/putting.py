"""Adds lines of another store to a session, or creates the session from them."""

import asyncio
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sessiond.hub import session_info
from sessiond.hub.errors import IncompatibleParams, TooLarge, refuse_unless_absolute
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import read_into
from sessiond.hub.session.migration import with_cwd
from sessiond.protocol import types as t
from sessiond.session.tree import entries
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import comparable, lines_in
from sessiond.store.base import Store
from sessiond.store.errors import LogExists

_MAX_HEAD_BYTES: Final = 1 << 20
_MAX_REFUSED: Final = 100
REFUSED: Final = "the session has another line with this id"


class PutHost(Protocol):
    """The part of the hub that adding lines calls."""

    async def session(self, session_id: str) -> LiveSession:
        """Open the session with this id."""

    def cached(self, session_id: str) -> LiveSession | None:
        """Return the session with this id if it is open."""

    async def close_unless_in_use(self, live: LiveSession) -> None:
        """Close a session, unless it is in use."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` while the daemon shuts down."""

    def log_moved(self, ref: str) -> None:
        """Update the index and the lineage."""


@dataclass(frozen=True, slots=True)
class _NewLog:
    """A new session: its header, and all its lines."""

    header: entries.Header
    lines: bytes
    tree: Tree


class Puts:
    """Adds lines to the sessions of one store."""

    def __init__(self, sessions: PutHost, files: Store) -> None:
        self._sessions = sessions
        self._files = files

    async def put(
        self, params: t.SyncPutParams, origin: t.Origin, created: Callable[[t.SessionInfo], None]
    ) -> t.SyncPutResult:
        """Add lines to a session, or create it.

        Args:
            params: The params of `sync/put`.
            origin: The client that sent them.
            created: Called with the description of a new session.

        Raises:
            IncompatibleParams: The head, or the base64, is invalid.
            TooLarge: There are too many bytes.
            SessionNotFound: There is no such session, and no head.
            SessionTrashed: It is in the trash.
            LogExists: An ephemeral session has this id.
            StorageFailed: The lines could not be written; nothing is stored.
            Draining: The daemon shuts down.
        """
        self._sessions.refuse_when_draining()
        data = _decoded(params.lines, "lines")
        offered = await asyncio.to_thread(lines_in, data)
        if len(data) > t.MAX_PUT_BYTES and len(offered) > 1:
            raise TooLarge("the lines", len(data), t.MAX_PUT_BYTES)
        live = self._sessions.cached(params.session_id)
        if live is None and params.head is not None:
            try:
                return await self._create(params, _decoded(params.head, "head"), offered, created)
            except LogExists:
                pass  # it was created meanwhile
        return await self._add(params, offered, origin)

    async def _add(
        self, params: t.SyncPutParams, offered: Sequence[bytes], origin: t.Origin
    ) -> t.SyncPutResult:
        was_open = self._sessions.cached(params.session_id) is not None
        live = await self._sessions.session(params.session_id)
        if live.ephemeral:
            raise LogExists(live.session_id)
        live.appending_jobs += 1
        try:
            chosen = await live.add_lines(offered, params.superseding or (), params.expected, origin)
        finally:
            live.appending_jobs -= 1
        if not was_open:  # thousands of sessions would otherwise all keep their files open
            await self._sessions.close_unless_in_use(live)
        refused = [t.RefusedLine(id=name, message=REFUSED) for name in chosen.refused]
        return t.SyncPutResult(
            is_new=False, is_outdated=chosen.is_outdated, added_count=len(chosen.new),
            duplicate_count=chosen.duplicate_count, refused=refused[:_MAX_REFUSED], refused_count=len(refused),
        )  # fmt: skip

    async def _create(
        self, params: t.SyncPutParams, head: bytes, offered: Sequence[bytes],
        created: Callable[[t.SessionInfo], None],
    ) -> t.SyncPutResult:  # fmt: skip
        new = await _new_log(params, head, offered)
        log = await self._files.create(
            new.header.id, cwd=params.cwd or new.header.cwd, timestamp=new.header.timestamp, lines=new.lines,
            draft=params.is_draft,
        )  # fmt: skip
        log_id, path, draft = log.log_id, log.path, log.draft
        await log.close()
        self._sessions.log_moved(log.ref)

        def read(rows: Sequence[int]) -> list[bytes]:
            return [new.tree.entry(row, new.lines[slice(*new.tree.span(row))]) for row in rows]

        created(
            session_info.session_info(
                new.tree, read, path=path, draft=draft, size=len(new.lines), log_id=log_id
            )
        )
        return t.SyncPutResult(
            is_new=True,
            is_outdated=False,
            added_count=len(offered),
            duplicate_count=0,
            refused=[],
            refused_count=0,
        )


async def _new_log(params: t.SyncPutParams, head: bytes, offered: Sequence[bytes]) -> _NewLog:
    """Return the log of a new session. Raises `IncompatibleParams` if its header is invalid."""
    if len(head) > _MAX_HEAD_BYTES:
        raise TooLarge("the head", len(head), _MAX_HEAD_BYTES)
    first = b"".join(comparable(line) + b"\n" for line in head.split(b"\n") if line.strip())
    tree = Tree()
    tree.read(first)
    tree.finish()
    header = tree.header
    if header is None or header.id != params.session_id or tree.committed != 1:
        raise IncompatibleParams("head must be the header of the session")
    if tree.version != entries.CURRENT_VERSION:
        raise IncompatibleParams(f"head must have format version {entries.CURRENT_VERSION}")
    if not entries.valid_session_id(header.id):
        raise IncompatibleParams("the id of the session cannot be the name of a file")
    if params.cwd is not None and params.cwd != header.cwd:
        refuse_unless_absolute(params.cwd, "cwd")
        first = with_cwd(tree, first, params.cwd)
    lines = await asyncio.to_thread(lambda: first + b"".join(line + b"\n" for line in offered))
    whole = Tree()
    await read_into(whole, (lines[at : at + _SLICE] for at in range(0, len(lines), _SLICE)))
    return _NewLog(header, lines, whole)


_SLICE: Final = 128 * 1024


def _decoded(text: str, name: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True) if text else b""
    except (binascii.Error, ValueError):
        raise IncompatibleParams(f"{name} must be base64") from None
