"""Writes the title of a session in place, where oh-my-pi reads it: in its title slot, or else in the header.

pi reads the title from the last `session_info` entry. Headers that the daemon writes end in spaces, so that a title
can be written there later without moving any other byte. The title never crosses a sector of the disk, so a power cut
leaves either the former title or the new one (decision 0013).
"""

import re
from typing import Final, NamedTuple

import msgspec

from sessiond.session.tree import lines

TITLE_SPACE: Final = 256
"""Bytes at the end of a header that are reserved for a title."""
SECTOR: Final = 512
"""Size of a disk sector in bytes."""
SLOT_BYTES: Final = 256
"""Size of oh-my-pi's title slot in bytes, including its newline (decision 0013)."""

_END_OF_HEADER: Final = re.compile(rb'(,"title":"(?:[^"\\]|\\.)*")?\} *\Z')


_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class TitleChange(NamedTuple):
    """Bytes to overwrite in place: `former` is at byte `offset` of the log and has the length of `new`."""

    offset: int
    former: bytes
    new: bytes


def with_title_space(header: bytes) -> bytes:
    """Return a header line, without its newline, whose title is its last member and has spaces after it.

    The other members are unchanged. A header that is not valid JSON is returned unchanged.
    """
    try:
        members = _members.decode(header)
    except msgspec.DecodeError:
        return header
    title = members.pop("title", None)
    fields = msgspec.json.encode(members)[:-1]
    end = b"}" if title is None else b',"title":' + bytes(title) + b"}"
    space = max(TITLE_SPACE, len(end))
    if space <= SECTOR and len(fields) % SECTOR + space > SECTOR:
        fields += b" " * (SECTOR - len(fields) % SECTOR)
    return fields + end.ljust(space)


def title_change(first_lines: bytes, title: str | None, updated_at: str) -> TitleChange | None:
    """Return the bytes to overwrite so that oh-my-pi reads another title.

    A title that is too long is truncated at a character.

    Args:
        first_lines: The beginning of the log, with at least its title slot and header.
        title: The new title; None removes it.
        updated_at: The time of the change as ISO 8601, for the title slot.

    Returns:
        The change, or None if there is no space for a title or nothing to change.

    """
    end = first_lines.find(b"\n")
    if end < 0:
        return None
    try:
        first = lines.loads(first_lines[:end])
    except lines.NotAnEntry:
        return None
    if first.get("type") == "title":
        return _in_slot(first, first_lines[: end + 1], title or "", updated_at)
    if first.get("type") != "session":
        return None
    return _in_header(first_lines[:end], title or "")


def _in_slot(slot: dict[str, object], line: bytes, title: str, updated_at: str) -> TitleChange | None:
    if len(line) != SLOT_BYTES or slot.get("v") != 1 or slot.get("title") == title:
        return None
    fields = {"type": "title", "v": 1, "title": title, "source": "user", "updatedAt": updated_at}
    for length in range(len(title), -1, -1):
        unpadded = lines.dumps({**fields, "title": title[:length], "pad": ""})
        pad = SLOT_BYTES - 1 - len(unpadded)
        if pad >= 0:
            new = lines.dumps({**fields, "title": title[:length], "pad": " " * pad}) + b"\n"
            return None if new == line else TitleChange(0, line, new)
    return None


def _in_header(line: bytes, title: str) -> TitleChange | None:
    match = _END_OF_HEADER.search(line)
    if match is None:
        return None
    former = match.group()
    for length in range(len(title), -1, -1):
        field = b',"title":' + msgspec.json.encode(lines.valid_text(title[:length])) if length else b""
        if len(field) + 1 <= len(former):
            break
    else:
        return None
    if title and not length:
        return None
    new = (field + b"}").ljust(len(former))
    return None if new == former else TitleChange(match.start(), former, new)
