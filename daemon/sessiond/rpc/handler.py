"""What the owner of a connection does with what comes in."""

from typing import Protocol, TypeVar

from msgspec import UNSET

from sessiond.rpc.framing import FramingError
from sessiond.rpc.message import PARSE, BadMessage, Head, RequestId


class Complains(Protocol):
    """A connection, as far as it can send errors."""

    def fail(self, id: RequestId | None, code: int, message: str, data: object = UNSET) -> None:
        """Answer a request with an error; id None complains about something that had no readable id."""


C = TypeVar("C", bound=Complains, contravariant=True)


class Handler(Protocol[C]):
    """The owner of a connection, of the type `C`: it is called with what comes in.

    The methods are called from the event loop, in the order of the wire, and must neither block nor raise.
    Inherit from this class to get those that may be left out.
    """

    def opened(self, connection: C) -> None:
        """The transport is there: the connection can send."""

    def received(self, connection: C, head: Head, body: bytes) -> None:
        """A request (head.id is an int or a str: owes one reply) or a notification (head.id is UNSET).

        `body` is the whole message, for passing on.
        """
        ...

    def broken(self, connection: C, error: BadMessage) -> None:
        """A body that is no message. Owes `fail(error.id, …)`, which also takes the id None."""
        ...

    def unframed(self, connection: C, error: FramingError) -> None:
        """Bytes that are no frames; the connection closes after this. May complain with `fail(None, …)`."""
        connection.fail(None, PARSE, str(error))

    def strayed(self, connection: C, head: Head, body: bytes) -> None:
        """A response to no call of this connection: late, or to a request sent with `send_body`."""

    def announced(self, connection: C, size: int) -> None:
        """A frame of about `size` bytes has begun, more than `LARGE_FRAME`. May `pause` until there is room."""
        return

    def arrived(self, connection: C) -> None:
        """That frame is complete, and was received."""
        return

    def ended(self, connection: C) -> None:
        """The peer sends no more, and may still read the answers that are owed to it. Called only if any are."""
        return

    def closed(self, connection: C, reason: Exception | None) -> None:
        """The last call. `reason` is None when either end closed in good order."""
        ...
