"""Describes the files that an agent writes beside a transcript: whole outputs of tools, plans, tasks, copies of files.

The text of a transcript is written by models and tools, so no path in it is opened. It only gives plain names, which
are looked for in the folders of the agent (`FilePlace`).
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

AttachmentKind: TypeAlias = Literal["toolOutput", "plan", "tasks", "fileSnapshot", "image", "file"]
"""The kind of a file beside a transcript: the whole output of a tool, and so on. `file` is any other one."""
PLAIN_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,200}"
"""A regular expression for the name of one file or folder, which leads nowhere else."""
_PLAIN: Final = re.compile(PLAIN_NAME)
_TEMPORARY: Final = ("/tmp", "/var/tmp")
_MAX_FOLDER: Final = 4096


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The place of a file: a folder of the agent, and the names that lead from there to the file.

    Attributes:
        folder: The absolute path of the folder.
        names: The names of the folders below it, and of the file.
    """

    folder: str
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        """The absolute path."""
        return "/".join((self.folder, *self.names))

    @property
    def is_plain(self) -> bool:
        """Whether each name is one of a file or folder, so that the path leads out of no folder."""
        return all(_PLAIN.fullmatch(name) for name in self.names)


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """Files of one session that its transcript does not name.

    Attributes:
        kind: Their kind.
        place: The folder that only this session has; the file, if there is one.
        name: The form of the names in the folder; None if `place` is that of a file.
    """

    kind: AttachmentKind
    place: FilePlace
    name: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class SessionOfFile:
    """The session in a transcript, as far as the place of its files depends on it.

    Attributes:
        path: The path of the source: of a file, or of a session in a database.
        native_id: The id that the agent gave to the session.
        marks: The facts that `AttachmentRules.mark` has found in the transcript.
    """

    path: str
    native_id: str
    marks: frozenset[str] = frozenset()


def _no_files(_session: SessionOfFile) -> Iterable[OwnFiles]:
    return ()


@dataclass(frozen=True, slots=True)
class AttachmentRules:
    """Where an agent writes files beside its transcripts.

    Attributes:
        reference: The form in which the result of a tool names the file with its whole output. None if none does.
        sign: A text that every line with such a name has.
        place: Returns where such a file may be, for the path of the source and the match of `reference`; None if the
            name leads out of the folders of the agent.
        own: Returns the files of a session that its transcript does not name.
        mark: The form of further facts in the lines of a transcript, with the fact as its group; None if `own` needs
            none.
        transcript_of: Returns the path of the transcript to which a file belongs, for a file below the folders of the
            agent; None if the path does not show it.
    """

    reference: re.Pattern[str] | None = None
    sign: bytes = b""
    place: Callable[[str, re.Match[str]], FilePlace | None] = lambda path, found: None
    own: Callable[[SessionOfFile], Iterable[OwnFiles]] = _no_files
    mark: re.Pattern[bytes] | None = None
    transcript_of: Callable[[str], str | None] = lambda path: None


def in_temporary_folder(found: re.Match[str]) -> FilePlace | None:
    """Return the place of a file whose name was found in a text; None if its folder is not one for temporary files."""
    before = found.string[max(0, found.start() - _MAX_FOLDER) : found.start()]
    if not before.endswith("/") or before[:-1].endswith((" ", "\n")):
        return None
    folder = before[:-1].split()[-1:]
    is_one = folder and folder[0] in (*_TEMPORARY, os.environ.get("TMPDIR", "").rstrip("/") or _TEMPORARY[0])
    return FilePlace(folder[0], (found[0],)) if is_one else None
