"""Cuts bytes into lines, and reads their entry ids. The database refuses a second line with the same id."""

from collections.abc import Iterator, Sequence

import msgspec


class _Identified(msgspec.Struct):
    type: str = ""
    id: str | None = None


_decode = msgspec.json.Decoder(_Identified).decode


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of some bytes, each with its newline. The last one may have none."""
    return list(_cut(data))


def _cut(data: bytes) -> Iterator[bytes]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1
    if start < len(data):
        yield data[start:]


def entry_ids(lines: Sequence[bytes]) -> list[str | None]:
    """Return the id of each line: None for a header, an unreadable line, and one whose id a later line repeats."""
    ids = [_entry_id(line) for line in lines]
    seen: set[str] = set()
    for number in range(len(ids) - 1, -1, -1):
        name = ids[number]
        if name is not None and name in seen:
            ids[number] = None
        elif name is not None:
            seen.add(name)
    return ids


def _entry_id(line: bytes) -> str | None:
    try:
        found = _decode(line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None
    if found.type == "session" or found.id is None or "\0" in found.id or len(found.id) > 256:
        return None
    return found.id
