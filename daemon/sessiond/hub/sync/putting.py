"""Adds lines of another store to a session, or creates the session from them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub import session_info
from sessiond.hub.caller import Caller
from sessiond.hub.errors import IncompatibleParams, TooLarge, refuse_unless_absolute
from sessiond.hub.execution.slices import run_in_slices
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.session.migration import with_cwd
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.sync.positions import Positions
from sessiond.protocol import methods as m, types as t
from sessiond.session.content.prompt_key import prompt_key
from sessiond.session.tree import entries
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import LineSum, comparable, is_json, lines_in
from sessiond.session.union.log_position import LogPosition, position_with
from sessiond.store.base import Store
from sessiond.store.errors import LogExists

_MAX_HEAD_BYTES: Final = 1 << 20
_MAX_REFUSED: Final = 100
_STEP_BYTES: Final = 128 * 1024
REFUSED: Final = "the session has another line with this id"
FORGOTTEN: Final = "the session was forgotten here; `sessiond forget --revoke ID` allows it again"
NO_JSON: Final = "a line that is not JSON is not stored"


@dataclass(frozen=True, slots=True)
class _NewLog:
    """A new session: its header, its lines that are JSON, their number, and the facts that the lines state."""

    header: entries.Header
    lines: bytes
    tree: Tree
    position: LogPosition
    damaged_count: int


class Puts:
    """Adds lines to the sessions of one store."""

    def __init__(
        self, sessions: OpenSessions, files: Store, positions: Positions, forgotten: ForgottenSessions
    ) -> None:
        self._forgotten = forgotten
        self._sessions = sessions
        self._files = files
        self._positions = positions

    async def put(self, params: t.SyncPutParams, caller: Caller) -> t.SyncPutResult:
        """Add lines to a session, or create it.

        Args:
            params: The params of `sync/put`.
            caller: The client that sent them. A new session is announced to all clients.

        Raises:
            IncompatibleParams: The head is invalid.
            TooLarge: There are too many bytes.
            SessionNotFound: There is no such session, and no head.
            SessionTrashed: It is in the trash.
            LogExists: An ephemeral session has this id.
            StorageFailed: The lines could not be written; nothing is stored.
        """
        data = params.lines
        if len(data) > t.MAX_PUT_BYTES and b"\n" in data[:-1]:
            raise TooLarge("the lines", len(data), t.MAX_PUT_BYTES)
        live = self._sessions.cached(params.session_id)
        if live is None and params.head is not None:
            try:
                return await self._create(params, params.head, caller)
            except LogExists:
                pass  # it was created meanwhile
        return await self._add(params, caller.origin())

    async def _add(self, params: t.SyncPutParams, origin: t.Origin) -> t.SyncPutResult:
        lines = await asyncio.to_thread(lines_in, params.lines)
        offered = await asyncio.to_thread(lambda: list(filter(is_json, lines)))
        was_open = self._sessions.cached(params.session_id) is not None
        live = await self._sessions.session(params.session_id)
        if live.ephemeral:
            raise LogExists(live.session_id)
        live.appending_jobs += 1
        try:
            chosen = await live.add_lines(offered, params.superseding or (), params.expected, origin)
        finally:
            live.appending_jobs -= 1
        if not was_open:  # otherwise, thousands of sessions would keep their files open
            await self._sessions.close_unless_in_use(live)
        damaged_count = len(lines) - len(offered)
        refused = [t.RefusedLine(id=name, message=REFUSED) for name in chosen.refused[:_MAX_REFUSED]]
        refused += _damaged(min(damaged_count, _MAX_REFUSED - len(refused)))
        return t.SyncPutResult(
            is_new=False, is_outdated=chosen.is_outdated, added_count=len(chosen.new),
            duplicate_count=chosen.duplicate_count, refused=refused,
            refused_count=len(chosen.refused) + damaged_count,
        )  # fmt: skip

    async def _create(self, params: t.SyncPutParams, head: bytes, caller: Caller) -> t.SyncPutResult:
        new = await _new_log(params, head)
        prompts = [
            new.tree.entry(row, new.lines[slice(*new.tree.span(row))]) for row in new.tree.user_rows(1)
        ]
        key = prompt_key(prompts[0]) if prompts else ""
        if await asyncio.to_thread(self._forgotten.is_forgotten, [new.header.id], None, key):
            return t.SyncPutResult(
                is_new=False, is_outdated=False, added_count=0, duplicate_count=0,
                refused=[t.RefusedLine(id="", message=FORGOTTEN)], refused_count=1,
            )  # fmt: skip
        made = await self._files.add(
            new.header.id,
            cwd=new.header.cwd,
            timestamp=new.header.timestamp,
            lines=new.lines,
            draft=params.is_draft,
        )
        self._positions.added(made, new.position)
        self._sessions.log_moved(made.ref)

        def read(rows: Sequence[int]) -> list[bytes]:
            return [new.tree.entry(row, new.lines[slice(*new.tree.span(row))]) for row in rows]

        session = session_info.session_info(
            new.tree, read, path=made.path, draft=params.is_draft, size=len(new.lines)
        )
        caller.announce(m.CREATED, t.CreatedNote(session=session, origin=caller.origin()))
        return t.SyncPutResult(
            is_new=True,
            is_outdated=False,
            added_count=new.tree.committed - 1,
            duplicate_count=0,
            refused=_damaged(min(new.damaged_count, _MAX_REFUSED)),
            refused_count=new.damaged_count,
        )


def _damaged(count: int) -> list[t.RefusedLine]:
    return [t.RefusedLine(id="", message=NO_JSON)] * count


async def _new_log(params: t.SyncPutParams, head: bytes) -> _NewLog:
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
    return await run_in_slices(_reading(first, params.lines))


def _reading(head: bytes, data: bytes) -> Steps[_NewLog]:
    """Read the lines of a new log once, in steps: for its bytes, its tree and its position."""
    tree, lines = Tree(), LineSum()
    tree.read(head)
    parts, start, damaged_count = [head], 0, 0
    while start < len(data):
        end = data.find(b"\n", start + _STEP_BYTES) + 1 or len(data)
        some = lines_in(data[start:end])
        taken = list(filter(is_json, some))
        damaged_count += len(some) - len(taken)
        lines.add(taken)
        parts.append(b"".join(line + b"\n" for line in taken))
        tree.read(parts[-1])
        start = end
        yield
    tree.finish()
    header = tree.header
    assert header is not None  # the caller has checked the head
    return _NewLog(header, b"".join(parts), tree, position_with(header, tree, lines), damaged_count)
