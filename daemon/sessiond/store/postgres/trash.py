"""The trash: sessions with a note. Their lines and remains stay where they are."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import msgspec

from sessiond.store.errors import LogExists, LogNotFound
from sessiond.store.postgres.changes import insert_lines, new_epoch
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.reading import TRASH, is_text
from sessiond.store.postgres.requests import Connection, DatabaseRequests
from sessiond.store.records import UNKNOWN, Trashed, TrashNote, TrashPlace


class _Note(msgspec.Struct, rename="camel"):
    reason: str = ""
    by: str = UNKNOWN.by
    session_id: str | None = None
    cwd: str | None = None
    title: str | None = None
    command_id: str | None = None


async def trash(requests: DatabaseRequests, key: int, ref: str, reason: str, about: TrashNote) -> TrashPlace:
    """Move a session to the trash. Raises `LogNotFound`."""
    trash_id, now, note = uuid4().hex, datetime.now(UTC), _encoded(reason, about)

    async def work(connection: Connection) -> bool:
        seq = await connection.fetchval(query("trash"), key, trash_id, now, note)
        if seq is None:
            return bool(await connection.fetchval(query("trashed_as"), key) == trash_id)
        await connection.execute(query("notify"), key)
        return True

    if not await requests.change(work):
        raise LogNotFound(ref)
    return TrashPlace(trash_id, TRASH + trash_id)


async def add(
    requests: DatabaseRequests, owner: str, trashed: Trashed, lines: Sequence[bytes], size: int
) -> None:
    """Add a session with its lines to the trash. Do nothing if the trash has the deletion."""
    log_id, epoch, note = uuid4().hex, new_epoch(), _encoded(trashed.reason, trashed.about)
    trashed_at = datetime.fromisoformat(trashed.trashed_at)

    async def work(connection: Connection) -> None:
        key = await connection.fetchval(
            query("add_trashed"), owner, trashed.session_id, log_id, trashed.draft, epoch, len(lines), size,
            trashed.trash_id, trashed_at, note,
        )  # fmt: skip
        if key is not None:
            await insert_lines(connection, key, lines)

    await requests.change(work)


def _encoded(reason: str, about: TrashNote) -> str:
    note = _Note(reason, about.by, about.session_id, about.cwd, about.title, about.command_id)
    return _storable(msgspec.json.encode(note).decode())


async def list_trash(requests: DatabaseRequests, owner: str) -> Sequence[Trashed]:
    """Return every session in the trash, the most recently trashed first."""
    rows = await requests.read(lambda connection: connection.fetch(query("list_trash"), owner))
    return [_trashed(row) for row in rows]


async def restore(requests: DatabaseRequests, owner: str, ref: str) -> str:
    """Take a session out of the trash. Return its ref. Raises `LogNotFound`, `LogExists`."""
    trash_id = _trash_id(ref)
    restored: list[tuple[int, str]] = []

    async def work(connection: Connection) -> str:
        row = await connection.fetchrow(query("find_trashed"), owner, trash_id)
        if row is None:
            for key, name in restored:  # an earlier try was committed
                if await connection.fetchval(query("epoch_of"), key) is not None:
                    return name
            raise LogNotFound(ref)
        session_id: str = row["id"]
        restored.append((row["key"], session_id))
        try:
            await connection.execute(query("restore"), row["key"])
        except asyncpg.UniqueViolationError:
            raise LogExists(_note(row).session_id or session_id) from None
        await connection.execute(query("notify"), row["key"])
        return session_id

    return await requests.change(work)


async def purge(requests: DatabaseRequests, owner: str, ref: str) -> None:
    """Delete a session in the trash with its lines and remains. Raises `LogNotFound`."""
    trash_id = _trash_id(ref)
    found: list[int] = []

    async def work(connection: Connection) -> None:
        row = await connection.fetchrow(query("find_trashed"), owner, trash_id)
        if row is None:
            if not found:
                raise LogNotFound(ref)
            return  # an earlier try was committed
        found.append(row["key"])
        await connection.execute(query("delete_lines"), row["key"], 0)
        await connection.execute(query("delete_session"), row["key"])

    await requests.change(work)


def _trash_id(ref: str) -> str:
    if not ref.startswith(TRASH) or not is_text(ref):
        raise LogNotFound(ref)
    return ref.removeprefix(TRASH)


def _storable(note: str) -> str:
    """Return the JSON of a note without NUL, which the database does not take in a text."""
    return note.replace("\\u0000", "")


def _note(row: asyncpg.Record) -> _Note:
    return msgspec.json.decode(row["note"], type=_Note)


def _trashed(row: asyncpg.Record) -> Trashed:
    note = _note(row)
    at: datetime = row["trashed_at"]
    about = TrashNote(note.by, note.session_id, note.cwd, note.title, note.command_id)
    return Trashed(
        trash_id=row["trash_id"],
        ref=TRASH + row["trash_id"],
        session_id=about.session_id or row["id"],
        origin=row["id"],
        draft=row["draft"],
        size=row["size"],
        reason=note.reason,
        trashed_at=at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        about=about,
        leftovers=tuple(row["remains"]),
    )
