"""What a summarizer is to the hub: somebody who is given an assignment and writes a summary, or says why not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from sessiond.error_text import TemplatedError
from sessiond.protocol import types as t

Tell: TypeAlias = Callable[[t.Progress], None]
"""Takes a step of the work, for whoever waits."""


class Unwritten(TemplatedError):
    """Raised when a summarizer wrote no summary; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """What is to be summarized; as `SummarizeParams`, without the token."""

    session_id: str
    purpose: Literal["compaction", "branch"]
    prompt: str
    entry_ids: Sequence[str]
    models: dict[str, str]
    instructions: str | None


class Summarizer(Protocol):
    """Somebody who writes summaries."""

    @property
    def name(self) -> str:
        """What people call it; different for each."""

    @property
    def kind(self) -> Literal["client", "command"]:
        """What is told of who wrote a summary."""

    async def write(self, assignment: Assignment, tell: Tell) -> t.SummarizeResult:
        """Write one. Raises `Unwritten`; when cancelled, whoever writes is told to stop."""
