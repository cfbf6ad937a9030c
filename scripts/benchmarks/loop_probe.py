"""A daemon whose event loop is timed: `python -m scripts.benchmarks.loop_probe REPORT serve`.

Each callback of the loop that runs for more than `REPORTED`, and each turn of the loop whose callbacks together do, is
written to REPORT as a line of JSON: the wall time, the processor time of the loop's thread, and for a callback the
coroutines that it ran. The wall time is longer than the processor time where the thread waited: for the interpreter
lock, which another thread held, or for the machine.
"""

import asyncio
import gc
import sys
import time
from asyncio import events
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

REPORTED = 0.003
"""Seconds."""


class Hold(msgspec.Struct):
    """One callback that held the loop, or all callbacks of one turn.

    `ended` is a time of `time.perf_counter`, which all processes share.
    """

    ended: float
    wall: float
    cpu: float
    what: str
    is_turn: bool = False


def read_report(path: Path) -> list[Hold]:
    """The callbacks in a report that may still be written."""
    return [hold for hold in _read(path) if not hold.is_turn]


def read_turns(path: Path) -> list[Hold]:
    """The turns in a report that may still be written."""
    return [hold for hold in _read(path) if hold.is_turn]


def _read(path: Path) -> list[Hold]:
    lines = path.read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=Hold) for line in lines[:-1]]


def _time_callbacks(report: Callable[[Hold], None]) -> None:
    """Time each callback of the event loop: all of them are run by `Handle._run`."""
    handles: Any = events.Handle
    run = handles._run  # noqa: SLF001 - there is no public place where all callbacks pass
    wall_clock, cpu_clock = time.perf_counter, time.thread_time

    def timed(handle: Any) -> None:
        # They are read now, because afterwards they and what a coroutine awaited are gone.
        what = _name(handle._callback, handle._args)  # noqa: SLF001
        wall, cpu = wall_clock(), cpu_clock()
        run(handle)
        ended = wall_clock()
        if ended - wall > REPORTED:
            report(Hold(ended, ended - wall, cpu_clock() - cpu, what))

    handles._run = timed  # noqa: SLF001 - as above


def _time_turns(report: Callable[[Hold], None]) -> None:
    """Time the callbacks of each turn together, without the wait for the first of them."""
    loops: Any = BaseEventLoop
    run_once = loops._run_once  # noqa: SLF001 - there is no public place where a turn begins and ends
    wall_clock, cpu_clock = time.perf_counter, time.thread_time

    def timed(loop: Any) -> None:
        wall, cpu = wall_clock(), cpu_clock()
        run_once(loop)
        ended, used = wall_clock(), cpu_clock() - cpu
        if used > REPORTED:
            report(Hold(ended, ended - wall, used, "a turn of the event loop", is_turn=True))

    loops._run_once = timed  # noqa: SLF001 - as above


def _name(callback: object, args: Any) -> str:
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        owner = "" if task is None else f"{type(task).__name__}."
        inner = f"({_name(args[0], None)})" if args and callable(args[0]) else ""
        return owner + str(getattr(callback, "__name__", repr(callback))) + inner
    names = []
    coroutine: Any = task.get_coro()
    while coroutine is not None and hasattr(coroutine, "__qualname__"):
        names.append(coroutine.__qualname__)
        coroutine = getattr(coroutine, "cr_await", None)
    return " > ".join(names)


def _time_collections(report: Callable[[Hold], None]) -> None:
    began = [0.0, 0.0]

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            began[:] = time.perf_counter(), time.thread_time()
            return
        ended = time.perf_counter()
        if ended - began[0] > REPORTED:
            what = f"garbage collection of generation {info['generation']}"
            report(Hold(ended, ended - began[0], time.thread_time() - began[1], what))

    gc.callbacks.append(collected)


def _time_steps(report: Callable[[Hold], None]) -> None:
    """Time each step of long work: the scheduler's callback has no name for what it runs."""
    from sessiond.hub.execution import slices

    step: Any = slices._step  # noqa: SLF001 - there is no public place where all steps pass
    wall_clock, cpu_clock = time.perf_counter, time.thread_time

    def timed(job: Any) -> Any:
        what = _name_of_work(job.work)
        wall, cpu = wall_clock(), cpu_clock()
        more = step(job)
        ended = wall_clock()
        if ended - wall > REPORTED:
            report(Hold(ended, ended - wall, cpu_clock() - cpu, f"step of {what}"))
        return more

    slices._step = timed  # noqa: SLF001 - as above


def _name_of_work(work: Any) -> str:
    names = []
    while work is not None and hasattr(work, "__qualname__"):
        names.append(work.__qualname__)
        work = getattr(work, "gi_yieldfrom", None)
    return " > ".join(names)


def main() -> None:
    path, *arguments = sys.argv[1:]
    file = open(path, "ab", buffering=0)  # noqa: SIM115 - for as long as the process lives

    def report(hold: Hold) -> None:
        file.write(msgspec.json.encode(hold) + b"\n")

    _time_callbacks(report)
    _time_turns(report)
    _time_collections(report)
    _time_steps(report)
    from sessiond.cli.main import main as command

    sys.argv = ["sessiond", *arguments]
    sys.exit(command())


if __name__ == "__main__":
    main()
