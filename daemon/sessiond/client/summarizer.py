"""Summaries by a client: the request to a function that an author of an agent writes, and its response.

This module has no models and prompts of its own: `SummaryRequest.prompt` is all that a model needs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.receiver import RequestHandler
from sessiond.protocol import types as t
from sessiond.protocol.methods import PROGRESS
from sessiond.rpc.connection import Connection


@dataclass(frozen=True)
class SummaryRequest:
    """A request of the daemon for a summary, with the entries and the purpose.

    `prompt` is sent to a model unchanged. `models` are the models in force, as role -> "provider/model".
    """

    session_id: str
    purpose: str
    prompt: str
    entry_ids: tuple[str, ...]
    models: dict[str, str]
    instructions: str | None
    _send_progress: Callable[[t.Progress], None] = field(repr=False, compare=False)

    def report(self, message: str | None = None, *, percentage: int | None = None) -> None:
        """Report progress to the clients that wait for the summary.

        Args:
            message: A sentence or a few words.
            percentage: The completed part, 0 to 100.
        """
        self._send_progress(t.Progress(kind="report", message=message, percentage=percentage))


@dataclass(frozen=True)
class Summary:
    """A summary with values that are stored beside it. `details` and `preserve_data` are any JSON values."""

    text: str
    short: str | None = None
    details: Any = None
    preserve_data: Any = None


Summarize = Callable[[SummaryRequest], Awaitable[str | Summary]]
"""A function that writes summaries. It is canceled when no client waits for it; its exceptions become errors."""


def summarize_handler(summarize: Summarize) -> RequestHandler:
    """Return the handler of `client/summarize` that calls an author's function."""

    async def answer(params: Raw, connection: Connection) -> t.SummarizeResult:
        request = msgspec.json.decode(params, type=t.SummarizeParams)
        summary_or_text = await summarize(
            SummaryRequest(
                session_id=request.session_id,
                purpose=request.purpose,
                prompt=request.prompt,
                entry_ids=tuple(request.entry_ids),
                models=request.models,
                instructions=request.instructions,
                _send_progress=lambda step: connection.notify(
                    PROGRESS, t.ProgressNote(token=request.work_done_token, value=step)
                ),
            )
        )
        summary = Summary(summary_or_text) if isinstance(summary_or_text, str) else summary_or_text
        return t.SummarizeResult(
            summary=summary.text,
            short_summary=summary.short,
            details=encoded(summary.details),
            preserve_data=encoded(summary.preserve_data),
        )

    return answer


def encoded(value: Any) -> Raw | msgspec.UnsetType:
    """Return a value as JSON for a result; `UNSET`, which is omitted, for None."""
    return UNSET if value is None else Raw(msgspec.json.encode(value))
