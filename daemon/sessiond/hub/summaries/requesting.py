"""Requests summaries: selects the summarizers, in order, and checks their results.

The order is: the client that made the request, clients that have the session open, other clients, the configured
command. If a summarizer disconnects, fails, times out or returns an empty summary, the next one receives the request.
"""

import asyncio
import logging
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec

from sessiond.config import SummarizerConfig
from sessiond.hub.errors import NoSummarizer, SummarizerFailed
from sessiond.hub.summaries.external_command import SummarizerCommand
from sessiond.hub.summaries.summarizer import Assignment, ReportProgress, Summarizer, SummaryFailed
from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 1_000_000
"""Limit of a summary. A longer one is rejected."""
MAX_PROMPT_BYTES: Final = 16 * 1024 * 1024
"""Limit of a prompt, in characters. No model accepts more, and a client's connection might not."""


@dataclass(frozen=True, slots=True)
class AttributedSummary:
    """A summary, and the kind of summarizer that wrote it."""

    result: t.SummarizeResult
    by: t.SummarizedBy


class Directory(Protocol):
    """Lists the clients that can write summaries."""

    def summarizers(self, live: "LiveSession", requester_id: str | None) -> Iterator[Summarizer]:
        """Return the clients that declared `summarize`, in the order in which they receive the request.

        Args:
            live: The session.
            requester_id: The id of the client that made the request, if any.
        """


class _NoClients:
    """The directory of a hub without a server: it has no clients."""

    def summarizers(self, live: "LiveSession", requester_id: str | None) -> Iterator[Summarizer]:
        return iter(())


class Summarizers:
    """All summarizers: the connected clients and the configured command."""

    def __init__(self, config: SummarizerConfig) -> None:
        self.directory: Directory = _NoClients()
        self.configure(config)

    def configure(self, config: SummarizerConfig) -> None:
        """Apply a changed configuration. It does not affect a summarizer that is already writing."""
        self._command = SummarizerCommand(config.command) if config.command else None
        self._timeout = config.timeout

    def first(
        self, live: "LiveSession", requester_id: str | None = None
    ) -> Literal["client", "command"] | None:
        """Return the kind of the summarizer that would receive the request first; None if there is none."""
        return next((summarizer.kind for summarizer in self._all(live, requester_id)), None)

    async def write(
        self,
        assignment: Assignment,
        live: "LiveSession",
        requester_id: str | None,
        report_progress: ReportProgress,
    ) -> AttributedSummary:
        """Request a summary from one summarizer after the other, until one succeeds.

        Args:
            assignment: The request for a summary.
            live: The session.
            requester_id: The id of the client that made the request, if any.
            report_progress: Receives progress.

        Raises:
            NoSummarizer: There is none.
            SummarizerFailed: All failed, with the reason of the last one; or the prompt is too long.
        """
        size = len(assignment.prompt)
        if size > MAX_PROMPT_BYTES:
            raise SummarizerFailed(f"the prompt has {size:,} characters, more than {MAX_PROMPT_BYTES:,}")
        tried: set[str] = set()
        reason: str | None = None
        # The list is read again after each failure: clients connect and disconnect.
        while (summarizer := self._next(live, requester_id, tried)) is not None:
            tried.add(summarizer.name)
            report_progress(t.Progress(kind="report", message=f"{summarizer.name} writes a summary"))
            try:
                async with asyncio.timeout(self._timeout):
                    result = await summarizer.write(assignment, report_progress)
                    return AttributedSummary(_validated(result), summarizer.kind)
            except TimeoutError:
                reason = f"{summarizer.name} took longer than {self._timeout:.0f} seconds"
            except SummaryFailed as error:
                reason = f"{summarizer.name}: {error}"
            log.warning("no summary of session %s from %s", assignment.session_id, summarizer.name)
        if reason is None:
            raise NoSummarizer
        raise SummarizerFailed(reason)

    def _next(
        self, live: "LiveSession", requester_id: str | None, tried: Container[str]
    ) -> Summarizer | None:
        """Return the first summarizer whose name is not in `tried`, or None."""
        return next(
            (summarizer for summarizer in self._all(live, requester_id) if summarizer.name not in tried), None
        )

    def _all(self, live: "LiveSession", requester_id: str | None) -> Iterator[Summarizer]:
        yield from self.directory.summarizers(live, requester_id)
        if self._command is not None:
            yield self._command


def _validated(result: t.SummarizeResult) -> t.SummarizeResult:
    summary = result.summary.strip()
    if not summary:
        raise SummaryFailed("the summary is empty")
    if len(summary) > MAX_CHARACTERS:
        raise SummaryFailed(f"the summary has {len(summary):,} characters, more than {MAX_CHARACTERS:,}")
    return msgspec.structs.replace(result, summary=summary)
