"""The known dialects, and detection of the dialect of a file."""

from typing import Final

from sessiond.agents.formats import Dialect
from sessiond.agents.table import AGENTS
from sessiond.session.dialects import go, operator, pi4
from sessiond.session.dialects.documents import damaged, value_of
from sessiond.session.dialects.source import FIRST_LINES, first_objects

READERS_VERSION: Final = 15
"""The version of the dialects' readers. Increase it when a reader gives other entries or another report for a file."""
HEAD_BYTES: Final = 1024 * 1024
"""Bytes at the start of a file that are read to detect its dialect."""


DIALECTS: Final[dict[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect(pi4.NAME, "pi, format 4", pi4.detect, pi4.read),
        Dialect(operator.NAME, "operator", operator.detect, operator.read),
        Dialect(go.NAME, "the Go session manager", go.detect, go.read),
        *(agent.load_dialect() for agent in AGENTS.values() if agent.load_dialect is not None),
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
            (
                dialect.name
                for dialect in DIALECTS.values()
                if dialect.detect_document and dialect.detect_document(whole)
            ),
            None,
        )
    if isinstance(whole, list):
        return next(
            (
                dialect.name
                for dialect in DIALECTS.values()
                if dialect.detect_array and dialect.detect_array(whole)
            ),
            None,
        )
    return None
