"""The types of a reader and of a writer of an agent's format, which the row of the agent loads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.source import Source
from sessiond.session.dialects.source_reader import NewReader


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect: its name, the program it belongs to (`about`), and the functions that detect and read it.

    `detect` receives the first lines of a file, `detect_document` a file that is one object, and `detect_array` a file
    that is one array. `reader` returns a reader of lines for a format whose files can be read on. `adds_text` tells
    whether its custom messages that are not shown (`codex.developer`) are texts that the agent added, which no other
    agent is told.
    """

    name: str
    about: str
    detect: Callable[[list[dict[str, Any]]], bool]
    read: Callable[[Source], Imported]
    detect_document: Callable[[dict[str, Any]], bool] | None = None
    detect_array: Callable[[list[Any]], bool] | None = None
    reader: NewReader | None = None
    adds_text: bool = True


class NativeWriter(Protocol):
    """Writes the path to the leaf of a session as a session that an agent resumes."""

    def __call__(
        self, whole: ExportedSession, losses: ConversionLosses, target: NativeTarget | None = None, /
    ) -> bytes:
        """Return the contents of the file."""
