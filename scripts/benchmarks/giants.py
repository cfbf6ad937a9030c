"""Files of agents that are larger than memory should be: a rollout, a transcript and a database.

The rollout of Codex repeats its history, up to 24 MB, at each compaction. The transcript of Claude Code has lines of
10 MB, the outputs of tools. The database of OpenCode has sessions of 250 MB.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from scripts.benchmarks.agent_mix import OPENCODE_TABLES
from scripts.benchmarks.costs import cpu_with_children, highest_child, on_disk, peaks
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, at_most, duration, formatted, sampled

SIZES: Final = {"codex": 2_000_000_000, "claude-code": 1_000_000_000, "opencode": 1_000_000_000}
SMOKE_SIZE: Final = 5_000_000
LONGEST_WAIT: Final = 0.050
"""Seconds that another client waits at most for the answer to a small request."""
DAEMON_BYTES: Final = 60e6
"""Bytes that the daemon needs more while the file is read."""
CHILD_BYTES: Final = 100e6
LINES: Final = 5
"""The process that reads may need `CHILD_BYTES` and this many of the longest line."""
_HISTORY: Final = 24_000_000
_LINE: Final = 10_000_000
_SESSION: Final = 250_000_000
_PAUSE: Final = 0.005
_CWD: Final = "/home/ada/src/giant"
_AT: Final = 1_767_225_600_000


class _Giant(NamedTuple):
    """The size of a written source: its bytes, and those of its longest line or row."""

    size: int
    longest: int


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure the first reading of each, with a private home."""
    writers: dict[str, tuple[str, Callable[[Path, int], _Giant]]] = {
        "codex": ("a rollout of Codex", write_rollout),
        "claude-code": ("a transcript of Claude Code", write_transcript),
        "opencode": ("a database of OpenCode", write_database),
    }
    rows: list[Row] = []
    for agent, (name, write) in writers.items():
        ada = folder / f"ada-{agent}"
        giant = write(ada, SMOKE_SIZE if quick else int(os.environ.get("BENCH_GIANT") or SIZES[agent]))
        rows += _measured(agent, name, giant, ada, folder / f"home-{agent}", quick=quick)
    return rows


def _measured(agent: str, name: str, giant: _Giant, ada: Path, home: Path, *, quick: bool) -> list[Row]:
    with _home(ada), sessiond(home) as daemon:
        small = daemon.call("session/create", cwd="/tmp", id="bench-small")["session"]["sessionId"]
        at_first, before = daemon.resident(), cpu_with_children(daemon.pid)
        with peaks(daemon.pid) as found, _waits(daemon, small) as waits:
            daemon.call("agent/follow", agents=[agent])
            while daemon.call("session/search", query="zebra")["unsearched"]["sessionCount"]:
                time.sleep(0.5)
        used = cpu_with_children(daemon.pid) - before
    stored = on_disk(home).total()
    waits.sort()
    allowed = CHILD_BYTES + LINES * giant.longest
    size = f"{giant.size / 1e6:,.0f} MB, the longest line {giant.longest / 1e6:,.1f} MB"
    return [
        sampled(f"{name} of {size}: CPU for 1 GB", [used / giant.size * 1e9], "s"),
        sampled(
            "  highest memory of the process that reads", [highest_child(found, daemon.pid)], "B",
            limit=None if quick else allowed,
        ),
        sampled(
            "  memory that the daemon needs more", [max(0, found[daemon.pid] - at_first)], "B",
            limit=None if quick else DAEMON_BYTES,
        ),
        Row(
            "  small requests of another client",
            f"p50 {duration(waits[len(waits) // 2])}, max {duration(waits[-1])}",
            bar="" if quick else f"max <= {duration(LONGEST_WAIT)}",
            verdict="" if quick else at_most(waits[-1], LONGEST_WAIT),
        ),
        sampled("  stored here, of its size", [stored / giant.size], "x", ratio=formatted(stored, "B")),
    ]  # fmt: skip


@contextmanager
def _home(home: Path) -> Iterator[None]:
    former = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        if former is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = former


@contextmanager
def _waits(daemon: Daemon, session: str) -> Iterator[list[float]]:
    """Ask for information about a session, 200 times a second, during the block. Yields the seconds of each wait."""
    waits: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        with daemon.connect() as connection:
            while not is_over.wait(_PAUSE):
                began = time.perf_counter()
                connection.call("session/info", {"sessionId": session})
                waits.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waits
    finally:
        is_over.set()
        asking.join()


# --- the files ---------------------------------------------------------------------------------------------


def _words(seed: int, count: int) -> str:
    """Return words that do not repeat those of another seed."""
    state, words = seed * 2_654_435_761 % (1 << 32), []
    for _ in range(count):
        state = (state * 1_664_525 + 1_013_904_223) % (1 << 32)
        words.append(f"w{state % 5_003}")
    return " ".join(words)


def _stamp(number: int) -> str:
    return f"{datetime.fromtimestamp(_AT / 1000 + number, UTC):%Y-%m-%dT%H:%M:%S}.000Z"


