"""Long computations in a child process, so that they do not hold the daemon's interpreter lock.

A thread is not enough: one call into C (a regular expression, a join of many bytes) or one garbage collection stops
all threads until it ends, and its duration grows with the data. The process serves one call. It reads its work from
standard input, and ends with the daemon: when nothing reads its standard output.
"""

import asyncio
import contextlib
import gc
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, ParamSpec, TypeVar, cast

from sessiond.hub.errors import ChildFailed, ChildNotStarted

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
A = TypeVar("A")

COMMAND: Final = (sys.executable, "-E", "-P", "-m", "sessiond.hub.execution.child_process")
"""The command of the child process."""
_NICENESS: Final = 5
_PROTOCOL: Final = 5


async def run_in_child_process(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a module-level function in a new process, and return its result or raise its exception.

    Arguments, results and exceptions are pickled. Canceling kills the process.

    Raises:
        ChildNotStarted: The process could not be started; nothing was done.
        ChildFailed: The process ended without a result.
    """
    return cast(R, await _run((function, args, kwargs), None))


async def run_on_pieces(
    function: Callable[[Iterable[T], A], R], pieces: AsyncIterator[Iterable[T]], argument: A
) -> R:
    """Call a function as `run_in_child_process` does, with an iterable of pieces that are sent while it runs.

    Neither process ever holds more than a few of the pieces, unless the function does. No piece is None.

    Args:
        function: The function. Its iterable raises an exception if this process ends before the last piece.
        pieces: The pieces. A thread iterates over each of the groups.
        argument: The second argument of the function.
    """
    return cast(R, await _run((function, (argument,), {}), pieces))


async def _run(call: object, pieces: AsyncIterator[Iterable[object]] | None) -> object:
    process = await asyncio.to_thread(_started)
    try:
        await _in_thread(process, _send, process, [(call, pieces is not None)])
        if pieces is not None:
            async for some in pieces:
                if not await _in_thread(process, _send, process, some):
                    break
            await _in_thread(process, _send, process, [None])
        has_returned, result = await _in_thread(process, _answer, process)
    finally:
        process.kill()  # it has no work left, or must not continue
        await asyncio.to_thread(_close, process)
    if not has_returned:
        try:
            raise result
        finally:
            del result  # the error would hold its own frames, and the call, until a garbage collection
    return result


async def _in_thread(
    process: "subprocess.Popen[bytes]", exchange: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Exchange data with the process in a thread. Canceling kills the process, so that the thread ends."""
    exchanging = asyncio.ensure_future(asyncio.to_thread(exchange, *args, **kwargs))
    try:
        return await asyncio.shield(exchanging)
    finally:
        if not exchanging.done():
            process.kill()
            await asyncio.wait([exchanging])
            exchanging.exception()


def _started() -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
        )
    except OSError as error:
        raise ChildNotStarted(f"could not be started: {error.strerror or error}") from error


def _send(process: "subprocess.Popen[bytes]", pieces: Iterable[object]) -> bool:
    """Send pieces to the process. Returns False if the process has answered or ended."""
    assert process.stdin is not None
    try:
        for piece in pieces:
            pickle.dump(piece, process.stdin, _PROTOCOL)
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _answer(process: "subprocess.Popen[bytes]") -> tuple[bool, Any]:
    """Return the answer of the process: whether the call has returned, and its result or its exception."""
    assert process.stdout is not None
    try:
        answer: tuple[bool, Any] = pickle.load(process.stdout)
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        process.kill()
        code = process.wait()
        reason = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        raise ChildFailed(reason) from error
    return answer


def _close(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with contextlib.suppress(OSError):
            stream.close()
    process.wait()


def main() -> None:
    """Run the work that standard input describes, and write the result to standard output."""
    os.nice(_NICENESS)
    gc.disable()  # the process ends before memory matters
    threading.Thread(target=_end_with_the_daemon, daemon=True).start()
    (function, args, kwargs), takes_pieces = pickle.load(sys.stdin.buffer)
    answer: tuple[bool, Any]
    try:
        answer = True, function(*([_received()] if takes_pieces else []), *args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the daemon raises it
        answer = False, error
    pickle.dump(answer, sys.stdout.buffer, _PROTOCOL)
    sys.stdout.flush()
    os._exit(0)  # skips freeing the data, which takes time


def _end_with_the_daemon() -> None:
    """End the process when nothing reads its standard output any more."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    output.poll()
    os._exit(1)


def _received() -> Iterator[Any]:
    """Yield the pieces that follow on standard input. Raises `EOFError` if the last one does not come."""
    while (piece := pickle.load(sys.stdin.buffer)) is not None:
        yield piece


if __name__ == "__main__":
    main()
