"""Having a summary written: who is asked, in which order, and what counts as an answer.

The order: the client that made the request, clients that have the session open, any other client, the
configured command. Who leaves, fails, or answers nothing, is followed by the next.
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
"""A longer summary is none."""
MAX_PROMPT_BYTES: Final = 16 * 1024 * 1024
"""Characters. No model takes as much, and a client's connection might not."""


@dataclass(frozen=True, slots=True)
class AttributedSummary:
    """A summary and who wrote it."""

    said: t.SummarizeResult
    by: t.SummarizedBy


class Directory(Protocol):
    """Who is there to be asked."""

    def summarizers(self, live: "LiveSession", asker: str | None) -> Iterator[Summarizer]:
        """The clients that declared `summarize`, best first; `asker` is the id of the one that wants it."""


class _Nobody:
    """Where no server serves clients."""

    def summarizers(self, live: "LiveSession", asker: str | None) -> Iterator[Summarizer]:
        return iter(())


class Summarizers:
    """All who may be asked."""

    def __init__(self, chosen: config.SummarizerConfig) -> None:
        self.directory: Directory = _Nobody()
        self.configure(chosen)

    def configure(self, chosen: config.SummarizerConfig) -> None:
        """Follow another configuration; what is being written goes on as it began."""
        self._command = SummarizerCommand(chosen.command) if chosen.command else None
        self._timeout = chosen.timeout

    def first(self, live: "LiveSession", asker: str | None = None) -> Literal["client", "command"] | None:
        """Of which kind the first is that would be asked; None when there is nobody."""
        return next((it.kind for it in self._all(live, asker)), None)

    async def write(
        self, assignment: Assignment, live: "LiveSession", asker: str | None, tell: Tell
    ) -> AttributedSummary:
        """A summary. Raises `NoSummarizer`, or `SummarizerFailed` with the last one's reason."""
        size = len(assignment.prompt)
        if size > MAX_PROMPT_BYTES:
            raise SummarizerFailed(f"what is to be summarized has {size:,} characters, which nobody can take")
        asked: set[str] = set()
        reason: str | None = None
        # Looked up anew after each failure: some have left meanwhile, and others come.
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
