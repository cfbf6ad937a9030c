"""The client that sent a request, as far as services know it."""

from typing import Any, Protocol

from sessiond.protocol import methods as m, types as t


class Caller(Protocol):
    """The sender of a request."""

    client_id: str

    def origin(self, command_id: str | None = None) -> t.Origin:
        """Return the origin of the changes that the request makes; `command_id` is its `commandId`."""

    def announce(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify all clients that use sessions, after the response to the request that is being handled."""
