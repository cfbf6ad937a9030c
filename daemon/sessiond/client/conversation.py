"""The handshake of an editor and the requests in flight, which are moved to a new daemon. No I/O.

A new daemon has no state of an editor that was attached to the previous one. This module and `editor_state` record
the handshake, the open documents and the unanswered requests, so that the editor does not notice the change. In the
params of a request it reads only `commandId` and the ids of entries: a request that the lost daemon may have carried
out is repeated only if it has the former, or is an append all of whose entries have ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import UNSET

from sessiond.client.declaration import Declaration
from sessiond.client.editor_state import EditorState
from sessiond.client.editor_subscriptions import EditorSubscriptions, target_of
from sessiond.client.message_parts import (
    decode_registrations,
    entry_ids_of,
    error_message,
    error_response,
    head_of,
    is_error_of_kind,
    may_repeat_write,
    with_id,
)
from sessiond.error_text import TemplatedError
from sessiond.protocol import errors, methods as m
from sessiond.protocol.error_details import OutcomeUnknownDetails, TooLargeDetails
from sessiond.rpc.framing import FrameTooLarge, FramingError
from sessiond.rpc.message import Head, RequestId, encode_notification, encode_request, encode_result

_READ_ONLY: Final = frozenset(
    name
    for name, method in m.METHODS.items()
    if "draining" not in method.errors and name not in (m.STOP.name, m.DRAIN.name)
)
"""Read-only methods of sessiond. A daemon that is about to end refuses only requests that write."""

_READ_ONLY_LSP: Final = (
    "textDocument/", "workspace/symbol", "workspace/diagnostic", "workspace/textDocumentContent", "workspaceSymbol/",
    "completionItem/", "codeAction/", "codeLens/", "documentLink/", "inlayHint/",
    "callHierarchy/", "typeHierarchy/", "initialize",
)  # fmt: skip
_HANDSHAKES: Final = frozenset({"initialize", m.HELLO.name})


class HandshakeRefusedError(TemplatedError):
    """Raised when a client cannot be moved to a new daemon."""

    sentence = "The new daemon refused the handshake that the previous daemon accepted: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


@dataclass
class _PendingRequest:
    """An unanswered request of the editor. If `may_repeat` is true, it may be sent to another daemon."""

    method: str
    body: bytes
    may_repeat: bool
    target: str | None = None
    """The session or the watch that the request ends."""


@dataclass
class Conversation:
    """One editor and a sequence of daemons."""

    is_greeted: bool = True
    """False from the loss of a daemon until the next one accepts the handshake; only `handshake()` is sent then."""
    message_count: int = 0
    """Number of messages from the current daemon, without complaints and responses to `handshake()`."""
    refused_size: bool = False
    """Whether the current daemon ends the connection because a message is too large."""
    is_over: bool = False
    """Whether the editor has sent `exit`."""
    declaration: Declaration = field(default_factory=lambda: Declaration(None))
    """Adds the terminal to messages of the editor."""
    _handshake: bytes | None = None
    _handshake_id: RequestId | None = None
    _handshake_copy_id: RequestId | None = None
    _generation: int = 0
    _pending: dict[RequestId, _PendingRequest] = field(default_factory=dict)
    _daemon_requests: dict[RequestId, RequestId | None] = field(default_factory=dict)
    """Unanswered requests of daemons: the editor's id for each, and the daemon's id; None if that daemon has ended."""
    _registered: dict[str, str] = field(default_factory=dict)
    """Registrations of the current daemon with the editor: method by id. The next daemon registers again."""
    _state: EditorState = field(default_factory=EditorState)
    _subscriptions: EditorSubscriptions = field(default_factory=EditorSubscriptions)

    @property
    def is_resumable(self) -> bool:
        """Whether a new daemon can be given the state. False if the client has made no handshake."""
        return self._handshake is not None

    @property
    def has_unanswered_requests(self) -> bool:
        """Whether the editor waits for a response."""
        return bool(self._pending)

    # --- messages in both directions ---------------------------------------------------------------------

    def to_daemon(self, body: bytes) -> bytes | None:
        """Return a message of the editor for the daemon; None for a response to a daemon that has ended."""
        head = head_of(body)
        if head is None or head.id is UNSET:
            return body
        if head.method is not UNSET or head.id not in self._daemon_requests:
            return self.declaration.added(head, body)
        daemon_id = self._daemon_requests.pop(head.id)
        if daemon_id is None:
            return None
        return body if daemon_id == head.id else with_id(body, daemon_id)

    def record_sent(self, body: bytes) -> None:
        """Record a message of the editor that was sent completely to the daemon."""
        head = head_of(body)
        if head is None or head.method is UNSET:
            return
        method = str(head.method)
        if head.id is not UNSET:
            self._record_request(head.id, method, head, body)  # type: ignore[arg-type]
        elif method == "exit":
            self.is_over = True
        else:
            self._state.record(method, head, body)

    def to_client(self, body: bytes) -> bytes | None:
        """Return a message of the daemon for the editor; None for a response to a request of this module.

        Raises:
            HandshakeRefusedError: The daemon refused the handshake.
        """
        head = head_of(body)
        if head is None:
            return body
        if head.method is not UNSET:
            self.message_count += 1
            if head.id is not UNSET:
                self._record_registrations(str(head.method), head)
                return self._forward_daemon_request(head.id, body)  # type: ignore[arg-type]
            self._subscriptions.record_notification(str(head.method), head)
            return body
        if head.id is None:  # a complaint; before the handshake it cannot concern a message of the editor
            self.refused_size = self.refused_size or is_error_of_kind(head, "tooLarge")
            return body if self.is_greeted else None
        if head.id == self._handshake_copy_id:
            self._handshake_copy_id = None
            self._handle_handshake(head)
            return None
        self.message_count += 1
        pending = self._pending.get(head.id)  # type: ignore[arg-type]
        if pending is not None and self.is_resumable and is_error_of_kind(head, "draining"):
            pending.may_repeat = True  # the daemon did nothing, so the next one gets the request
            return None
        self._record_response(head)
        return body

    # --- after a daemon has ended ------------------------------------------------------------------------

    def daemon_lost(self) -> list[bytes]:
        """Return the messages for the editor after a daemon has ended: errors, and cancellations of daemon requests."""
        messages = [
            self.outcome_unknown(id, entry_ids_of(pending.method, pending.body))
            for id, pending in self._pending.items()
            if not pending.may_repeat
        ]
        self._pending = {id: pending for id, pending in self._pending.items() if pending.may_repeat}
        for id, daemon_id in self._daemon_requests.items():
            if daemon_id is not None:
                messages.append(encode_notification("$/cancelRequest", {"id": id}))
                self._daemon_requests[id] = None
        self.is_greeted = self.refused_size = False
        self.message_count = 0
        return messages

    def handshake(self) -> list[bytes]:
        """Return the first messages for a new daemon. All others wait for its response."""
        assert self._handshake is not None
        self._generation += 1
        if self._handshake_id in self._pending:
            return [self._handshake]  # the editor itself waits for the response
        self._handshake_copy_id = f"sessiond:handshake:{self._generation}"
        return [with_id(self._handshake, self._handshake_copy_id)]

    def replayed_messages(self) -> list[bytes]:
        """Return the messages for a daemon that accepted `handshake()`: first the editor's state, then its requests."""
        messages = self._state.messages()
        for id, pending in self._pending.items():
            if pending.may_repeat and id != self._handshake_id:
                messages.append(pending.body)
                pending.may_repeat = False  # no third attempt: the request may be the reason why daemons end
        return messages

    def change_messages(self) -> list[bytes]:
        """Return messages for the editor of a new daemon: unregistrations, `session/lagged`, `server/watchLapsed`."""
        messages: list[bytes] = []
        if self._registered:
            id = f"sessiond:unregister:{self._generation}"
            self._daemon_requests[id] = None
            registrations = [
                {"id": registration, "method": method} for registration, method in self._registered.items()
            ]
            # LSP spells it `unregisterations`.
            messages.append(
                encode_request(id, "client/unregisterCapability", {"unregisterations": registrations})
            )
            self._registered.clear()
        return messages + self._subscriptions.lapse()

    def outcome_unknown(self, id: RequestId, entry_ids: list[str]) -> bytes:
        """Return the response to a request that a lost daemon may have carried out, and that sent these ids."""
        return error_response(
            id,
            errors.OUTCOME_UNKNOWN.data(OutcomeUnknownDetails(entry_ids=entry_ids)),
            "The daemon ended before it responded, so the outcome of the request is unknown. "
            "Check before you repeat it.",
        )

    def daemon_unreachable(self, unsent: Iterable[bytes], reason: str) -> tuple[list[bytes], list[bytes]]:
        """Split the unsent messages: return those that continue to wait, and error responses to the requests."""
        waiting: list[bytes] = []
        messages: list[bytes] = []
        for body in unsent:
            head = head_of(body)
            if head is None or head.method is UNSET or head.id is UNSET:
                waiting.append(body)
            else:
                messages.append(error_response(head.id, errors.UNREACHABLE.data(None), reason))
        messages += [error_response(id, errors.UNREACHABLE.data(None), reason) for id in self._pending]
        self._pending.clear()
        return waiting, messages

    def message_too_large(self, body: bytes) -> list[bytes]:
        """Return the response to a message that exceeds the daemon's size limit. No other daemon accepts more."""
        head = head_of(body)
        if head is None or head.method is UNSET or head.id is UNSET:
            return []
        details = TooLargeDetails(limit_bytes=None, actual_bytes=len(body))
        message = "The message is larger than the daemon accepts. Send less in one message."
        return [error_response(head.id, errors.TOO_LARGE.data(details), message)]

    def is_for_next_daemon(self, body: bytes) -> bool:
        """Return whether an unsent message is for the next daemon: true for all messages but responses."""
        head = head_of(body)
        return head is not None and head.method is not UNSET

    def is_request(self, body: bytes) -> bool:
        """Return whether a message is a request."""
        head = head_of(body)
        return head is not None and head.method is not UNSET and head.id is not UNSET

    def framing_error(self, error: FramingError) -> bytes:
        """Return the error response of a daemon to bytes that are not framed messages."""
        data = errors.PARSE.data(None)
        if isinstance(error, FrameTooLarge):
            details = TooLargeDetails(limit_bytes=error.limit, actual_bytes=error.actual)
            data = errors.TOO_LARGE.data(details)
        return error_response(None, data, str(error))

    def handle_offline(self, body: bytes) -> tuple[bytes | None, bool]:
        """Handle a message while there is no daemon. Returns a response, if any, and whether it needs a daemon."""
        head = head_of(body)
        if head is None or head.method is UNSET:
            return None, False
        if head.method == "exit":
            self.is_over = True
        if head.id is UNSET:
            return None, False
        if head.method == "shutdown":
            return encode_result(head.id, None), False  # type: ignore[arg-type]
        return None, True

    # --- details ---------------------------------------------------------------------------------------

    def _record_request(self, id: RequestId, method: str, head: Head, body: bytes) -> None:
        if method in _HANDSHAKES and self._handshake is None:
            self._handshake, self._handshake_id = body, id
        may_repeat = (
            method in _READ_ONLY or method.startswith(_READ_ONLY_LSP) or may_repeat_write(method, head)
        )
        self._pending[id] = _PendingRequest(method, body, may_repeat, target_of(method, head))

    def _forward_daemon_request(self, id: RequestId, body: bytes) -> bytes:
        if id not in self._daemon_requests:
            self._daemon_requests[id] = id
            return body
        client_id = f"{id}:{self._generation}"  # the editor has a request of an earlier daemon with this id
        self._daemon_requests[client_id] = id
        return with_id(body, client_id)

    def _record_registrations(self, method: str, head: Head) -> None:
        if not method.startswith("client/") or head.params is UNSET:
            return
        with contextlib.suppress(msgspec.DecodeError):
            changed = decode_registrations(head.params)
            self._registered |= {
                registration.id: registration.method for registration in changed.registrations
            }
            for unregisteration in changed.unregisterations:
                self._registered.pop(unregisteration.id, None)

    def _handle_handshake(self, head: Head) -> None:
        if head.error is not UNSET:
            raise HandshakeRefusedError(error_message(head.error))
        self.is_greeted = True

    def _record_response(self, head: Head) -> None:
        pending = self._pending.pop(head.id, None)  # type: ignore[arg-type]
        if pending is None:
            return
        if head.result is UNSET:
            if head.id == self._handshake_id:
                self._handshake = self._handshake_id = None  # refused; the client may send another one
        elif pending.method in _HANDSHAKES:
            self.is_greeted = True
        else:
            self._subscriptions.record_response(pending.method, pending.target, head.result)
