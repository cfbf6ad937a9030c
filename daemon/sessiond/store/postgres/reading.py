"""Reads logs that are not open, and remains, in pages of whole lines, on any thread, which waits for the server."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from sessiond.store.errors import LogNotFound
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection, DatabaseRequests
from sessiond.store.postgres.session import page_lines

SLICE: Final = 64 * 1024
TRASH: Final = "trash/"


class LinesPlace(NamedTuple):
    """The place of the lines of a ref: the statement that reads them, and the key in it."""

    statement: str
    key: int
    lines: int
    size: int


def is_text(ref: str) -> bool:
    """Return whether the database can hold a ref. A NUL and half of a surrogate pair it cannot."""
    try:
        ref.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in ref


async def find(connection: Connection, owner: str, ref: str) -> LinesPlace | None:
    """Return the place of a session, of one in the trash, or of remains; None if there is none."""
    if not is_text(ref):
        return None
    trash_id = ref.removeprefix(TRASH) if ref.startswith(TRASH) else None
    row = await connection.fetchrow(query("find_any"), owner, ref, trash_id)
    if row is not None:
        return LinesPlace(query("raw_lines"), row["key"], row["seq"], row["size"])
    key = await connection.fetchval(query("find_remains"), owner, ref)
    return None if key is None else LinesPlace(query("raw_remains"), key, 0, 0)


def scan(requests: DatabaseRequests, owner: str, ref: str, start: int) -> Iterator[bytes]:
    """Yield the bytes of a ref from `start` in slices of at most 64 KiB. Raises `LogNotFound` at the first slice."""
    place = requests.wait_for(lambda connection: find(connection, owner, ref))
    if place is None:
        raise LogNotFound(ref)
    count = page_lines(place.lines, place.size) if place.lines else 500
    seq, skip = 0, start
    if start and place.lines:
        found = requests.wait_for(lambda connection: connection.fetchrow(query("line_at"), place.key, start))
        if found is not None:
            seq, skip = found["seq"], start - found["before"]
    while True:
        first = seq
        rows = requests.wait_for(
            lambda connection, first=first: connection.fetch(place.statement, place.key, first, count)  # type: ignore[misc]
        )
        if not rows:
            return
        data = b"".join([row["raw"] for row in rows])
        yield from (data[at : at + SLICE] for at in range(skip, len(data), SLICE))
        skip = max(0, skip - len(data))
        seq = rows[-1]["seq"] + 1


def read_ends(requests: DatabaseRequests, owner: str, ref: str, first: int, last: int) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a session. Raises `LogNotFound`."""

    async def work(connection: Connection) -> tuple[bytes, bytes] | None:
        place = await find(connection, owner, ref)
        if place is None:
            return None
        head = tail = b""
        count, seq = page_lines(place.lines, place.size), 0
        while len(head) < first:
            rows = await connection.fetch(query("raw_lines"), place.key, seq, min(count, 50))
            if not rows:
                break
            head += b"".join([row["raw"] for row in rows])
            seq = rows[-1]["seq"] + 1
        seq = place.lines
        while len(tail) < last:
            rows = await connection.fetch(query("raw_lines_back"), place.key, seq, min(count, 50))
            if not rows:
                break
            tail = b"".join([row["raw"] for row in reversed(rows)]) + tail
            seq = rows[-1]["seq"]
        return head[:first], tail[max(0, len(tail) - last) :]

    found = requests.wait_for(work)
    if found is None:
        raise LogNotFound(ref)
    return found
