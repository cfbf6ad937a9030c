"""The known dialects, and detection of the dialect of a file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sessiond.session.dialects import (
    claude,
    cline,
    codex,
    copilot,
    cursor,
    gemini,
    go,
    home,
    nova,
    opencode,
    operator,
    pi4,
    qwen,
)
from sessiond.session.dialects.documents import value_of
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import Source, first_objects

READERS_VERSION: Final = 13
"""The version of what the dialects read. Increase it when a reader gives other entries or another report for a file."""
HEAD_BYTES: Final = 1024 * 1024
"""Bytes at the start of a file that are read to detect its dialect."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect: its name, the program it belongs to (`about`), and the functions that detect and read it.

    `detect` receives the first lines of a file, `detect_document` a file that is one object, and `detect_array` a file
    that is one array.
    """

    name: str
    about: str
    detect: Callable[[list[dict[str, Any]]], bool]
    read: Callable[[Source], Imported]
    detect_document: Callable[[dict[str, Any]], bool] | None = None
    detect_array: Callable[[list[Any]], bool] | None = None


DIALECTS: Final[dict[str, Dialect]] = {
    it.name: it
    for it in (
        Dialect(pi4.NAME, "pi, format 4", pi4.detect, pi4.read),
        Dialect(operator.NAME, "operator", operator.detect, operator.read),
        Dialect(go.NAME, "the Go session manager", go.detect, go.read),
        Dialect(home.NAME, "pi and oh-my-pi", home.detect, home.read),
        Dialect(codex.NAME, "Codex rollouts", codex.detect, codex.read),
        Dialect(copilot.NAME, "Copilot CLI", copilot.detect, copilot.read),
        Dialect(gemini.NAME, "Gemini CLI", gemini.detect, gemini.read, gemini.detect_document),
        Dialect(opencode.NAME, "OpenCode", opencode.detect, opencode.read, opencode.detect_document),
        Dialect(qwen.NAME, "Qwen Code", qwen.detect, qwen.read),
        Dialect(claude.NAME, "Claude Code", claude.detect, claude.read),
        Dialect(cline.NAME, "Cline", cline.detect, cline.read, cline.detect_document, cline.detect_array),
        Dialect(cursor.NAME, "Cursor", cursor.detect, cursor.read),
        Dialect(nova.NAME, "NOVA states", lambda _first: False, nova.read, nova.detect_object),
    )
}
"""In the order of detection: more specific dialects first."""


def detect(head: bytes) -> str | None:
    """Return the dialect of a file with this beginning, or None. A document is detected only if `head` is all of it."""
    first = first_objects(head)
    for dialect in DIALECTS.values():
        if dialect.detect(first):
            return dialect.name
    whole = value_of(head)
    if isinstance(whole, dict):
        return next(
            (it.name for it in DIALECTS.values() if it.detect_document and it.detect_document(whole)), None
        )
    if isinstance(whole, list):
        return next((it.name for it in DIALECTS.values() if it.detect_array and it.detect_array(whole)), None)
    return None
