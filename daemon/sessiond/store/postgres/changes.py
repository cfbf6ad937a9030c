"""Changes of a session other than adding lines: each is one transaction that gives the session another epoch.

Other daemons see the epoch and open the session again. A change that was committed before its answer was lost is
recognized by its epoch, so that it may be sent again.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from sessiond.store.errors import LogMoved
from sessiond.store.postgres.lines import entry_ids, lines_of
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection, DatabaseRequests
from sessiond.store.postgres.session import SharedSession

_PAGE_BYTES: Final = 4 * 1024 * 1024

Alter = Callable[[Connection], Awaitable[None]]


def new_epoch() -> int:
    """Return an epoch that no other daemon chooses."""
    return secrets.randbits(62)


async def insert_lines(connection: Connection, key: int, lines: Sequence[bytes]) -> None:
    """Add lines to a session that has none, in statements of about 4 MiB."""
    ids, start, size = entry_ids(lines), 0, 0
    for end, line in enumerate(lines, 1):
        size += len(line)
        if size >= _PAGE_BYTES or end == len(lines):
            await connection.execute(
                query("insert_lines"), key, start, ids[start:end], list(lines[start:end])
            )
            start, size = end, 0


async def change_lines(
    requests: DatabaseRequests, session: SharedSession, alter: Alter, *, log_id: str | None = None
) -> None:
    """Change lines in the database by `alter`, in a transaction in which no daemon adds lines.

    Raises:
        LogMoved: Other lines came first. Nothing was changed.
        LogReplaced: The session was changed or trashed elsewhere.
        StorageFailed: The server refused the change, or is out of reach.
        OutcomeUnknown: The connection was lost.
    """
    if session.replaced is not None:
        raise session.replaced
    key, epoch, seq, new = session.key, session.epoch, session.mirror.seq, new_epoch()
    log_id = log_id or session.log_id

    async def work(connection: Connection) -> bool:
        row = await connection.fetchrow(query("change_session"), key, epoch, new, log_id)
        if row is None:
            return bool(await connection.fetchval(query("epoch_of"), key) == new)
        if row["seq"] != seq:
            raise LogMoved(session.session_id)
        await alter(connection)
        await connection.execute(query("notify"), key)
        return True

    session.changing = True
    try:
        if not await requests.change(work):
            session.replace()
    finally:
        session.changing = False
    if session.replaced is not None:
        raise session.replaced
    session.epoch, session.log_id = new, log_id


async def rewrite(
    requests: DatabaseRequests,
    owner: str,
    session: SharedSession,
    data: bytes,
    version: int,
    log_id: str | None,
) -> None:
    """Replace all lines; the former ones become remains. The mirror is not changed."""
    lines = lines_of(data)

    async def alter(connection: Connection) -> None:
        ref = await _free_ref(connection, owner, f"{session.session_id}.v{version}.bak")
        remains = await connection.fetchval(query("add_remains"), owner, ref, session.key)
        await connection.execute(query("remains_from_lines"), remains, session.key, 0)
        await connection.execute(query("delete_lines"), session.key, 0)
        await insert_lines(connection, session.key, lines)
        await connection.execute(query("set_extent"), session.key, len(lines), len(data))

    await change_lines(requests, session, alter, log_id=log_id)
    session.mirror.clear()
    session.mirror.add(lines)


async def quarantine(
    requests: DatabaseRequests, owner: str, session: SharedSession, start: int, seq: int
) -> str:
    """Move the lines from a byte on, with which a line begins, to the remains. Return their ref."""
    mirror = session.mirror
    if start and mirror.read(start - 1, start) != b"\n":
        raise ValueError(f"there is no tail at {start}: no line begins there")
    first, tail, chosen = mirror.lines_in(0, start), mirror.read(start, mirror.size), [""]

    async def alter(connection: Connection) -> None:
        chosen[0] = await _free_ref(connection, owner, f"{session.session_id}.torn-{seq}")
        remains = await connection.fetchval(query("add_remains"), owner, chosen[0], session.key)
        await connection.execute(query("remains_part"), remains, 0, tail)
        await connection.execute(query("delete_lines"), session.key, first)
        await connection.execute(query("set_extent"), session.key, first, start)

    await change_lines(requests, session, alter)
    mirror.cut(start, first)
    return chosen[0]


async def overwrite(requests: DatabaseRequests, session: SharedSession, offset: int, new: bytes) -> None:
    """Overwrite bytes inside a line by as many others."""
    mirror = session.mirror
    start = mirror.line_start(offset)
    seq = mirror.lines_in(0, start)
    rest = mirror.read(offset + len(new), mirror.size).split(b"\n", 1)
    raw = mirror.read(start, offset) + new + rest[0] + (b"\n" if len(rest) > 1 else b"")

    async def alter(connection: Connection) -> None:
        await connection.execute(query("replace_line"), session.key, seq, raw)

    await change_lines(requests, session, alter)
    mirror.overwrite(offset, new)


async def complete_tail(requests: DatabaseRequests, session: SharedSession) -> None:
    """Add a newline to the last line."""
    mirror = session.mirror
    raw = mirror.read(mirror.line_start(mirror.size - 1), mirror.size) + b"\n"

    async def alter(connection: Connection) -> None:
        await connection.execute(query("replace_line"), session.key, mirror.seq - 1, raw)
        await connection.execute(query("set_extent"), session.key, mirror.seq, mirror.size + 1)

    await change_lines(requests, session, alter)
    mirror.add_newline()


async def promote(requests: DatabaseRequests, session: SharedSession) -> None:
    """Mark a session as no draft."""

    async def work(connection: Connection) -> None:
        await connection.execute(query("promote"), session.key)
        await connection.execute(query("notify"), session.key)

    await requests.change(work)
    session.set_draft(draft=False)


async def _free_ref(connection: Connection, owner: str, ref: str) -> str:
    taken = {row["ref"] for row in await connection.fetch(query("remains_refs"), owner, ref)}
    name, number = ref, 1
    while name in taken:
        number += 1
        name = f"{ref}.{number}"
    return name