def write_rollout(home: Path, size: int) -> _Giant:
    """Write a rollout of Codex whose compactions repeat the history, of about `size` bytes."""
    session = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0005"
    path = home / ".codex/sessions/2026/01/01" / f"rollout-2026-01-01T00-00-00-{session}.jsonl"
    path.parent.mkdir(parents=True)
    history: list[bytes] = []
    written = longest = count = turn = 0
    with path.open("wb") as file:

        def write(kind: str, payload: bytes) -> None:
            nonlocal written, longest, count
            count += 1
            line = b'{"timestamp":"%s","type":"%s","payload":%s}\n' % (
                _stamp(count).encode(),
                kind.encode(),
                payload,
            )
            file.write(line)
            written, longest = written + len(line), max(longest, len(line))

        def item(payload: dict[str, Any]) -> None:
            history.append(msgspec.json.encode(payload))
            write("response_item", history[-1])

        about = {
            "id": session,
            "timestamp": _stamp(0),
            "cwd": _CWD,
            "originator": "codex_cli_rs",
            "cli_version": "0.171.0",
        }
        write("session_meta", msgspec.json.encode(about))
        while written < size:
            turn += 1
            prompt = f"prompt {turn} {_words(turn, 60)}"
            write("event_msg", msgspec.json.encode({"type": "user_message", "message": prompt}))
            item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]})
            for call in range(6):
                call_id = f"call_{turn}_{call}"
                item(
                    {
                        "type": "function_call",
                        "name": "shell",
                        "arguments": '{"command":["ls"]}',
                        "call_id": call_id,
                    }
                )
                output = _words(turn * 10 + call, 600)
                item({"type": "function_call_output", "call_id": call_id, "output": output})
            answer = [{"type": "output_text", "text": f"answer {turn} {_words(turn, 100)}"}]
            item({"type": "message", "role": "assistant", "content": answer})
            if turn % 6 == 0:
                first, repeated = len(history), 0
                while first and repeated < _HISTORY:
                    first -= 1
                    repeated += len(history[first])
                items = b",".join(history[first:])
                write("compacted", b'{"message":"summary %d","replacement_history":[%s]}' % (turn, items))
    return _Giant(written, longest)


def write_transcript(home: Path, size: int) -> _Giant:
    """Write a transcript of Claude Code with lines of 10 MB, of about `size` bytes."""
    session = "5f0c5c0e-0000-4000-8000-00000000c1a0"
    path = home / ".claude/projects/-home-ada-src-giant" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    written = longest = count = 0
    parent: str | None = None
    with path.open("wb") as file:

        def write(kind: str, message: dict[str, Any], **more: Any) -> None:
            nonlocal written, longest, count, parent
            count += 1
            uuid = f"{count:08x}-0002-4222-8333-444444444444"
            line = {
                "parentUuid": parent, "isSidechain": False, "cwd": _CWD, "sessionId": session, "version": "2.1.332",
                "type": kind, "message": message, "uuid": uuid, "timestamp": _stamp(count), **more,
            }  # fmt: skip
            data = msgspec.json.encode(line) + b"\n"
            file.write(data)
            written, longest, parent = written + len(data), max(longest, len(data)), uuid

        def says(block: dict[str, Any], reason: str) -> None:
            usage = {"input_tokens": 3, "output_tokens": 4}
            about = {"id": f"msg_{count}", "type": "message", "role": "assistant", "model": "claude-opus-4-6"}
            write("assistant", {**about, "content": [block], "stop_reason": reason, "usage": usage})

        while written < size:
            write("user", {"role": "user", "content": f"prompt {count} {_words(count, 40)}"})
            call_id = f"toolu_{count}"
            says(
                {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "cat big"}},
                "tool_use",
            )
            block = _words(count, 20_000)
            output = block * (_LINE // 2 // len(block))
            result = {"tool_use_id": call_id, "type": "tool_result", "content": output, "is_error": False}
            beside = {"stdout": output, "stderr": "", "interrupted": False}
            write("user", {"role": "user", "content": [result]}, toolUseResult=beside)
            says({"type": "text", "text": f"done {_words(count, 100)}"}, "end_turn")
    return _Giant(written, longest)


def write_database(home: Path, size: int) -> _Giant:
    """Write a database of OpenCode with sessions of 250 MB, of about `size` bytes."""
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.executescript(OPENCODE_TABLES)
    written = longest = count = number = 0

    def message(session: str, about: dict[str, Any], parts: list[dict[str, Any]]) -> int:
        nonlocal longest, count
        count += 1
        now = _AT + count * 1_000
        name = f"msg_{count:026}"
        data = msgspec.json.encode(about | {"time": {"created": now, "completed": now}}).decode()
        database.execute("INSERT INTO message VALUES(?, ?, ?, ?, ?)", (name, session, now, now, data))
        added = len(data)
        for place, part in enumerate(parts):
            data = msgspec.json.encode(part).decode()
            row = (f"prt_{count:020}{place:06}", name, session, now, now, data)
            database.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", row)
            added, longest = added + len(data), max(longest, len(data))
        return added

    while written < size:
        number += 1
        session, now = f"ses_{number:026}", _AT + count * 1_000
        values = (session, None, "x", _CWD, f"Session {number}", "1.18.33", None, now, now)
        database.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        before = written
        while written - before < min(_SESSION, size):
            written += message(
                session, {"role": "user"}, [{"type": "text", "text": f"prompt {count} {_words(count, 60)}"}]
            )
            block = _words(count, 36_000)
            parts: list[dict[str, Any]] = [
                {
                    "type": "tool", "callID": f"call_{count}_{place}", "tool": "bash",
                    "state": {
                        "status": "completed", "input": {"command": "x"}, "output": f"{place} {block}", "title": "x",
                        "metadata": {}, "time": {"start": now, "end": now},
                    },
                }
                for place in range(4)
            ]  # fmt: skip
            about = {
                "role": "assistant",
                "modelID": "gpt-5.5",
                "providerID": "openai",
                "cost": 0,
                "finish": "stop",
            }
            written += message(session, about, [*parts, {"type": "text", "text": f"done {count}"}])
        database.execute("INSERT INTO event_sequence VALUES(?, ?)", (session, count))
        database.commit()
    database.close()
    return _Giant(written, longest)
