"""The types of handlers: each defines how a handler runs and what it returns.

`handlers.routes` registers each handler as one of these types. The docstring of that module explains which type to
choose.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple, Unpack

from msgspec import Raw

from sessiond.protocol import types as t
from sessiond.server.connection.deferred import Pending, Unopened

Args = TypeVarTuple("Args")
R = TypeVar("R", bound=t.Wire)


@dataclass(frozen=True, slots=True)
class Execution(Generic[*Args, R]):
    """A handler and how it runs.

    Attributes:
        call: The handler. `Args` are the types of its arguments, `R` is the type of its result.
        is_finished: Whether work that has begun completes even if the request is canceled or the client disconnects.
        answer_bytes: Bytes of the memory budget that are reserved while the answer is created. If it is not 0, the
            requests of a client run one at a time, each after the client has read earlier answers.

    """

    call: Callable[[Unpack[Args]], object]
    is_finished: ClassVar[bool] = False
    answer_bytes: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class AnsweredAtOnce(Execution[*Args, R]):
    """Answers within the call. The call must take less than a millisecond, because it blocks the event loop.

    The handler returns a result, or one that it has encoded before.
    """

    call: Callable[[Unpack[Args]], R] | Callable[[Unpack[Args]], Raw]


@dataclass(frozen=True, slots=True)
class Cancellable(Execution[*Args, R]):
    """Runs as a task that is canceled with the request or when the client disconnects. Its answer is small."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]


@dataclass(frozen=True, slots=True)
class LargeAnswer(Execution[*Args, R]):
    """Runs as `Cancellable`. Its answer has up to some megabytes, such as a page of entries."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]
    answer_bytes = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SmallOrLargeAnswer(Execution[*Args, R]):
    """Runs as `AnsweredAtOnce` if the handler returns a result, as `LargeAnswer` if it returns a coroutine."""

    call: Callable[[Unpack[Args]], R | Coroutine[Any, Any, R]]
    answer_bytes = LargeAnswer.answer_bytes


@dataclass(frozen=True, slots=True)
class HugeAnswer(Execution[*Args, R]):
    """Runs as `LargeAnswer`. Its answer may fill a frame. The daemon creates only a few of them at a time."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]
    answer_bytes = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Uninterrupted(Execution[*Args, R]):
    """Runs as a task that completes once it has begun, because it changes something in several steps."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R] | Unopened]
    is_finished = True


@dataclass(frozen=True, slots=True)
class AfterWrite(Execution[*Args, R]):
    """Appends entries to a log and is answered when they have the requested durability, in log order.

    No task waits for that: the commit resolves the `Pending` that the handler returns. The request cannot be
    canceled.
    """

    call: Callable[[Unpack[Args]], Pending] | Callable[[Unpack[Args]], Coroutine[Any, Any, R | Pending]]
    is_finished = True


@dataclass(frozen=True, slots=True)
class AfterSummary(Execution[*Args, R]):
    """Runs as `AfterWrite`, for an entry that may need a summary. The summary is written first and takes long.

    Canceling the request abandons the summary, until its entry is being written.
    """

    call: Callable[[Unpack[Args]], Pending]
    is_finished = True
