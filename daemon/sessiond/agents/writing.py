"""The writers of the export formats for programs."""

from collections.abc import Callable
from typing import Final

from sessiond.agents.formats import NativeWriter
from sessiond.agents.table import AGENTS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_go import to_go
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.dialects.to_operator import to_operator

NATIVE_WRITERS: Final[dict[str, NativeWriter]] = {
    agent.name: agent.load_writer() for agent in AGENTS.values() if agent.load_writer is not None
}
"""The writer of each agent's own format, by the agent's name."""

WRITERS: Final[dict[str, Callable[[ExportedSession, ConversionLosses], bytes]]] = {
    "jsonl": to_jsonl, "operator": to_operator, "go": to_go, **NATIVE_WRITERS,
}  # fmt: skip
"""The writer of each format. NOVA's also needs the working state (`to_nova`). Formats for people are in `export`."""
