"""State of an editor that is replayed to a new daemon, and the requests in flight of both. Sans I/O.

A new daemon has no state of an editor that was attached to the previous one. This module records the handshake, the
open documents and the unanswered requests, so that the editor does not notice the change. In the params of a request
it reads only `commandId`: a request that the lost daemon may have carried out is repeated only if it has one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.client.commands import METHODS, is_repeatable
from sessiond.client.declaration import Declaration
from sessiond.error_text import TemplatedError
from sessiond.protocol import errors, methods as m, types as t
from sessiond.protocol.error_details import TooLargeDetails
from sessiond.protocol.errors import ErrorData
from sessiond.rpc.framing import FrameTooLarge, FramingError
from sessiond.rpc.message import (
    BadMessage,
    Head,
    RequestId,
    decode_head,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)

_HARMLESS: Final = frozenset(
    name
    for name, method in m.METHODS.items()
    if "draining" not in method.errors and name not in (m.STOP.name, m.DRAIN.name)
)
"""Read-only methods of sessiond. A daemon that is about to end refuses only requests that write."""

_HARMLESS_LSP: Final = (
    "textDocument/", "workspace/symbol", "workspace/diagnostic", "workspace/textDocumentContent", "workspaceSymbol/",
    "completionItem/", "codeAction/", "codeLens/", "documentLink/", "inlayHint/",
    "callHierarchy/", "typeHierarchy/", "initialize",
)  # fmt: skip
_HANDSHAKES: Final = frozenset({"initialize", m.HELLO.name})
_LATEST: Final = ("workspace/didChangeConfiguration", "$/setTrace")
_FOLLOWING: Final = frozenset({m.CREATE.name, m.OPEN.name, m.CONTINUE.name, m.FORK.name, m.SUBSCRIBE.name})
_LEAVING: Final = frozenset({m.CLOSE.name, m.UNSUBSCRIBE.name, m.DELETE.name})


class GreetingRefused(TemplatedError):
    """Raised when a client cannot be moved to a new daemon."""

    sentence = "The new daemon refused the handshake that the previous daemon accepted: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


@dataclass
class _Asked:
    """An unanswered request of the editor. If `again` is true, it may be sent to another daemon."""

    method: str
    body: bytes
    again: bool
    session_id: str | None = None
    watch_ids: frozenset[str] = frozenset()


@dataclass
class Conversation:
    """One editor and a sequence of daemons."""

    greeted: bool = True
    """False from the loss of a daemon until the next one accepts the handshake. Meanwhile only `greeting()` is sent."""
    answers: int = 0
    """Number of messages from the current daemon, without complaints and responses to `greeting()`."""
    refused_size: bool = False
    """Whether the current daemon ends the connection because a message is too large."""
    is_over: bool = False
    """Whether the editor has sent `exit`."""
    declaration: Declaration = field(default_factory=lambda: Declaration(None))
    """Adds the terminal to messages of the editor."""
    _handshake: bytes | None = None
    _handshake_id: RequestId | None = None
    _initialized: bytes | None = None
    _greeting_id: RequestId | None = None
    _generation: int = 0
    _asked: dict[RequestId, _Asked] = field(default_factory=dict)
    _questions: dict[RequestId, RequestId | None] = field(default_factory=dict)
    """Unanswered requests of daemons: the editor's id for each, and the daemon's id; None if that daemon has ended."""
    _followed: dict[str, t.After] = field(default_factory=dict)
    """Sessions to which the editor is subscribed, with the position of the last entry that it was sent."""
    _watches: set[str] = field(default_factory=set)
    """The watches of lists of the editor with the current daemon."""
    _registered: dict[str, str] = field(default_factory=dict)
    """Registrations of the current daemon with the editor: method by id. The next daemon registers again."""
    _documents: dict[str, list[bytes]] = field(default_factory=dict)
    _folders: list[bytes] = field(default_factory=list)
    _latest: dict[str, bytes] = field(default_factory=dict)

    @property
    def may_go_on(self) -> bool:
        """Whether a new daemon can be given the state. False if the client has made no handshake."""
        return self._handshake is not None

    @property
    def waits(self) -> bool:
        """Whether the editor waits for a response."""
        return bool(self._asked)

    # --- messages in both directions ---------------------------------------------------------------------

    def to_daemon(self, body: bytes) -> bytes | None:
        """Return a message of the editor for the daemon; None for a response to a daemon that has ended."""
        head = _head(body)
        if head is None or head.id is UNSET:
            return body
        if head.method is not UNSET or head.id not in self._questions:
            return self.declaration.added(head, body)
        theirs = self._questions.pop(head.id)
        if theirs is None:
            return None
        return body if theirs == head.id else _with_id(body, theirs)

    def sent(self, body: bytes) -> None:
        """Record a message of the editor that was sent completely to the daemon."""
        head = _head(body)
        if head is None or head.method is UNSET:
            return
        method = str(head.method)
        if head.id is not UNSET:
            self._ask(head.id, method, head, body)  # type: ignore[arg-type]
        elif method == "initialized":
            self._initialized = body
        elif method == "exit":
            self.is_over = True
        elif method in _LATEST:
            self._latest[method] = body
        elif method == "workspace/didChangeWorkspaceFolders":
            self._folders.append(body)
        elif method.startswith("textDocument/"):
            self._remember(method, head, body)

    def to_editor(self, body: bytes) -> bytes | None:
        """Return a message of the daemon for the editor; None for a response to a request of this module.

        Raises:
            GreetingRefused: The daemon refused the handshake.
        """
        head = _head(body)
        if head is None:
            return body
        if head.method is not UNSET:
            self.answers += 1
            if head.id is not UNSET:
                self._register(str(head.method), head)
                return self._asked_by_daemon(head.id, body)  # type: ignore[arg-type]
            self._note(str(head.method), head)
            return body
        if head.id is None:  # a complaint; before the handshake it cannot concern a message of the editor
            self.refused_size = self.refused_size or _refused_as(head, "tooLarge")
            return body if self.greeted else None
        if head.id == self._greeting_id:
            self._greeting_id = None
            self._take_greeting(head)
            return None
        self.answers += 1
        asked = self._asked.get(head.id)  # type: ignore[arg-type]
        if asked is not None and self.may_go_on and _refused_as(head, "draining"):
            asked.again = True  # the daemon did nothing, so the next one gets the request
            return None
        self._answered(head)
        return body

    # --- after a daemon has ended ------------------------------------------------------------------------

    def lost(self) -> list[bytes]:
        """Return the messages for the editor after a daemon has ended: errors, and cancellations of daemon requests."""
        told = [self.unknown(id) for id, asked in self._asked.items() if not asked.again]
        self._asked = {id: asked for id, asked in self._asked.items() if asked.again}
        for id, theirs in self._questions.items():
            if theirs is not None:
                told.append(encode_notification("$/cancelRequest", {"id": id}))
                self._questions[id] = None
        self.greeted = self.refused_size = False
        self.answers = 0
        return told

    def greeting(self) -> list[bytes]:
        """Return the first messages for a new daemon. All others wait for its response."""
        assert self._handshake is not None
        self._generation += 1
        if self._handshake_id in self._asked:
            return [self._handshake]  # the editor itself waits for the response
        self._greeting_id = f"sessiond:handshake:{self._generation}"
        return [_with_id(self._handshake, self._greeting_id)]

    def catching_up(self) -> list[bytes]:
        """Return the messages for a daemon that accepted `greeting()`: first the editor's state, then its requests."""
        told = [] if self._initialized is None else [self._initialized]
        told += [*self._latest.values(), *self._folders]
        for document in self._documents.values():
            told += document
        for id, asked in self._asked.items():
            if asked.again and id != self._handshake_id:
                told.append(asked.body)
                asked.again = False  # no third attempt: the request may be the reason why daemons end
        return told

    def news(self) -> list[bytes]:
        """Return messages for the editor of a new daemon: unregistrations, `session/lagged`, `server/watchLapsed`."""
        told = []
        if self._registered:
            id = f"sessiond:unregister:{self._generation}"
            self._questions[id] = None
            gone = [{"id": it, "method": method} for it, method in self._registered.items()]
            # LSP spells it `unregisterations`.
            told.append(encode_request(id, "client/unregisterCapability", {"unregisterations": gone}))
            self._registered.clear()
        told += [
            encode_notification(
                m.LAGGED.name, t.LaggedNote(session_id=session_id, log_id=known.log_id, last_seq=known.seq)
            )
            for session_id, known in self._followed.items()
        ]
        self._followed.clear()
        told += [
            encode_notification(
                m.WATCH_LAPSED.name,
                t.WatchLapsedNote(
                    watch_id=watch_id, reason="daemonEnded", message="The daemon that sent the changes ended."
                ),
            )
            for watch_id in self._watches
        ]
        self._watches.clear()
        return told

    def unknown(self, id: RequestId) -> bytes:
        """Return the response to a request that a lost daemon may have carried out."""
        return _error(
            id,
            errors.OUTCOME_UNKNOWN.data(None),
            "The daemon ended before it responded, so the outcome of the request is unknown. "
            "Check before you repeat it.",
        )

    def unreachable(self, waiting: Iterable[bytes], reason: str) -> tuple[list[bytes], list[bytes]]:
        """Split the waiting messages: return those that continue to wait, and error responses to the requests."""
        kept, told = [], []
        for body in waiting:
            head = _head(body)
            if head is None or head.method is UNSET or head.id is UNSET:
                kept.append(body)
            else:
                told.append(_error(head.id, errors.UNREACHABLE.data(None), reason))
        told += [_error(id, errors.UNREACHABLE.data(None), reason) for id in self._asked]
        self._asked.clear()
        return kept, told

    def too_large(self, body: bytes) -> list[bytes]:
        """Return the response to a message that exceeds the daemon's size limit. No other daemon accepts more."""
        head = _head(body)
        if head is None or head.method is UNSET or head.id is UNSET:
            return []
        details = TooLargeDetails(limit_bytes=None, actual_bytes=len(body))
        message = "The message is larger than the daemon accepts. Send less in one message."
        return [_error(head.id, errors.TOO_LARGE.data(details), message)]

    def outlasts(self, body: bytes) -> bool:
        """Return whether an unsent message is for the next daemon: true for all messages but responses."""
        head = _head(body)
        return head is not None and head.method is not UNSET

    def asks(self, body: bytes) -> bool:
        """Return whether a message is a request."""
        head = _head(body)
        return head is not None and head.method is not UNSET and head.id is not UNSET

    def unframed(self, error: FramingError) -> bytes:
        """Return the error response of a daemon to bytes that are not framed messages."""
        data = errors.PARSE.data(None)
        if isinstance(error, FrameTooLarge):
            details = TooLargeDetails(limit_bytes=error.limit, actual_bytes=error.actual)
            data = errors.TOO_LARGE.data(details)
        return _error(None, data, str(error))

    def without_daemon(self, body: bytes) -> tuple[bytes | None, bool]:
        """Handle a message while there is no daemon. Returns a response, if any, and whether it needs a daemon."""
        head = _head(body)
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

    def _ask(self, id: RequestId, method: str, head: Head, body: bytes) -> None:
        if method in _HANDSHAKES and self._handshake is None:
            self._handshake, self._handshake_id = body, id
        again = method in _HARMLESS or method.startswith(_HARMLESS_LSP) or _is_repeatable(method, head)
        session_id = _session_id(head) if method in _LEAVING else None
        left = _watch_ids(head.params) if method == m.UNWATCH.name else frozenset[str]()
        self._asked[id] = _Asked(method, body, again, session_id, left)

    def _remember(self, method: str, head: Head, body: bytes) -> None:
        uri = _uri(head)
        if uri is None:
            return
        if method == "textDocument/didOpen":
            self._documents[uri] = [body]
        elif method == "textDocument/didChange" and uri in self._documents:
            self._documents[uri].append(body)
        elif method == "textDocument/didClose":
            self._documents.pop(uri, None)

    def _asked_by_daemon(self, id: RequestId, body: bytes) -> bytes:
        if id not in self._questions:
            self._questions[id] = id
            return body
        ours = f"{id}:{self._generation}"  # the editor has a request of an earlier daemon with this id
        self._questions[ours] = id
        return _with_id(body, ours)

    def _register(self, method: str, head: Head) -> None:
        if not method.startswith("client/") or head.params is UNSET:
            return
        with contextlib.suppress(msgspec.DecodeError):
            changed = _decode_registrations(head.params)
            self._registered |= {it.id: it.method for it in changed.registrations}
            for it in changed.unregisterations:
                self._registered.pop(it.id, None)

    def _take_greeting(self, head: Head) -> None:
        if head.error is not UNSET:
            raise GreetingRefused(_message(head.error))
        self.greeted = True

    def _answered(self, head: Head) -> None:
        asked = self._asked.pop(head.id, None)  # type: ignore[arg-type]
        if asked is None:
            return
        if head.result is UNSET:
            if head.id == self._handshake_id:
                self._handshake = self._handshake_id = None  # refused; the client may send another one
        elif asked.method in _HANDSHAKES:
            self.greeted = True
        elif asked.method in _FOLLOWING:
            self._follow(head.result)
        elif asked.method == m.WATCH.name:
            self._watches.update(_watch_ids(head.result))
        elif asked.method == m.UNWATCH.name:
            self._watches.difference_update(asked.watch_ids)
        elif asked.session_id is not None:
            self._followed.pop(asked.session_id, None)

    def _follow(self, result: Raw) -> None:
        try:
            opened = _decode_opened(result)
        except msgspec.DecodeError:
            return
        seq = opened.to_seq if opened.to_seq is not None else opened.session.last_seq
        self._followed[opened.session.session_id] = t.After(log_id=opened.session.log_id, seq=seq)

    def _note(self, method: str, head: Head) -> None:
        if method == m.WATCH_LAPSED.name:
            self._watches.difference_update(_watch_ids(head.params))
        if method not in (m.APPENDED.name, m.LAGGED.name, m.DELETED.name) or head.params is UNSET:
            return
        try:
            note = _decode_note(head.params)
        except msgspec.DecodeError:
            return
        if method == m.APPENDED.name and note.session_id in self._followed:
            known = self._followed[note.session_id]
            if note.log_id != known.log_id or note.to_seq > known.seq:
                self._followed[note.session_id] = t.After(log_id=note.log_id, seq=note.to_seq)
        elif method != m.APPENDED.name:
            self._followed.pop(note.session_id, None)


