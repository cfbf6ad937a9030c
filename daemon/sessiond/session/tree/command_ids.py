"""Commands that can be repeated: the id that a client gives one, and the lines that carry it.

A command is a request that writes and brought a `commandId`. Each line that it writes names the command in the field
`sessiondCommand`, and has an id that follows from the session and the command. So a repeat is found by an id, and
the line and the note that it was written stand or fall together.
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
"""Compactions that are looked at for a command which the summary of another one has answered."""
_DIGITS: Final = 16


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A request that brought a `commandId`.

    `digest` tells its method and params from others. `session_id` is the session that it is addressed to. `answer`
    is what its line shall note for the answer to a repeat.
    """

    id: str
    method: str
    digest: str
    session_id: str = ""
    answer: dict[str, Any] = {}
    joined: tuple[JoinedCommand, ...] = ()

    def of_line(self, former_leaf: str | None) -> CommandMark:
        """What a line of this command says; `former_leaf` is the session's leaf before it."""
        answer = {**self.answer, "previousLeafId": former_leaf}
        return msgspec.structs.replace(self.of_header(), answer=answer, joined=list(self.joined))

    def of_header(self) -> CommandMark:
        """What the header of a session says that this command has made."""
        return CommandMark(id=self.id, method=self.method, digest=self.digest)


class Recorded(msgspec.Struct, frozen=True):
    """What the command with some id has written: the ids of its lines in log order, and what the first says of it.

    `digest` is that of the request; another one means that the id was used for something else.
    """

    ids: list[str]
    mark: CommandMark
    digest: str


def digest_of(method: str, params: bytes) -> str:
    """The digest of a request: its method, and its params as JSON without the `commandId`.

    Params that say the same in other words (white space, the order of members) have the same digest.
    """
    same = msgspec.json.encode(msgspec.json.decode(params), order="sorted")
    return hashlib.sha256(method.encode() + b"\0" + same).hexdigest()[:_DIGITS]


def session_id_of(command_id: str) -> str:
    """The id of the session that a command makes when it names none: a UUID that follows from the command."""
    digits = hashlib.sha256(b"session\0" + command_id.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def new_id(tree: Tree, command: CommandRecord, place: int, taken: Container[str]) -> str:
    """The id of the line that is `place`-th of a command and not in the tree yet; 8 hexadecimal digits."""
    return next(it for it in _ids(command, place) if it not in taken and tree.any_row(it) is None)


def find(tree: Tree, command: CommandRecord, read: Callable[[int], bytes]) -> Recorded | None:
    """What a command has written to this session, pending rows included; None when it has written nothing."""
    ids: list[str] = []
    first: CommandMark | None = None
    while (found := _line(tree, command, len(ids), read)) is not None:
        ids.append(found[0])
        first = first or found[1]
    if first is None:
        return _joined(tree, command, read) if command.method == "session/compact" else None
    return Recorded(ids, first, first.digest)


def mark_of(line: bytes) -> CommandMark | None:
    """The command that a line names, if any."""
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
    """The compaction of another command that answered this one, too."""
    for row in tree.newest_of_kind(_COMPACTION, _MAX_COMPACTIONS):
        mark = mark_of(read(row))
        for it in () if mark is None else mark.joined:
            if mark is not None and it.id == command.id and _wrote(tree, row, mark, command.session_id):
                return Recorded([tree.id(row) or ""], mark, it.digest)
    return None


def _wrote(tree: Tree, row: int, mark: CommandMark, session_id: str) -> bool:
    """Whether the command that a line names wrote it in this session: the line may be a copy of another one's."""
    command = CommandRecord(id=mark.id, method=mark.method, digest=mark.digest, session_id=session_id)
    ids = takewhile(lambda it: tree.any_row(it) is not None, _ids(command, 0))
    return any(it == tree.id(row) for it in ids)


def _ids(command: CommandRecord, place: int) -> Iterator[str]:
    """The ids that the line which is `place`-th of a command may have, the first that is free before the others."""
    attempt = 0
    while True:
        text = f"{command.session_id}\0{command.id}\0{place}\0{attempt}"
        yield hashlib.sha256(text.encode()).hexdigest()[:8]
        attempt += 1


class _Head(msgspec.Struct, rename="camel"):
    sessiond_command: CommandMark | None = None


_head = msgspec.json.Decoder(_Head)
