"""How a handler runs: one type for each way, which also says what the handler returns.

`handlers.routes` registers each handler as one of these types. Its head says which to choose.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple, Unpack

from sessiond.protocol import types as t
from sessiond.server.connection.deferred import Pending, Unopened

Args = TypeVarTuple("Args")
R = TypeVar("R", bound=t.Wire)


@dataclass(frozen=True, slots=True)
class Execution(Generic[*Args, R]):
    """A handler and how it runs.

    Attributes:
        call: The handler. `Args` are the types of its arguments, `R` is its result.
        is_finished: Whether work that has begun is finished after the request is cancelled or the client leaves.
        answer_bytes: Bytes of the memory budget that the answer occupies while it is made. Requests of a client for
            which it is not 0 run one at a time, each after the client has read earlier answers.

    """

    call: Callable[[Unpack[Args]], object]
    is_finished: ClassVar[bool] = False
    answer_bytes: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class AnsweredAtOnce(Execution[*Args, R]):
    """Answers within the call. It must take less than a millisecond: meanwhile the daemon does nothing else."""

    call: Callable[[Unpack[Args]], R]


@dataclass(frozen=True, slots=True)
class Cancellable(Execution[*Args, R]):
    """Runs as a task, which ends when the request is cancelled or the client leaves. Its answer is small."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]


@dataclass(frozen=True, slots=True)
class LargeAnswer(Execution[*Args, R]):
    """As `Cancellable`, for an answer of up to some megabytes, such as a page of entries."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]
    answer_bytes = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SmallOrLargeAnswer(Execution[*Args, R]):
    """As `AnsweredAtOnce` when the handler returns a result, as `LargeAnswer` when it returns a coroutine."""

    call: Callable[[Unpack[Args]], R | Coroutine[Any, Any, R]]
    answer_bytes = LargeAnswer.answer_bytes


@dataclass(frozen=True, slots=True)
class HugeAnswer(Execution[*Args, R]):
    """As `LargeAnswer`, for an answer that may fill a frame. The daemon makes only a few of these at a time."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R]]
    answer_bytes = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Uninterrupted(Execution[*Args, R]):
    """Runs as a task that is finished once it has begun, because it changes something in several steps."""

    call: Callable[[Unpack[Args]], Coroutine[Any, Any, R] | Unopened]
    is_finished = True


@dataclass(frozen=True, slots=True)
class AfterWrite(Execution[*Args, R]):
    """Adds entries to a log and is answered when they have the requested durability, in the order of the log.

    No task waits for that: the commit resolves the `Pending` that the handler returns. It cannot be cancelled.
    """

    call: Callable[[Unpack[Args]], Pending] | Callable[[Unpack[Args]], Coroutine[Any, Any, R | Pending]]
    is_finished = True


@dataclass(frozen=True, slots=True)
class AfterSummary(Execution[*Args, R]):
    """As `AfterWrite`, for an entry that may have a summary, which is written first and takes long.

    Cancelling the request gives up the summary until its entry is being written.
    """

    call: Callable[[Unpack[Args]], Pending]
    is_finished = True
