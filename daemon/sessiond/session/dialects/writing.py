"""The writers of the export formats for programs."""

from collections.abc import Callable
from typing import Final

from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_go import to_go
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.dialects.to_operator import to_operator

WRITERS: Final[dict[str, Callable[[ExportedSession, ConversionLosses], bytes]]] = {
    "jsonl": to_jsonl, "operator": to_operator, "go": to_go,
}  # fmt: skip
"""The writer of each format. NOVA's also needs the working state (`to_nova`). Formats for people are in `export`."""
