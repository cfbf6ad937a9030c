"""The interface of summarizers, and their assignments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from sessiond.error_text import TemplatedError
from sessiond.protocol import types as t

ReportProgress: TypeAlias = Callable[[t.Progress], None]
"""Reports progress to the waiting requests."""


class SummaryFailed(TemplatedError):
    """Raised when a summarizer wrote no summary; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """A request for a summary. The fields are those of `SummarizeParams` without the token."""

    session_id: str
    purpose: Literal["compaction", "branch"]
    prompt: str
    entry_ids: Sequence[str]
    models: dict[str, str]
    instructions: str | None


class Summarizer(Protocol):
    """Writes summaries: a connected client, or the configured command."""

    @property
    def name(self) -> str:
        """A name for messages, unique among the summarizers."""

    @property
    def kind(self) -> Literal["client", "command"]:
        """The kind of summarizer, for `summarizedBy`."""

    async def write(self, assignment: Assignment, report_progress: ReportProgress) -> t.SummarizeResult:
        """Write a summary. If this is canceled, the client or command is stopped.

        Raises:
            SummaryFailed: The summarizer wrote no summary.
        """
