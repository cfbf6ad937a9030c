"""Imports of a folder of transcripts of Claude Code: the first one, and the next one, when no file has changed."""

import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, middle, milliseconds, sampled

FILES, SMOKE_FILES, LINES = 400, 40, 120
MEAN_TEXT = 900
"""Characters of an average message."""
AGAIN = 0.1
_WRITTEN_AT = 1_767_225_600
"""The modification time of the files, in seconds since 1970: no program writes to the files any more."""


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure the processor time of the daemon and of the command `sessiond import FOLDER` together."""
    transcripts = folder / "projects"
    count = SMOKE_FILES if quick else FILES
    size = write_transcripts(transcripts, count)
    first, again, stats, restarted = [], [], [], []
    for number in range(1 if quick else 5):
        home = folder / f"home-{number}"
        with sessiond(home) as daemon:
            first.append(_import(daemon, home, transcripts, f"{count} created"))
            daemon.settled_cpu()
            for _ in range(3):
                again.append(_import(daemon, home, transcripts, f"{count} unchanged"))
                stats.append(stat_all(transcripts, count))
        with sessiond(home) as daemon:
            restarted.append(_import(daemon, home, transcripts, f"{count} unchanged"))
    reference = f"stat of {count} files ({milliseconds(middle(stats))})"
    return [
        sampled(f"import {count} transcripts ({size / 1e6:.0f} MB), CPU of daemon and command", first, "s"),
        sampled(
            "  again, unchanged", again, "s",
            ratio=f"{middle(again) / middle(stats):.0f} x {reference}", limit=AGAIN if count == FILES else None,
        ),
        sampled("  in a daemon that was started just now", restarted, "s"),
    ]  # fmt: skip


def _import(daemon: Daemon, home: Path, transcripts: Path, outcome: str) -> float:
    """Import the folder, and return the seconds of processor time. Raises `RuntimeError` for another outcome."""
    program = str(Path(sys.executable).with_name("sessiond"))
    before = daemon.cpu() + _children()
    done = subprocess.run(
        [program, "import", str(transcripts)],
        check=True,
        env={**os.environ, "SESSIOND_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    used = daemon.cpu() + _children() - before
    if done.stderr.split("\n")[0] != outcome:
        raise RuntimeError(f"the import is not complete: {done.stderr!r:.300}")
    return used


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stat_all(folder: Path, count: int) -> float:
    """Return the seconds of processor time to find the files and to read the status of each."""
    start = time.process_time()
    found = [os.lstat(f"{parent}/{name}") for parent, _, names in os.walk(folder) for name in names]
    used = time.process_time() - start
    if len(found) != count:
        raise RuntimeError("files are missing")
    return used


def write_transcripts(folder: Path, count: int, lines: int = LINES) -> int:
    """Write transcripts of so many lines, ten for each project, and return their size in bytes."""
    size = 0
    for number in range(count):
        session = f"{number:08x}-1111-4222-8333-444444444444"
        path = folder / f"-work-project-{number // 10:02}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in _lines(number, session, lines))
        path.write_bytes(data)
        os.utime(path, (_WRITTEN_AT, _WRITTEN_AT))
        size += len(data)
    return size


def _lines(number: int, session: str, count: int) -> Iterator[dict[str, object]]:
    """Yield the lines of a transcript: prompts, answers with calls of tools, their results, and snapshots of files."""
    chance = random.Random(number)
    parent: str | None = None
    for turn in range(count):
        uuid = f"{number:08x}-{turn:04x}-4222-8333-555555555555"
        text = 'a line of text with é and "quotes"\n' * max(1, int(chance.expovariate(35 / MEAN_TEXT)))
        kind = turn % 4
        if kind == 3 and turn % 20 == 19:
            yield {"type": "file-history-snapshot", "messageId": uuid, "snapshot": {"trackedFileBackups": {}}}
            continue
        blocks: list[dict[str, object]] = [{"type": "text", "text": text}]
        if kind == 1:
            blocks.append(
                {"type": "tool_use", "id": f"toolu_{turn}", "name": "Read", "input": {"path": f"/{turn}"}}
            )
        elif kind == 2:
            blocks = [{"type": "tool_result", "tool_use_id": f"toolu_{turn - 1}", "content": text}]
        role = "assistant" if kind % 2 else "user"
        message: dict[str, object] = {"role": role, "content": blocks}
        if role == "assistant":
            message |= {
                "id": f"msg_{turn}", "model": "claude-test-1",
                "stop_reason": "tool_use" if kind == 1 else "end_turn",
                "usage": {"input_tokens": 100, "output_tokens": 20},
            }  # fmt: skip
        yield {
            "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "isSidechain": False,
            "cwd": f"/work/project-{number // 10:02}", "version": "2.1.0", "gitBranch": "main",
            "timestamp": f"2026-01-01T{turn // 60:02}:{turn % 60:02}:00.000Z", "message": message,
        }  # fmt: skip
        parent = uuid
