"""The short way of `session/append`: one new message at the leaf of an open session, the most frequent request.

It has the same effect as `writing.append`. One object per request holds everything until the answer: the place in the
program order, the row and the sender. While the log waits for a write, messages join one batch (`pending_batches`), so
the cost of a message is the work of this module and of `LiveSession.append_message`.
"""

from msgspec import UNSET

from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Prepared
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.rpc.message import RequestId
from sessiond.server.connection.client import Client
from sessiond.server.connection.tickets import StartedAppend
from sessiond.server.handlers.writing import append_result, remember_prompts


class MessageInFlight:
    """A message that was queued at the log and is not answered yet. See `PlainRequest`."""

    __slots__ = ("_client", "_live", "_request_id", "_size", "_ticket", "origin", "prepared")

    prepared: Prepared

    def __init__(
        self, client: Client, live: LiveSession, request_id: RequestId, size: int, ticket: StartedAppend
    ) -> None:
        self.origin = client.origin()
        self._client = client
        self._live = live
        self._request_id = request_id
        self._size = size
        self._ticket = ticket

    def committed(self, log_id: str, seq: int) -> None:
        """Answer the request, and remember a prompt."""
        row = self.prepared.rows[0]
        entry = t.Appended(id=row.id, seq=seq, status="created")
        result = t.AppendResult(leaf_id=row.id, log_id=log_id, last_seq=seq, entries=[entry], branched=False)
        self._client.requests.end(self._request_id, self._size, self._ticket, result)
        if row.role == "user":
            remember_prompts(self._client, self._live, self.prepared)

    def done(self, outcome: Outcome | Exception) -> None:
        """Answer the request with an error, or with its place after another program wrote to the log."""
        answer = outcome if isinstance(outcome, Exception) else append_result(outcome)
        self._client.requests.end(self._request_id, self._size, self._ticket, answer)
        if not isinstance(outcome, Exception):
            remember_prompts(self._client, self._live, self.prepared)


def append(
    client: Client, request_id: RequestId, size: int, params: t.AppendParams, ticket: StartedAppend
) -> bool:
    """Append one message, if the request asks for nothing else and its session is open. See `Route.direct`."""
    if len(params.entries) != 1 or params.parent_id is not UNSET or params.expected_leaf_id is not UNSET:
        return False
    if not params.advance or params.format != "agent" or client.hub.draining:
        return False
    live = client.hub.cached(params.session_id)
    if live is None or params.session_id in client.server.arriving:
        return False
    request = MessageInFlight(client, live, request_id, size, ticket)
    if not live.append_message(params.entries[0], params.durability, request):
        return False
    client.requests.began(size)
    return True
