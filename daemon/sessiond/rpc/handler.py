"""The interface of the owner of a connection, which receives the messages and events of the connection."""

from typing import Protocol, TypeVar

from msgspec import UNSET

from sessiond.rpc.framing import FramingError
from sessiond.rpc.message import PARSE, BadMessage, Head, RequestId


class Complains(Protocol):
    """The part of a connection that sends errors."""

    def fail(self, id: RequestId | None, code: int, message: str, data: object = UNSET) -> None:
        """Respond to a request with an error. With the id None, report an error about a message without an id."""


C = TypeVar("C", bound=Complains, contravariant=True)


class Handler(Protocol[C]):
    """The owner of a connection of the type `C`.

    The event loop calls the methods in the order of the wire. They must neither block nor raise. A class that inherits
    from this one gets defaults for the optional methods.
    """

    def opened(self, connection: C) -> None:
        """The transport is connected, and the connection can send."""

    def received(self, connection: C, head: Head, body: bytes) -> None:
        """A request or a notification has arrived.

        Args:
            connection: The connection.
            head: A request has an int or str `id` and needs one response. A notification has the `id` UNSET.
            body: The whole message, for passing on.

        """
        ...

    def answered_at_once(self, connection: C, bodies: list[bytes]) -> int:
        """Answer requests at the front of `bodies` with `Connection.answer_at_once`, while none is unanswered.

        Returns:
            The number of these requests. `received` gets the others.

        """
        return 0

    def delivered(self, connection: C) -> None:
        """All messages of one delivery were passed to `received`. Messages that it sends are one write."""
        return

    def broken(self, connection: C, error: BadMessage) -> None:
        """A body that is not a JSON-RPC message has arrived. Requires `fail(error.id, …)`, also for the id None."""
        ...

    def unframed(self, connection: C, error: FramingError) -> None:
        """The stream has an invalid frame, and the connection closes after this call. May send `fail(None, …)`."""
        connection.fail(None, PARSE, str(error))

    def strayed(self, connection: C, head: Head, body: bytes) -> None:
        """A response that matches no `call` has arrived: it is late, or its request was sent with `send_body`."""

    def announced(self, connection: C, size: int) -> None:
        """A frame of about `size` bytes, more than `LARGE_FRAME`, has begun.

        The handler may `pause` the connection until there is memory for the frame.
        """
        return

    def arrived(self, connection: C) -> None:
        """The announced frame is complete and was delivered."""
        return

    def ended(self, connection: C) -> None:
        """The peer sends no more, but may still read the responses owed to it. Called only if there are any."""
        return

    def closed(self, connection: C, reason: Exception | None) -> None:
        """The connection is closed. This is the last call. `reason` is None if either end closed it normally."""
        ...
