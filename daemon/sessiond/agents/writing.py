"""The writers of the export formats for programs."""

from collections.abc import Callable
from typing import Final, Protocol

from sessiond.agents.claude_code.writer import to_claude_code
from sessiond.agents.codex.writer import to_codex
from sessiond.agents.gemini.writer import to_gemini
from sessiond.agents.opencode.writer import to_opencode
from sessiond.agents.pi.writer import to_oh_my_pi, to_pi
from sessiond.agents.qwen.writer import to_qwen
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.to_go import to_go
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.dialects.to_operator import to_operator


class NativeWriter(Protocol):
    """Writes the path to the leaf of a session as a session that an agent resumes."""

    def __call__(
        self, whole: ExportedSession, losses: ConversionLosses, target: NativeTarget | None = None, /
    ) -> bytes:
        """Return the contents of the file."""


NATIVE_WRITERS: Final[dict[str, NativeWriter]] = {
    "claude-code": to_claude_code, "codex": to_codex, "gemini": to_gemini, "opencode": to_opencode,
    "qwen": to_qwen, "pi": to_pi, "oh-my-pi": to_oh_my_pi,
}  # fmt: skip
"""The writer of each agent's own format, by the agent's name."""

WRITERS: Final[dict[str, Callable[[ExportedSession, ConversionLosses], bytes]]] = {
    "jsonl": to_jsonl, "operator": to_operator, "go": to_go, **NATIVE_WRITERS,
}  # fmt: skip
"""The writer of each format. NOVA's also needs the working state (`to_nova`). Formats for people are in `export`."""
