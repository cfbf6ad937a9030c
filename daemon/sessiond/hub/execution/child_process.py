"""Long computations in a child process, so that they do not hold the daemon's interpreter lock.

A thread is not enough: one call into C (a regular expression, a join of many bytes) or one garbage collection stops
all threads until it ends, and its duration grows with the data. The process serves one call. It reads its work from
standard input, and ends with the daemon, because nothing reads its standard output then.
"""

import asyncio
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, cast

from sessiond.error_text import TemplatedError

P = ParamSpec("P")
R = TypeVar("R")

_COMMAND: Final = (sys.executable, "-E", "-P", "-m", "sessiond.hub.execution.child_process")
_NICENESS: Final = 5
_PROTOCOL: Final = 5


class ChildFailed(TemplatedError):
    """Raised when the child process ends without a result."""

    sentence = "The process that was to do the work ended: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class ChildNotStarted(ChildFailed):
    """Raised when the system cannot start a child process, for lack of processes or memory."""

    sentence = "No process could be started: {reason}"


async def run_in_child_process(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a module-level function in a new process, and return its result or raise its exception.

    Arguments, results and exceptions are pickled. Canceling kills the process.

    Raises:
        ChildNotStarted: The process could not be started; nothing was done.
        ChildFailed: The process ended without a result.
    """
    process = await asyncio.to_thread(_started)
    talking = asyncio.ensure_future(asyncio.to_thread(_exchange, process, (function, args, kwargs)))
    try:
        has_returned, result = await asyncio.shield(talking)
    finally:
        if not talking.done():
            process.kill()
            await asyncio.wait([talking])
            talking.exception()
    if not has_returned:
        raise result
    return cast(R, result)


def _started() -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
        )
    except OSError as error:
        raise ChildNotStarted(str(error)) from error


def _exchange(process: "subprocess.Popen[bytes]", work: object) -> tuple[bool, Any]:
    """Send the work to the process and wait for its result."""
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(work, process.stdin, _PROTOCOL)
            process.stdin.close()
            answer: tuple[bool, Any] = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            process.kill()
            raise ChildFailed(str(error)) from error
        return answer


def main() -> None:
    """Run the work that standard input describes, and write the result to standard output."""
    os.nice(_NICENESS)
    gc.disable()  # the process ends before memory matters
    function, args, kwargs = pickle.load(sys.stdin.buffer)
    answer: tuple[bool, Any]
    try:
        answer = True, function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the daemon raises it
        answer = False, error
    pickle.dump(answer, sys.stdout.buffer, _PROTOCOL)
    sys.stdout.flush()
    os._exit(0)  # skips freeing the data, which takes time


if __name__ == "__main__":
    main()
