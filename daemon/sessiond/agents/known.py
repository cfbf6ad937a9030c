"""The known dialects, and detection of the dialect of a file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sessiond.agents.claude_code import reader as claude
from sessiond.agents.cline import reader as cline
from sessiond.agents.codex import reader as codex
from sessiond.agents.copilot import reader as copilot
from sessiond.agents.cursor import reader as cursor
from sessiond.agents.gemini import reader as gemini
from sessiond.agents.nova import reader as nova
from sessiond.agents.opencode import reader as opencode
from sessiond.agents.pi import reader as home
from sessiond.agents.qwen import reader as qwen
from sessiond.session.dialects import go, operator, pi4
from sessiond.session.dialects.documents import damaged, value_of
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import FIRST_LINES, Source, first_objects
from sessiond.session.dialects.source_reader import NewReader

READERS_VERSION: Final = 14
"""The version of what the dialects read. Increase it when a reader gives other entries or another report for a file."""
HEAD_BYTES: Final = 1024 * 1024
"""Bytes at the start of a file that are read to detect its dialect."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect: its name, the program it belongs to (`about`), and the functions that detect and read it.

    `detect` receives the first lines of a file, `detect_document` a file that is one object, and `detect_array` a file
    that is one array. `reader` returns a reader of lines for a format whose files can be read on.
    """

    name: str
    about: str
    detect: Callable[[list[dict[str, Any]]], bool]
    read: Callable[[Source], Imported]
    detect_document: Callable[[dict[str, Any]], bool] | None = None
    detect_array: Callable[[list[Any]], bool] | None = None
    reader: NewReader | None = None


DIALECTS: Final[dict[str, Dialect]] = {
    it.name: it
    for it in (
        Dialect(pi4.NAME, "pi, format 4", pi4.detect, pi4.read),
        Dialect(operator.NAME, "operator", operator.detect, operator.read),
        Dialect(go.NAME, "the Go session manager", go.detect, go.read),
        Dialect(home.NAME, "pi and oh-my-pi", home.detect, home.read, reader=home.PiReader),
        Dialect(codex.NAME, "Codex rollouts", codex.detect, codex.read, reader=codex.CodexReader),
        Dialect(copilot.NAME, "Copilot CLI", copilot.detect, copilot.read),
        Dialect(gemini.NAME, "Gemini CLI", gemini.detect, gemini.read, gemini.detect_document),
        Dialect(opencode.NAME, "OpenCode", opencode.detect, opencode.read, opencode.detect_document),
        Dialect(qwen.NAME, "Qwen Code", qwen.detect, qwen.read),
        Dialect(claude.NAME, "Claude Code", claude.detect, claude.read, reader=claude.ClaudeReader),
        Dialect(cline.NAME, "Cline", cline.detect, cline.read, cline.detect_document, cline.detect_array),
        Dialect(cursor.NAME, "Cursor", cursor.detect, cursor.read),
        Dialect(nova.NAME, "NOVA states", lambda _first: False, nova.read, nova.detect_object),
    )
}
"""No file is detected as two dialects, so their order does not matter."""


def detect(head: bytes) -> str | None:
    """Return the dialect of a file with this beginning, or None. A document is detected only if `head` is all of it."""
    first = first_objects(head)
    for dialect in DIALECTS.values():
        if dialect.detect(first):
            return dialect.name
    return _of_value(value_of(head))


def detect_whole(data: bytes) -> str | None:
    """Return the dialect of a whole file, which may be a damaged document, or None."""
    found = detect(data[:HEAD_BYTES])
    if found is None and len(data) > HEAD_BYTES:  # it is one document, or its first line is long
        found = detect(data)
    return found or _of_value(damaged(data, FIRST_LINES)[0])


def _of_value(whole: object) -> str | None:
    if isinstance(whole, dict):
        return next(
            (it.name for it in DIALECTS.values() if it.detect_document and it.detect_document(whole)), None
        )
    if isinstance(whole, list):
        return next((it.name for it in DIALECTS.values() if it.detect_array and it.detect_array(whole)), None)
    return None
