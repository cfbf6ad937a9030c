"""Long computations in a child process, so that they do not hold the daemon's interpreter lock.

A thread is not enough: one call into C (a regular expression, a join of many bytes) or one garbage collection stops
all threads until it ends, and its duration grows with the data. The process reads its work from standard input, and
ends with the daemon: when nothing reads its standard output. It serves one call, or several if it is kept.
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
KEPT_SECONDS: Final = 30.0
"""The time after its last call at which a kept process ends."""


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


class KeptProcess:
    """A child process that serves one call after the other, because a start takes as long as reading 6 MB.

    It is started for the first call, and ends when it has had none for `KEPT_SECONDS`. A call that comes while it is
    busy gets a process of its own.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_busy = False
        self._ending: asyncio.TimerHandle | None = None

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function as `run_in_child_process` does. If a process ends that served others, a new one is asked."""
        if self._is_busy:
            return await run_in_child_process(function, *args, **kwargs)
        self._is_busy = True
        if self._ending is not None:
            self._ending.cancel()
        try:
            return cast(R, await self._run((function, args, kwargs)))
        finally:
            self._is_busy = False
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(KEPT_SECONDS, loop.run_in_executor, None, self.close)

    def close(self) -> None:
        """End the process, unless it is busy: canceling its call ends it then. Blocks."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _close(process)

    async def _run(self, call: object) -> object:
        former, self._process = self._process, None
        if former is not None:
            with contextlib.suppress(
                ChildFailed
            ):  # the system has ended it, for lack of memory or with its group
                return await self._answered(former, call)
        return await self._answered(await asyncio.to_thread(_started), call)

    async def _answered(self, process: "subprocess.Popen[bytes]", call: object) -> object:
        try:
            answer = await _exchanged(process, call, None, is_last=False)
        except BaseException:
            await _end(process)
            raise
        self._process = process
        try:
            return _result(*answer)
        finally:
            del answer


async def _run(call: object, pieces: AsyncIterator[Iterable[object]] | None) -> object:
    process = await asyncio.to_thread(_started)
    try:
        answer = await _exchanged(process, call, pieces, is_last=True)
    finally:
        await _end(process)  # it has no work left, or must not continue
    try:
        return _result(*answer)
    finally:
        del answer


async def _exchanged(
    process: "subprocess.Popen[bytes]",
    call: object,
    pieces: AsyncIterator[Iterable[object]] | None,
    *,
    is_last: bool,
) -> tuple[bool, Any]:
    """Send a call to a process, and return its answer."""
    await _in_thread(process, _send, process, [(call, pieces is not None, is_last)])
    if pieces is not None:
        async for some in pieces:
            if not await _in_thread(process, _send, process, some):
                break
        await _in_thread(process, _send, process, [None])
    return await _in_thread(process, _answer, process)


def _result(has_returned: bool, result: Any) -> object:
    """Return the result, or raise the error. No frame keeps an error: it would hold its own frames, and the call."""
    if not has_returned:
        try:
            raise result
        finally:
            del result
    return result


async def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    await asyncio.to_thread(_close, process)


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
    """Run the work that standard input describes, and write the results to standard output."""
    os.nice(_NICENESS)
    gc.disable()  # a call ends before memory matters
    threading.Thread(target=_end_with_the_daemon, daemon=True).start()
    is_last = False
    while not is_last:
        is_last = _serve()
    os._exit(0)  # skips freeing the data, which takes time


def _serve() -> bool:
    """Run a call. Returns whether it is the last one."""
    (function, args, kwargs), takes_pieces, is_last = pickle.load(sys.stdin.buffer)
    answer: tuple[bool, Any]
    try:
        answer = True, function(*([_received()] if takes_pieces else []), *args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the daemon raises it
        answer = False, error
    pickle.dump(answer, sys.stdout.buffer, _PROTOCOL)
    sys.stdout.flush()
    if not is_last:
        del answer, args, kwargs
        gc.collect()
    return bool(is_last)


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
