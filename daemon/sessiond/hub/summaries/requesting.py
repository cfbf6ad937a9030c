"""Requests summaries: selects the summarizers, in order, and checks their results.

The order is: the client that made the request, clients that have the session open, other clients, the configured
command. If a summarizer disconnects, fails, times out or returns an empty summary, the next one is asked.
"""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec

from sessiond import config
from sessiond.hub.errors import NoSummarizer, SummarizerFailed
from sessiond.hub.summaries.external_command import SummarizerCommand
from sessiond.hub.summaries.summarizer import Assignment, Summarizer, Tell, Unwritten
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

    said: t.SummarizeResult
    by: t.SummarizedBy


class Directory(Protocol):
    """Lists the clients that can write summaries."""

    def summarizers(self, live: "LiveSession", asker: str | None) -> Iterator[Summarizer]:
        """Return the clients that declared `summarize`, in the order in which they are asked.

        Args:
            live: The session.
            asker: The id of the client that made the request, if any.
        """


class _Nobody:
    """The directory of a hub without a server: it has no clients."""

    def summarizers(self, live: "LiveSession", asker: str | None) -> Iterator[Summarizer]:
        return iter(())


class Summarizers:
    """All summarizers: the connected clients and the configured command."""

    def __init__(self, chosen: config.SummarizerConfig) -> None:
        self.directory: Directory = _Nobody()
        self.configure(chosen)

    def configure(self, chosen: config.SummarizerConfig) -> None:
        """Apply a changed configuration. It does not affect a summarizer that is already writing."""
        self._command = SummarizerCommand(chosen.command) if chosen.command else None
        self._timeout = chosen.timeout

    def first(self, live: "LiveSession", asker: str | None = None) -> Literal["client", "command"] | None:
        """Return the kind of the summarizer that would be asked first; None if there is none."""
        return next((it.kind for it in self._all(live, asker)), None)

    async def write(
        self, assignment: Assignment, live: "LiveSession", asker: str | None, tell: Tell
    ) -> AttributedSummary:
        """Request a summary from one summarizer after the other, until one succeeds.

        Args:
            assignment: What to summarize.
            live: The session.
            asker: The id of the client that made the request, if any.
            tell: Receives progress.

        Raises:
            NoSummarizer: There is none.
            SummarizerFailed: All failed, with the reason of the last one; or the prompt is too long.
        """
        size = len(assignment.prompt)
        if size > MAX_PROMPT_BYTES:
            raise SummarizerFailed(f"what is to be summarized has {size:,} characters, which nobody can take")
        asked: set[str] = set()
        reason: str | None = None
        # The list is read again after each failure: clients connect and disconnect.
        while (it := next((it for it in self._all(live, asker) if it.name not in asked), None)) is not None:
            asked.add(it.name)
            tell(t.Progress(kind="report", message=f"{it.name} writes a summary"))
            try:
                async with asyncio.timeout(self._timeout):
                    return AttributedSummary(_checked(await it.write(assignment, tell)), it.kind)
            except TimeoutError:
                reason = f"{it.name} took longer than {self._timeout:.0f} seconds"
            except Unwritten as error:
                reason = f"{it.name}: {error}"
            log.warning("no summary of session %s from %s", assignment.session_id, it.name)
        if reason is None:
            raise NoSummarizer
        raise SummarizerFailed(reason)

    def _all(self, live: "LiveSession", asker: str | None) -> Iterator[Summarizer]:
        yield from self.directory.summarizers(live, asker)
        if self._command is not None:
            yield self._command


def _checked(said: t.SummarizeResult) -> t.SummarizeResult:
    summary = said.summary.strip()
    if not summary:
        raise Unwritten("the summary is empty")
    if len(summary) > MAX_CHARACTERS:
        raise Unwritten(f"the summary has {len(summary):,} characters, more than {MAX_CHARACTERS:,}")
    return msgspec.structs.replace(said, summary=summary)
