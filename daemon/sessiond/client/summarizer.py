"""Writing summaries for the daemon: what a function of an agent's author is asked, and what it may answer.

It knows nothing of models and prompts of its own: `SummaryRequest.prompt` is all that a model needs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.receiver import Answer
from sessiond.protocol import types as t
from sessiond.protocol.methods import PROGRESS
from sessiond.rpc.connection import Connection


@dataclass(frozen=True)
class SummaryRequest:
    """A summary that the daemon wants: what of, and what for.

    `prompt` is to be sent to a model as it is. `models` are those in force, as role -> "provider/model".
    """

    session_id: str
    purpose: Literal["compaction", "branch"]
    prompt: str
    entry_ids: tuple[str, ...]
    models: dict[str, str]
    instructions: str | None
    _tell: Callable[[t.Progress], None] = field(repr=False, compare=False)

    def report(self, message: str | None = None, *, percentage: int | None = None) -> None:
        """Tell the clients that wait for the summary how far it is.

        Args:
            message: A sentence or a few words.
            percentage: How much is done, 0 to 100.
        """
        self._tell(t.Progress(kind="report", message=message, percentage=percentage))


@dataclass(frozen=True)
class Summary:
    """A summary with what is to be stored beside it. `details` and `preserve_data` are any JSON values."""

    text: str
    short: str | None = None
    details: Any = None
    preserve_data: Any = None


Summarize = Callable[[SummaryRequest], Awaitable[str | Summary]]
"""An author's function. It is cancelled when nobody waits any more; what it raises, the one who waits is told."""


def answering(summarize: Summarize) -> Answer:
    """The answer to `client/summarize` that an author's function gives."""

    async def answer(params: Raw, connection: Connection) -> t.SummarizeResult:
        asked = msgspec.json.decode(params, type=t.SummarizeParams)
        written = await summarize(
            SummaryRequest(
                session_id=asked.session_id,
                purpose=asked.purpose,
                prompt=asked.prompt,
                entry_ids=tuple(asked.entry_ids),
                models=asked.models,
                instructions=asked.instructions,
                _tell=lambda step: connection.notify(
                    PROGRESS, t.ProgressNote(token=asked.work_done_token, value=step)
                ),
            )
        )
        summary = Summary(written) if isinstance(written, str) else written
        return t.SummarizeResult(
            summary=summary.text,
            short_summary=summary.short,
            details=encoded(summary.details),
            preserve_data=encoded(summary.preserve_data),
        )

    return answer


def encoded(value: Any) -> Raw | msgspec.UnsetType:
    """A value as it goes over the wire; None is not sent at all."""
    return UNSET if value is None else Raw(msgspec.json.encode(value))
