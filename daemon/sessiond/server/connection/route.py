"""What the dispatcher knows of one method: how to decode its params, when it takes effect, and how its handler runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from sessiond.server.connection.execution import Execution
from sessiond.server.connection.tickets import Effect

C = TypeVar("C")
"""The client, as handlers take it."""

Names: TypeAlias = Callable[[Any], tuple[str | None, str | None]]
"""How params name a session: by its id, or else by the path of its file."""


@dataclass(frozen=True, slots=True)
class Route(Generic[C]):
    """How requests of one method are decoded and answered.

    Attributes:
        decode: Decodes params that are as the method declares them; see `ParamsReader`.
        decode_slowly: Decodes params that `decode` refuses, or says what is wrong with them.
        call: Answers a request. It returns a result, a `Pending`, an `Unopened` or a coroutine.
        execution: How the handler runs.
        effect: When the request takes effect on the session that `names` finds in its params. None: it is about no
            session.
        names: Finds the session in the params.
        reads_by_id: Whether it only reads, from a session that is named by `sessionId`.

    """

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]
    call: Callable[[C, Any], Any]
    execution: Execution[*tuple[Any, ...], Any]
    effect: Effect | Callable[[Any], Effect] | None
    names: Names
    reads_by_id: bool