class _Session(msgspec.Struct, rename="camel"):
    session_id: str
    log_id: str
    last_seq: int


class _Opened(msgspec.Struct, rename="camel"):
    session: _Session
    to_seq: int | None = None


class _Note(msgspec.Struct, rename="camel"):
    session_id: str
    log_id: str = ""
    to_seq: int = 0


class _Watch(msgspec.Struct, rename="camel"):
    watch_id: str


class _Document(msgspec.Struct):
    uri: str


class _OfDocument(msgspec.Struct, rename="camel"):
    text_document: _Document


class _Registration(msgspec.Struct):
    id: str
    method: str


class _Registrations(msgspec.Struct):
    registrations: list[_Registration] = []
    unregisterations: list[_Registration] = []


class _Why(msgspec.Struct):
    kind: str = ""


class _Reason(msgspec.Struct):
    message: str = ""
    data: _Why | None = None


_decode_opened = msgspec.json.Decoder(_Opened).decode
_decode_params = msgspec.json.Decoder(dict[str, Any]).decode
_decode_note = msgspec.json.Decoder(_Note).decode
_decode_watch = msgspec.json.Decoder(_Watch).decode
_decode_document = msgspec.json.Decoder(_OfDocument).decode
_decode_registrations = msgspec.json.Decoder(_Registrations).decode
_decode_reason = msgspec.json.Decoder(_Reason).decode


