"""The route of one method: how its params are decoded, when it takes effect, and how its handler runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from sessiond.rpc.message import RequestId
from sessiond.server.connection.execution import Execution
from sessiond.server.connection.tickets import Effect, StartedAppend

C = TypeVar("C")
"""The client, the first argument of handlers."""

Names: TypeAlias = Callable[[Any], tuple[str | None, str | None]]
"""Returns how params name a session: its id and the path of its file. At most one is not None."""


@dataclass(frozen=True, slots=True)
class Route(Generic[C]):
    """How requests of one method are decoded and answered.

    Attributes:
        decode: Decodes params without extensions. See `ParamsReader`.
        decode_slowly: Decodes params that `decode` refuses, or raises an error with the reason.
        call: Calls the handler. Returns a result, a `Pending`, an `Unopened` or a coroutine.
        execution: How the handler runs.
        effect: When the request takes effect on the session that `names` finds in its params. None: it is about no
            session.
        names: Finds the session in the params.
        direct: Carries out the most frequent request of the method without the objects that other requests need. It
            returns False, having changed nothing, for any other request. None: there is no such request.
        reads_by_id: Whether the request only reads, from a session that `sessionId` names.

    """

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]
    call: Callable[[C, Any], Any]
    execution: Execution[*tuple[Any, ...], Any]
    effect: Effect | Callable[[Any], Effect] | None
    names: Names
    reads_by_id: bool
    direct: "Callable[[C, RequestId, int, Any, StartedAppend], bool] | None" = None
