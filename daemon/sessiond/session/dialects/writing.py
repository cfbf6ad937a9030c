"""The formats a session goes out in, and whether each takes the whole tree or one path."""

from collections.abc import Callable
from typing import Final

from sessiond.session.dialects.exported import ConversionLosses, Whole
from sessiond.session.dialects.to_go import to_go
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.dialects.to_operator import to_operator

WRITERS: Final[dict[str, Callable[[Whole, ConversionLosses], bytes]]] = {
    "jsonl": to_jsonl, "operator": to_operator, "go": to_go,
}  # fmt: skip
"""What writes each format; NOVA's needs the working state beside it (`to_nova`); what people read is of `export`."""