def _head(body: bytes) -> Head | None:
    try:
        return decode_head(body)
    except BadMessage:
        return None  # passed on unchanged; the recipient reports the error


def _with_id(body: bytes, id: RequestId) -> bytes:
    members = msgspec.json.decode(body, type=dict[str, Raw])
    return msgspec.json.encode({**members, "id": id})


def _error(id: RequestId | None, data: ErrorData, message: str) -> bytes:
    return encode_error(id, errors.CODES[data.kind], message, data)


def _uri(head: Head) -> str | None:
    try:
        return _decode_document(b"{}" if head.params is UNSET else head.params).text_document.uri
    except msgspec.DecodeError:
        return None


def _session_id(head: Head) -> str | None:
    try:
        return _decode_note(b"{}" if head.params is UNSET else head.params).session_id
    except msgspec.DecodeError:
        return None


def _watch_ids(value: Raw | UnsetType) -> frozenset[str]:
    """Return the id of the watch that params or a result name, if they name one."""
    try:
        return frozenset((_decode_watch(b"{}" if isinstance(value, UnsetType) else value).watch_id,))
    except msgspec.DecodeError:
        return frozenset()


def _is_repeatable(method: str, head: Head) -> bool:
    """Return whether a request that writes may be repeated after a lost response."""
    if method not in METHODS:
        return False
    try:
        params = _decode_params(b"{}" if head.params is UNSET else head.params)
    except msgspec.DecodeError:
        return False
    return is_repeatable(method, params)


def _refused_as(head: Head, kind: str) -> bool:
    """Return whether this is an error of that kind. `draining` means that nothing was done."""
    if head.error is UNSET:
        return False
    try:
        why = _decode_reason(head.error).data
    except msgspec.DecodeError:
        return False
    return why is not None and why.kind == kind


def _message(error: Raw) -> str:
    try:
        return _decode_reason(error).message
    except msgspec.DecodeError:
        return "no reason was given"
