"""The route of one method: how its params are decoded, when it takes effect, and how its handler runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sessiond.rpc.message import RequestId
from sessiond.server.connection.execution import Execution
from sessiond.server.connection.tickets import Effect, StartedAppend

C = TypeVar("C")
"""The client, the first argument of handlers."""

Names: TypeAlias = Callable[[Any], tuple[str | None, str | None]]
"""Returns how params name a session: its id and the path of its file. At most one is not None."""


P = TypeVar("P")
Received: TypeAlias = tuple[RequestId, int, P]
"""A request: its id, the bytes of its body, and its params."""


class RequestGroup(Protocol):
    """Requests of one method that arrived together and are carried out together.

    The dispatcher fills and starts a group within one call of the event loop, and no other request is carried out
    meanwhile.

    Attributes:
        session_id: The session of all requests.
        requests: The requests, in the order of their arrival.

    """

    session_id: str

    @property
    def requests(self) -> "Sequence[Received[Any]]":
        """The requests, in the order of their arrival."""
        ...

    def add(self, request_id: RequestId, size: int, params: Any, /) -> bool:
        """Add a request. Returns False, having changed nothing, if it does not belong to the group."""
        ...

    def start(self, ticket: StartedAppend, /) -> bool:
        """Carry out the requests, and answer them later. Returns False, having changed nothing, if it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class Route(Generic[C]):
    """The decoder and the handler of one method.

    Attributes:
        decode: Decodes params without extensions. See `ParamsReader`.
        decode_slowly: Decodes params that `decode` refuses, or raises an error with the reason.
        call: Calls the handler. Returns a result, a `Pending`, an `Unopened` or a coroutine.
        execution: How the handler runs.
        effect: When the request takes effect on the session that `names` finds in its params; None if it is about no
            session.
        names: Finds the session in the params.
        group: Makes the group of the most frequent requests of the method, with the params of the first of them. None:
            requests of the method are carried out one by one.
        starts_when_idle: Whether the request needs no ticket while no other is in progress: it only reads, from a
            session that `sessionId` names, or it is about no session.

    """

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]
    call: Callable[[C, Any], Any]
    execution: Execution[*tuple[Any, ...], Any]
    effect: Effect | Callable[[Any], Effect] | None
    names: Names
    starts_when_idle: bool
    group: Callable[[C, Any], RequestGroup] | None = None
