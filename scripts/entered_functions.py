"""The functions of the daemon that a request enters: the program of scripts/ways.

A daemon of its own reports the functions that are called in it, on whichever thread, between a request and its
response, or the notification that the request leads to. A request is sent several times; functions that only some of
the repetitions enter are left out, because timers and first loads enter those.
"""

import argparse
import ast
import json  # noqa: TID251 - a transcript as its agent writes it
import os
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import sessiond
from sessiond.client import connect_blocking
from sessiond.paths import find_locations

PACKAGE = Path(sessiond.__file__).parent
TIMES = 5
PATIENCE = 30.0
"""Seconds until a daemon must have started, or a line must have been followed."""

Entered = dict[str, int]
"""The number of calls, by function, written as module:function."""


class Recorder:
    """The functions of the package that are called while it records."""

    def __init__(self) -> None:
        self._calls: dict[CodeType, int] | None = None

    def install(self) -> None:
        """Watch this thread, and threads that start from now on."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def serve(self, questions: Connection) -> None:
        """Begin to record at each `True` that arrives, and answer each `False` with what was entered since."""
        sys.setprofile(None)
        while True:
            if questions.recv():
                self._calls = {}
                questions.send({})
            else:
                calls, self._calls = self._calls, None
                questions.send(_named(calls or {}))

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        calls = self._calls
        if calls is not None and event == "call":
            calls[frame.f_code] = calls.get(frame.f_code, 0) + 1


def _named(calls: dict[CodeType, int]) -> Entered:
    """Leave out other packages, and parts of functions such as comprehensions."""
    entered: Entered = {}
    for code, count in list(calls.items()):
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and not code.co_name.startswith("<"):
            module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            name = f"{module}:{code.co_qualname}"
            entered[name] = entered.get(name, 0) + count
    return entered


def _serve(questions: Connection, home: str) -> None:
    """Run a daemon for a home, in a process of its own, until the process is ended."""
    os.environ["SESSIOND_HOME"] = home
    os.environ["HOME"] = home  # the folder where the daemon looks for agents
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # its log
    recorder = Recorder()
    threading.Thread(target=recorder.serve, args=(questions,), daemon=True).start()
    recorder.install()
    from sessiond.cli.main import main

    sys.argv = ["sessiond", "serve"]
    main()


@contextmanager
def a_recorded_daemon() -> Iterator[tuple[Any, Connection, Path]]:
    """A blocking client of a new daemon, the connection to its recorder, and its home."""
    with tempfile.TemporaryDirectory(prefix="sd-") as home:
        processes = get_context("spawn")
        ours, theirs = processes.Pipe()
        process = processes.Process(target=_serve, args=(theirs, home))
        process.start()
        try:
            locations = find_locations({"SESSIOND_HOME": home})
            until = time.monotonic() + PATIENCE
            while not Path(locations.endpoint).exists() and time.monotonic() < until:
                time.sleep(0.05)
            with connect_blocking(autostart=False, locations=locations) as client:
                yield client, ours, Path(home)
        finally:
            process.kill()
            process.join()


def entered_by(request: Callable[[], object], questions: Connection) -> Entered:
    """Return the functions that a request enters each time, with the fewest calls that it took."""
    rounds: list[Entered] = []
    for _ in range(TIMES + 1):
        questions.send(True)
        questions.recv()
        request()
        questions.send(False)
        rounds.append(questions.recv())
        time.sleep(0.2)  # until the work after a response, such as a sync, is done
    warm = rounds[1:]
    common = set.intersection(*(set(entered) for entered in warm))
    return {name: min(entered[name] for entered in warm) for name in common}


class Requests:
    """The requests that are measured, of one client with two sessions: one of its own, and one that is followed."""

    def __init__(self, client: Any, home: Path) -> None:
        self._client = client
        self._own: str = client.call("session/create", {"cwd": str(home)})["session"]["sessionId"]
        self._leaf: str = self.append()["leafId"]
        self._followed = str(uuid.uuid4())
        self._transcript = home / ".claude/projects/-work" / f"{self._followed}.jsonl"
        self._lines = 0
        self._begin_following()

    def append(self, **more: Any) -> Any:
        message = {"role": "assistant", "content": [{"type": "text", "text": "Nothing."}], "timestamp": 0}
        return self._call("append", entries=[{"type": "message", "message": message}], **more)

    def append_to_leaf(self) -> None:
        self._leaf = self.append(expectedLeafId=self._leaf)["leafId"]

    def info(self) -> None:
        self._call("info")

    def entries(self) -> None:
        self._call("entries", entryIds=[self._leaf])

    def context(self) -> None:
        self._call("context")

    def list_sessions(self) -> None:
        self._client.call("session/list", {"limit": 20})

    def follow_line(self) -> None:
        """Write a line as the agent does, and wait until the daemon reports it."""
        self._write_line()
        for method, params in self._client.notifications():
            if method == "session/appended" and params["sessionId"] == self._followed:
                return

    def restart_from_leaf(self) -> None:
        """Use the leaf after the other appends."""
        self._leaf = self._call("info")["session"]["leafId"]

    def _call(self, method: str, **params: Any) -> Any:
        return self._client.call(f"session/{method}", {"sessionId": self._own, **params})

    def _begin_following(self) -> None:
        self._transcript.parent.mkdir(parents=True)
        self._write_line()
        self._client.call("agent/follow", {"agents": ["claude-code"]})
        until = time.monotonic() + PATIENCE
        while not self._client.call("session/resolve", {"query": self._followed})["sessions"]:
            if time.monotonic() > until:
                raise TimeoutError("the transcript was not followed")
            time.sleep(0.05)
        self._client.call("session/subscribe", {"sessionId": self._followed})

    def _write_line(self) -> None:
        number, self._lines = self._lines, self._lines + 1
        line = {
            "type": "user", "uuid": f"line-{number}", "parentUuid": f"line-{number - 1}" if number else None,
            "sessionId": self._followed, "isSidechain": False, "cwd": "/work", "version": "2.1.0",
            "timestamp": f"2026-01-01T00:00:{number:02}.000Z", "message": {"role": "user", "content": "What is left?"},
        }  # fmt: skip
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def measure() -> dict[str, Entered]:
    """Return the functions that each kind of request enters, by the name of the kind."""
    with a_recorded_daemon() as (client, questions, home):
        requests = Requests(client, home)
        found = {"append": entered_by(requests.append, questions)}
        requests.restart_from_leaf()
        return found | {
            name: entered_by(request, questions)
            for name, request in {
                "conditional append": requests.append_to_leaf,
                "info": requests.info,
                "entries": requests.entries,
                "list": requests.list_sessions,
                "context": requests.context,
                "followed line": requests.follow_line,
            }.items()
        }


def count_definitions() -> dict[str, int]:
    """Return the numbers of modules, functions, Protocols and forwards of the package."""
    counts = {"modules": 0, "functions": 0, "Protocols": 0, "forwards": 0}
    for path in sorted(PACKAGE.rglob("*.py")):
        counts["modules"] += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                counts["Protocols"] += any(ast.unparse(base).startswith("Protocol") for base in node.bases)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                counts["functions"] += 1
                counts["forwards"] += _is_forward(node)
    return counts


def _is_forward(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a method only calls a method of one of its attributes, with its own parameters."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr) or function.decorator_list:
        return False
    call = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    if not isinstance(call, ast.Call) or names[:1] != ["self"]:
        return False
    passed = [*call.args, *(keyword.value for keyword in call.keywords)]
    return (
        ast.unparse(call.func).count(".") > 1 and [ast.unparse(argument) for argument in passed] == names[1:]
    )


def main() -> None:
    """Print the table, or the functions of one request."""
    parser = argparse.ArgumentParser(prog="scripts/ways", description=__doc__)
    parser.add_argument(
        "--list", metavar="NAME", help="print the functions that a request enters, such as append"
    )
    chosen: str | None = parser.parse_args().list
    found = measure()
    if chosen is not None:
        if chosen not in found:
            parser.error(f"there is no request {chosen!r}; there are: {', '.join(found)}")
        print("\n".join(f"{name}  {count}" for name, count in sorted(found[chosen].items())))
        return
    print(f"{'request':20} {'calls':>6} {'functions':>10} {'modules':>8}")
    for name, entered in found.items():
        modules = {function.partition(":")[0] for function in entered}
        print(f"{name:20} {sum(entered.values()):6} {len(entered):10} {len(modules):8}")
    print("\n" + ", ".join(f"{count:,} {name}" for name, count in count_definitions().items()))


if __name__ == "__main__":
    main()
