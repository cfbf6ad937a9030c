"""The short way of `session/append`: new messages at the leaf of an open session, the most frequent requests.

The messages that a client sends in one piece to one session are a group: one unit from placing to reply. The
dispatcher gathers them while it reads what has arrived, and carries them out before any other request of the client
and before it returns to the event loop. So nothing can happen between the messages of a group, and each of these is
done once for all of them: the checks of the session, the place in the program order, the batch at the log, the commit,
the notification and the write to the socket. A message by itself costs little more than its decoding and its response.

It has the same effect as `writing.append` for each message.
"""

from msgspec import UNSET

from sessiond.hub.session.batches import OutcomeOf
from sessiond.hub.session.drafts import NewMessage, read_new_message
from sessiond.hub.session.entry_placement import plain
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.pending_batches import MAX_JOINED, MAX_JOINED_BYTES
from sessiond.protocol import types as t
from sessiond.rpc.message import RequestId
from sessiond.server.connection.client import Client
from sessiond.server.connection.route import Received
from sessiond.server.connection.tickets import StartedAppend
from sessiond.server.handlers.writing import append_result, remember_prompts
from sessiond.session.tree.tree import NewRow


class MessageGroup:
    """Messages of one client to one session that are carried out together. See `RequestGroup` and `PlainRequests`."""

    __slots__ = (
        "_client", "_has_prompt", "_live", "_messages", "_size", "_ticket", "durability", "origin", "requests",
        "rows", "session_id",
    )  # fmt: skip

    rows: list[NewRow]
    _live: LiveSession
    _ticket: StartedAppend

    def __init__(self, client: Client, params: t.AppendParams) -> None:
        self.session_id = params.session_id
        self.origin = client.origin()
        self.requests: list[Received[t.AppendParams]] = []
        self._client = client
        self.durability = params.durability
        self._messages: list[NewMessage] = []
        self._has_prompt = False
        self._size = 0

    def add(self, request_id: RequestId, size: int, params: t.AppendParams) -> bool:
        """Add a request that appends one message and asks for nothing else. See `RequestGroup`."""
        if (
            len(params.entries) != 1
            or params.parent_id is not UNSET
            or params.expected_leaf_id is not UNSET
            or params.placement is not None
            or params.session_id != self.session_id
            or params.durability != self.durability
            or not params.advance
            or params.format != "agent"
        ):
            return False
        if len(self._messages) == MAX_JOINED or self._size + size > MAX_JOINED_BYTES:
            return False
        message = read_new_message(params.entries[0])
        if message is None:
            return False
        if message.role == "user":
            self._has_prompt = True
        self._messages.append(message)
        self.requests.append((request_id, size, params))
        self._size += size
        return True

    def start(self, ticket: StartedAppend) -> bool:
        """Append the messages, if the session is open and takes them now. See `RequestGroup`."""
        client = self._client
        live = client.hub.sessions.cached(self.session_id)
        if live is None or client.hub.sessions.draining or self.session_id in client.server.arriving:
            return False
        self._live, self._ticket = live, ticket
        if not live.append_messages(self._messages, self):
            return False
        client.requests.began(self._size, len(self.requests))
        return True

    def committed(self, log_id: str, first: int) -> None:
        """Answer the requests, and remember the prompts."""
        results: list[tuple[RequestId, t.Wire]] = []
        seq = first
        for (request_id, _, _), row in zip(self.requests, self.rows, strict=True):
            entry = t.Appended(id=row.id, seq=seq, status="created")
            results.append(
                (
                    request_id,
                    t.AppendResult(
                        leaf_id=row.id, log_id=log_id, last_seq=seq, entries=[entry], branched=False
                    ),
                )
            )
            seq += 1
        self._client.reply_all(results)
        self._client.requests.ended(self._size, len(results), self._ticket)
        if self._has_prompt:
            remember_prompts(self._client, self._live, self.rows)

    def settle(self, outcome_of: OutcomeOf) -> None:
        """Answer each request with an error, or with its place after another program wrote to the log."""
        for (request_id, _, _), row in zip(self.requests, self.rows, strict=True):
            outcome = outcome_of(plain(row))
            if isinstance(outcome, Exception):
                self._client.answer(request_id, outcome)
            else:
                self._client.answer(request_id, append_result(outcome))
                remember_prompts(self._client, self._live, [row])
        self._client.requests.ended(self._size, len(self.rows), self._ticket)
