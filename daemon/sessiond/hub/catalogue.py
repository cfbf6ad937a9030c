"""Listing sessions: facts about every log, kept under its stamp so that only what changed is read again."""

import asyncio
import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.hub.errors import CursorExpired
from sessiond.protocol import types as t
from sessiond.session import info
from sessiond.session.tree import Tree
from sessiond.store.base import LogNotFound, StorageFailed, Store, Stored

_SCANS_PER_HOP: Final = 32
_SMALL: Final = 1024 * 1024
"""Bytes at the start of a log that are held while it is read to be listed, as two of its lines are wanted."""


class _Cursor(msgspec.Struct, array_like=True):
    sort: str
    key: str
    session_id: str


@dataclass(frozen=True, slots=True)
class _Known:
    stamp: tuple[int, ...]
    info: t.SessionInfo | None  # None: the file holds no session


class Catalogue:
    """What is known of the logs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, _Known] = {}

    async def all(self, open_now: Callable[[], dict[str, t.SessionInfo]]) -> list[t.SessionInfo]:
        """Every session, drafts included. `open_now` answers, by ref, for logs that are open here."""
        stored = await self._store.list()
        live = open_now()
        found: list[t.SessionInfo] = []
        unread: list[Stored] = []
        for log in stored:
            current = live.get(log.ref)
            known = self._known.get(log.ref)
            if current is not None:
                found.append(current)
            elif known is not None and known.stamp == log.stamp:
                if known.info is not None:
                    found.append(known.info)
            else:
                unread.append(log)
        for start in range(0, len(unread), _SCANS_PER_HOP):
            some = unread[start : start + _SCANS_PER_HOP]
            for log, session in zip(some, await asyncio.to_thread(self._read_all, some), strict=True):
                self._known[log.ref] = _Known(log.stamp, session)
                if session is not None:
                    found.append(session)
        for gone in self._known.keys() - {log.ref for log in stored}:
            del self._known[gone]
        return found

    def _read_all(self, logs: Iterable[Stored]) -> list[t.SessionInfo | None]:
        return [self._read(log) for log in logs]

    def _read(self, log: Stored) -> t.SessionInfo | None:
        tree = Tree()
        held = b""

        def read(rows: Sequence[int]) -> list[bytes]:
            return [tree.entry(row, cut(*tree.span(row))) for row in rows]

        def cut(start: int, end: int) -> bytes:
            return held[start:end] if end <= len(held) else self._bytes(log.ref, start, end)

        try:
            for data in self._store.scan(log.ref):
                tree.read(data)
                held += data if len(held) < _SMALL else b""
            tree.finish()
            if tree.damaged:
                return None
            return session_info(tree, read, path=log.ref, draft=log.draft, size=log.size)
        except (LogNotFound, StorageFailed):
            return None

    def _bytes(self, ref: str, start: int, end: int) -> bytes:
        """A few bytes of a log that is not open; the log itself may be larger than memory."""
        found = b""
        for data in self._store.scan(ref, start):
            found += data
            if len(found) >= end - start:
                break
        return found[: end - start]


def session_info(
    tree: Tree,
    read: Callable[[Sequence[int]], list[bytes]],
    *,
    path: str | None,
    draft: bool,
    size: int,
    session_id: str | None = None,
    ephemeral: bool = False,
    read_only: bool = False,
) -> t.SessionInfo:
    """What the wire says of a session."""
    facts = info.summarize(tree, read)
    return t.SessionInfo(
        session_id=session_id or (tree.header.id if tree.header is not None else ""),
        path=path, cwd=facts.cwd, title=facts.title,
        tags=list(facts.tags), created_at=facts.created_at, updated_at=facts.updated_at,
        message_count=facts.message_count, entry_count=facts.entry_count, first_prompt=facts.first_prompt,
        leaf_id=tree.leaf_id, seq=max(tree.seq, 0), size_bytes=size, parent_session=facts.parent_session,
        draft=draft and not tree.has_assistant(), ephemeral=ephemeral, read_only=read_only,
        problems=len(tree.problems),
    )  # fmt: skip


def page(sessions: list[t.SessionInfo], params: t.ListParams) -> t.ListResult:
    """The part of `sessions` that was asked for, in order.

    Cursors hold a key, so that a session that is added does not shift a page.
    """
    chosen = [session for session in sessions if _wanted(session, params)]
    descending = params.sort != "title"
    keys = {session.session_id: _key(session, params.sort) for session in chosen}
    chosen.sort(key=lambda session: (keys[session.session_id], session.session_id), reverse=descending)
    if params.cursor is not None:
        after = _decode(params.cursor)
        if after.sort != params.sort:
            raise CursorExpired
        place = (after.key, after.session_id)
        chosen = [
            session
            for session in chosen
            if ((keys[session.session_id], session.session_id) < place) is descending
            and (keys[session.session_id], session.session_id) != place
        ]
    shown = chosen[: params.limit]
    more = None
    if len(chosen) > len(shown):
        last = shown[-1]
        more = _encode(_Cursor(params.sort, keys[last.session_id], last.session_id))
    return t.ListResult(sessions=shown, next_cursor=more)


def _wanted(session: t.SessionInfo, params: t.ListParams) -> bool:
    if session.draft and not params.drafts:
        return False
    if params.cwd is not None and not params.all and session.cwd != params.cwd:
        return False
    if params.tags and not set(params.tags) <= set(session.tags):
        return False
    if params.query:
        text = "\n".join(
            part for part in (session.session_id, session.title, session.first_prompt, session.cwd) if part
        ).casefold()
        return all(word in text for word in params.query.casefold().split())
    return True


def _key(session: t.SessionInfo, sort: str) -> str:
    match sort:
        case "created":
            return session.created_at
        case "title":
            return (session.title or session.first_prompt or "").casefold()
        case _:
            return session.updated_at


def _encode(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decode(text: str) -> _Cursor:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=_Cursor)
    except (ValueError, msgspec.DecodeError):
        raise CursorExpired from None
