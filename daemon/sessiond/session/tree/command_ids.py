"""Idempotent commands: the command id that a client sends, and the lines that carry it.

A command is a write request with a `commandId`. Each line that it writes names the command in the field
`sessiondCommand`. The line's id is derived from the session and the command, so a repeated command is found by an id.
The line and the record that it was written are stored together or not at all.
"""

import hashlib
from collections.abc import Callable, Container, Iterator
from itertools import takewhile
from typing import Any, Final

import msgspec

from sessiond.session.tree import payloads
from sessiond.session.tree.entries import COMMAND_FIELD, CommandMark, JoinedCommand
from sessiond.session.tree.tree import KIND, Tree

_COMPACTION: Final = KIND["compaction"]
_MAX_COMPACTIONS: Final = 100
"""Limit of the compactions that are searched for a command which another command's summary answered."""
_DIGITS: Final = 16


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A request with a `commandId`.

    Attributes:
        id: The `commandId`.
        method: The method of the request.
        digest: Identifies the method and the params; see `digest_of`.
        session_id: The session that the request names.
        answer: The data in the line for the response to a repeated command.
        joined: Commands that the same line answers.

    """

    id: str
    method: str
    digest: str
    session_id: str = ""
    answer: dict[str, Any] = {}
    joined: tuple[JoinedCommand, ...] = ()

    def of_line(self, former_leaf: str | None) -> CommandMark:
        """Return the mark for a line of this command.

        Args:
            former_leaf: The session's leaf before the line.

        """
        answer = {**self.answer, "previousLeafId": former_leaf}
        return msgspec.structs.replace(self.of_header(), answer=answer, joined=list(self.joined))

    def of_header(self) -> CommandMark:
        """Return the mark for the header of a session that this command creates."""
        return CommandMark(id=self.id, method=self.method, digest=self.digest)


class Recorded(msgspec.Struct, frozen=True):
    """The lines that a command has written to a session.

    Attributes:
        ids: The ids of its lines, in log order.
        mark: The mark in the first of these lines.
        digest: The digest of the request. If a repeated command has another digest, its id was reused for another
            request.

    """

    ids: list[str]
    mark: CommandMark
    digest: str


def digest_of(method: str, params: bytes) -> str:
    """Return the digest of a request.

    White space and the order of members in the params do not change the digest.

    Args:
        method: The method of the request.
        params: The params as JSON, without the `commandId`.

    """
    same = msgspec.json.encode(msgspec.json.decode(params), order="sorted")
    return hashlib.sha256(method.encode() + b"\0" + same).hexdigest()[:_DIGITS]


def session_id_of(command_id: str) -> str:
    """Return the id of the session that a command creates if it names none: a UUID derived from the command's id."""
    digits = hashlib.sha256(b"session\0" + command_id.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def new_id(tree: Tree, command: CommandRecord, place: int, taken: Container[str]) -> str:
    """Return the id for the next line of a command, 8 hexadecimal digits, which is not in the tree.

    Args:
        tree: The tree of the session.
        command: The command that writes the line.
        place: The index of the line among the lines of the command.
        taken: Ids that other new lines use.

    """
    return next(
        candidate
        for candidate in _ids(command, place)
        if candidate not in taken and tree.any_row(candidate) is None
    )


def find(tree: Tree, command: CommandRecord, read: Callable[[int], bytes]) -> Recorded | None:
    """Return the lines that a command has written to this session, pending rows included; None if there are none.

    Args:
        tree: The tree of the session.
        command: The command to find.
        read: Returns the line of a row.

    """
    ids: list[str] = []
    first: CommandMark | None = None
    while (found := _line(tree, command, len(ids), read)) is not None:
        ids.append(found[0])
        first = first or found[1]
    if first is None:
        return _joined(tree, command, read) if command.method == "session/compact" else None
    return Recorded(ids, first, first.digest)


def mark_of(line: bytes) -> CommandMark | None:
    """Return the mark of the command that wrote a line, or None if the line has no mark."""
    if line.find(COMMAND_FIELD.encode()) < 0:
        return None
    head = payloads.part(_head, line)
    return None if head is None else head.sessiond_command


def _line(
    tree: Tree, command: CommandRecord, place: int, read: Callable[[int], bytes]
) -> tuple[str, CommandMark] | None:
    for entry_id in _ids(command, place):
        row = tree.any_row(entry_id)
        if row is None:
            return None
        mark = mark_of(read(row))
        if mark is not None and mark.id == command.id:
            return entry_id, mark
    return None


def _joined(tree: Tree, command: CommandRecord, read: Callable[[int], bytes]) -> Recorded | None:
    """Return the compaction of another command that also answered this one."""
    for row in tree.newest_of_kind(_COMPACTION, _MAX_COMPACTIONS):
        mark = mark_of(read(row))
        for joined in () if mark is None else mark.joined:
            if mark is not None and joined.id == command.id and _wrote(tree, row, mark, command.session_id):
                return Recorded([tree.id(row) or ""], mark, joined.digest)
    return None


def _wrote(tree: Tree, row: int, mark: CommandMark, session_id: str) -> bool:
    """Whether the marked command wrote this line in this session; the line may be a copy from another session."""
    command = CommandRecord(id=mark.id, method=mark.method, digest=mark.digest, session_id=session_id)
    ids = takewhile(lambda entry_id: tree.any_row(entry_id) is not None, _ids(command, 0))
    return any(entry_id == tree.id(row) for entry_id in ids)


def _ids(command: CommandRecord, place: int) -> Iterator[str]:
    """Yield the candidate ids for the line of a command at an index; the first free one is used."""
    attempt = 0
    while True:
        text = f"{command.session_id}\0{command.id}\0{place}\0{attempt}"
        yield hashlib.sha256(text.encode()).hexdigest()[:8]
        attempt += 1


class _Head(msgspec.Struct, rename="camel"):
    sessiond_command: CommandMark | None = None


_head = msgspec.json.Decoder(_Head)
