"""Two syncs of two daemons over a pipe, compared with tar over a pipe and an import of the same files."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from scripts.benchmarks.processes import sessiond
from scripts.benchmarks.report import Row, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

SESSIONS, SMOKE_SESSIONS, ENTRIES = 1_000, 60, 90
_MEAN_TEXT = 650
FIRST, NOTHING_NEW = 10.0, 0.3
_PROGRAM = str(Path(sys.executable).with_name("sessiond"))


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure the time of the command `sessiond sync`, with the daemons of both sides running."""
    count, rounds = (SMOKE_SESSIONS, 1) if quick else (SESSIONS, 3)
    sessions = folder / "here/data/sessions"
    size = _write(sessions, count)
    first, again, copied, imported, started = [], [], [], [], []
    with sessiond(folder / "here") as here:
        here.settled_cpu()
        for _ in range(rounds):
            copied.append(_copy_with_tar(sessions, folder / "copy"))
            with sessiond(folder / "there"):
                first.append(_sync(folder, f"Sent {count * ENTRIES:,} lines"))
                for _ in range(5):
                    again.append(_sync(folder, "Nothing to do"))
                    started.append(_timed([_PROGRAM, "status"], folder / "here"))
            shutil.rmtree(folder / "there")
            with sessiond(folder / "imported"):
                imported.append(_timed([_PROGRAM, "import", str(sessions)], folder / "imported"))
            shutil.rmtree(folder / "imported")
    is_full = count == SESSIONS
    return [
        sampled(
            f"first sync of {count:,} sessions ({count * ENTRIES:,} entries, {size / 1e6:.0f} MB)", first, "s",
            limit=FIRST if is_full else None,
            ratio=f"{middle(first) / middle(copied):.1f} x tar, {middle(first) / middle(imported):.2f} x an import",
            reason="Both daemons hash every line. The other one also decodes it for its tree, syncs a file for each "
            "session, and updates its index.",
        ),
        sampled("  tar over a pipe, and a sync of the file system", copied, "s"),
        sampled("  sessiond import of the same files", imported, "s"),
        sampled(
            "  nothing new", again, "s", limit=NOTHING_NEW if is_full else None,
            ratio=f"{middle(again) / middle(started):.1f} x sessiond status ({duration(middle(started))}), "
            f"{middle(again) / middle(first):.3f} x the first sync",
            reason="Two Pythons start, one of them with asyncio and the types of the protocol.",
        ),
    ]  # fmt: skip


def _write(sessions: Path, count: int) -> int:
    """Write sessions of twenty folders. Returns their size in bytes."""
    size = 0
    for number in range(count):
        session, project = f"bench-sync-{number:04}", number % 20
        path = sessions / f"--project-{project}--" / session_name(session)
        write_session(path, session, ENTRIES, cwd=f"/project-{project}", mean_text=_MEAN_TEXT)
        size += path.stat().st_size
    return size


def _sync(folder: Path, outcome: str) -> float:
    """Return the seconds of a sync of `here` and `there`. Raises `RuntimeError` for another outcome."""
    via = ["env", f"SESSIOND_HOME={folder / 'there'}", _PROGRAM, "attach", "--stdio"]
    return _timed([_PROGRAM, "sync", "--via", shlex.join(via)], folder / "here", outcome)


def _timed(command: list[str], home: Path, outcome: str = "") -> float:
    start = time.perf_counter()
    done = subprocess.run(
        command,
        env={**os.environ, "SESSIOND_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    took = time.perf_counter() - start
    if done.returncode or not done.stdout.startswith(outcome):
        raise RuntimeError(f"{command[1]} has another outcome: {done.stdout + done.stderr!r:.300}")
    return took


def _copy_with_tar(source: Path, target: Path) -> float:
    """Return the seconds in which tar copies a folder to another tar, and its files become durable."""
    target.mkdir()
    start = time.perf_counter()
    with subprocess.Popen(["tar", "-C", source, "-cf", "-", "."], stdout=subprocess.PIPE) as sender:
        subprocess.run(["tar", "-C", target, "-xf", "-"], stdin=sender.stdout, check=True)
    subprocess.run(["sync", "-f", target], check=True)
    took = time.perf_counter() - start
    shutil.rmtree(target)
    return took
