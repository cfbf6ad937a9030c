"""The types of the readers and writers that the row of an agent loads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.native_ids import NativeTarget, uuid
from sessiond.session.dialects.native_turns import written
from sessiond.session.dialects.source import Source
from sessiond.session.dialects.source_reader import NewReader


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect: its name, the program it belongs to (`about`), and the functions that detect and read it.

    `detect` receives the first lines of a file, `detect_document` a file that is one object, and `detect_array` a file
    that is one array. `reader` returns a reader of lines for a format whose files can be read on, and `message_reader`
    one of the messages of a session in a database (`SessionDatabase.messages`). `adds_text` tells whether its custom
    messages that are not shown (`codex.developer`) are texts that the agent added, which no other agent is told.
    """

    name: str
    about: str
    detect: Callable[[list[dict[str, Any]]], bool]
    read: Callable[[Source], Imported]
    detect_document: Callable[[dict[str, Any]], bool] | None = None
    detect_array: Callable[[list[Any]], bool] | None = None
    reader: NewReader | None = None
    message_reader: NewReader | None = None
    adds_text: bool = True


class ForkedHistory(Protocol):
    """Finds the lines with which a fork begins, if the fork does not repeat them. All methods block."""

    def inherited(self, path: str, data: bytes, read: Callable[[str], bytes | None], /) -> bytes:
        """Return the lines that come before those of a file, oldest first.

        Args:
            path: The file.
            data: Its content.
            read: Returns the content of another file; None if it cannot be read.
        """

    def files_of(self, path: str, session_id: str, /) -> Iterator[str]:
        """Yield the paths of the files of a session of the agent that a fork at `path` names."""

    def inherited_size(self, path: str, /) -> int:
        """Return about how many bytes come before those of a file; 0 for another file, and for one that is gone."""


@dataclass(frozen=True, slots=True)
class NativeWriter:
    """Writes the path to the leaf of a session as a session that an agent resumes.

    `agent` is the name of the agent. `lines` returns the lines of the file, for the session whose leaf ends the path,
    for what receives the losses, and for the native session. `session_id` returns the id of that session, for the time
    when it began, in milliseconds since 1970, and for the text from which it derives.
    """

    agent: str
    lines: Callable[[ExportedSession, ConversionLosses, NativeTarget], Sequence[object]]
    session_id: Callable[[int, str], str] = lambda _time_ms, seed: uuid(seed)

    def __call__(
        self, whole: ExportedSession, losses: ConversionLosses, target: NativeTarget | None = None
    ) -> bytes:
        """Return the contents of the file. Without `target`, they are those of an export."""
        return written(self.lines(whole, losses, target or self.target(whole)))

    def target(
        self,
        whole: ExportedSession,
        *,
        generation: int = 0,
        model: str | None = None,
        version: str | None = None,
    ) -> NativeTarget:
        """Return the native session for the path to the leaf of a session.

        Args:
            whole: The session.
            generation: The number of native sessions of this path that the agent has continued. Each gives another id.
            model: See `NativeTarget`.
            version: See `NativeTarget`.
        """
        seed = "\0".join((self.agent, whole.session_id, whole.leaf or "", str(generation)))
        started = fields.milliseconds(whole.timestamp) or 0
        return NativeTarget(self.session_id(started, seed), seed, model, version)
