"""Declares the terminal for clients that do not declare one, by adding it to their messages to the daemon.

A client may run anywhere; the command that connects it to the daemon (`attach`) runs in its terminal. If the client
declares a terminal, or null, that value is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.protocol import methods as m
from sessiond.rpc.message import Head

_TAKES_TERMINAL: Final = frozenset({m.CREATE.name, m.OPEN.name, m.CONTINUE.name})

_Object = dict[str, Raw]
_decode = msgspec.json.Decoder(_Object).decode
_encode = msgspec.json.encode


class Declaration:
    """Adds a terminal to the messages of one client.

    The terminal is added to the client's handshake, `initialize` or `server/hello`, or, if the client sends none, to
    each request that accepts a terminal.

    Args:
        terminal: The wire's `Terminal`; None adds nothing.
    """

    def __init__(self, terminal: dict[str, str | int] | None) -> None:
        self._terminal = None if terminal is None else Raw(_encode(terminal))
        self._is_greeted = False

    def added(self, head: Head, body: bytes) -> bytes:
        """Return a message of the client with the terminal added, or unchanged if it accepts none."""
        if self._terminal is None or head.method is UNSET or head.id is UNSET:
            return body
        if head.method == "initialize":
            return _with_params(body, self._in_greeting)
        if head.method == m.HELLO.name:
            self._is_greeted = True
            return _with_params(body, self._in_request)
        if not self._is_greeted and head.method in _TAKES_TERMINAL:
            return _with_params(body, self._in_request)
        return body

    def _in_greeting(self, params: _Object) -> None:
        options = _object(params.get("initializationOptions"))
        ours = None if options is None else _object(options.get("sessiond"))
        if options is None or ours is None:
            return  # another program's options have an unknown form
        if "capabilities" not in params and "sessiond" not in options:
            # With `sessiond` options and without capabilities, the daemon would not recognize the client as an editor.
            return
        self._is_greeted = True
        self._in_request(ours)
        options["sessiond"] = Raw(_encode(ours))
        params["initializationOptions"] = Raw(_encode(options))

    def _in_request(self, params: _Object) -> None:
        assert self._terminal is not None
        params.setdefault("terminal", self._terminal)


def _with_params(body: bytes, change: Callable[[_Object], None]) -> bytes:
    try:
        message = _decode(body)
        params = _object(message.get("params"))
        if params is None:
            return body
        change(params)
    except (msgspec.DecodeError, RecursionError):
        return body  # the daemon reports the error
    message["params"] = Raw(_encode(params))
    return _encode(message)


def _object(value: Raw | None) -> _Object | None:
    """Return an object; an empty one for a value that is absent or null; None for any other value."""
    if value is None or bytes(value) == b"null":
        return {}
    return _decode(value) if bytes(value).startswith(b"{") else None
