"""Requests summaries from clients: `client/summarize`, its progress, and its failures."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries.summarizer import Assignment, ReportProgress, Summarizer, SummaryFailed
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.errors import ConnectionClosed, RemoteError
from sessiond.server.connection.client import Client

_decode = msgspec.json.Decoder(t.SummarizeResult).decode


class ClientSummarizer:
    """A client that declared `summarize`."""

    kind: Literal["client"] = "client"

    def __init__(self, client: Client) -> None:
        self.name = f"client {client.client_id}"
        self._client = client

    async def write(self, assignment: Assignment, report_progress: ReportProgress) -> t.SummarizeResult:
        """Send the request and return its result. If this is canceled, the client receives `$/cancelRequest`.

        Raises:
            SummaryFailed: The client responds with an error or an invalid result, or disconnects.

        """
        with self._client.progress(_as_report(report_progress)) as token:
            params = t.SummarizeParams(
                session_id=assignment.session_id, purpose=assignment.purpose, prompt=assignment.prompt,
                entry_ids=list(assignment.entry_ids), models=assignment.models,
                instructions=assignment.instructions, work_done_token=token,
            )  # fmt: skip
            try:
                return _decode(await self._client.connection.call(m.SUMMARIZE.name, params))
            except RemoteError as error:
                raise SummaryFailed(f"{error} (code {error.code})") from None
            except ConnectionClosed:
                raise SummaryFailed("it disconnected") from None
            except (msgspec.DecodeError, RecursionError) as error:
                raise SummaryFailed(f"its response is not a summary: {error}") from None


def summarizers(
    clients: Iterable[Client], live: LiveSession, requester_id: str | None
) -> Iterator[Summarizer]:
    """Yield the clients that can write a summary: first the requester, then holders of the session, then others."""

    def distance(client: Client) -> int:
        if client.client_id == requester_id:
            return 0
        return 1 if client.client_id in live.holders else 2

    able = [client for client in clients if client.may_be_asked]
    yield from map(ClientSummarizer, sorted(able, key=distance))


def _as_report(report_progress: ReportProgress) -> Callable[[t.Progress], None]:
    """Return a function that passes the client's progress on.

    The begin and end of the client's part are steps of the whole work, which has its own begin and end.
    """

    def progress(step: t.Progress) -> None:
        message = step.message if step.message is not None else step.title
        if message is not None or step.percentage is not None:
            report_progress(t.Progress(kind="report", message=message, percentage=step.percentage))

    return progress
