"""A clock that jumps, forth and back, by days and by decades, under a daemon that works."""

import datetime
import subprocess
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, runs
from campaigns.log_on_disk import log_of, read_log
from campaigns.victims import assistant, user
from sessiond.client.blocking import BlockingDaemon
from support.columns import entries_of

_LIBRARIES = ("*/faketime/libfaketimeMT.so.1", "faketime/libfaketimeMT.so.1")
_SESSION = "under-a-jumping-clock"
_DAY = 86_400
JUMPS = (
    _DAY, -_DAY, 3_650 * _DAY, -3_650 * _DAY, 0, -20_000 * _DAY, 28_000 * _DAY, -1, 1, -3_600, 3_600, 0,
)  # fmt: skip
"""Seconds that the daemon's clock is off; the furthest are soon after 1970 and in the year 2103."""


def run(ground: Ground) -> Figures:
    library = next((str(path) for pattern in _LIBRARIES for path in Path("/usr/lib").glob(pattern)), None)
    if library is None:
        ground.leave_out("faketime")
    home = Home(ground.folder / "h")
    offset = ground.folder / "offset"
    offset.write_text("+0\n", encoding="utf-8")
    clock = {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",  # the times of files do not change when the clock does
    }
    _try_library(ground, clock)
    entries = jumps = 0
    with home.serving(**clock) as process:
        names = _begin(home)
        for number in ground.each_round(short=len(JUMPS), long=2_000):
            jump = JUMPS[number % len(JUMPS)] if not ground.long else _any_jump(ground, number)
            _jump(offset, jump)
            jumps += 1
            hold(process.poll() is None and runs(process.pid), f"the daemon has ended {jump:+} s off")
            with home.connect_blocking(autostart=False) as daemon:
                try:
                    names += _work(daemon, len(names), jump)
                except Exception as error:
                    error.add_note(f"with a clock that is {jump:+} s off")
                    raise
            log = read_log(log_of(home.folder, _SESSION))
            hold(list(log.seqs) == names, f"the file has {list(log.seqs)[-3:]}, {names[-3:]} is due")
            entries = len(names)
    with home.serving() as process:  # with the right time again
        told = entries_of(home.call("session/entries", sessionId=_SESSION, limit=10_000))
        hold([entry["id"] for entry in told] == names[:10_000], "another daemon shows other entries")
    return Figures(rounds=jumps, faults=jumps, checked=entries, more="from 1970 to 2103, forth and back")


def _any_jump(ground: Ground, number: int) -> int:
    dice = ground.chance(number)
    return dice.choice((1, -1)) * int(10 ** dice.uniform(0, 9.2))


def _try_library(ground: Ground, clock: dict[str, str]) -> None:
    """Whether the library does what it should: programs that are built in other ways it cannot deceive."""
    offset = Path(clock["FAKETIME_TIMESTAMP_FILE"])
    _jump(offset, -3_650 * _DAY)
    asked = subprocess.run(["date", "+%s"], env=clock, capture_output=True, encoding="utf-8", check=False)
    behind = datetime.datetime.now(tz=datetime.UTC).timestamp() - float(asked.stdout or "inf")
    _jump(offset, 0)
    if not behind > 3_000 * _DAY:
        ground.cannot(
            f"the clock of a process cannot be shifted: {asked.stdout.strip()} {asked.stderr.strip()}"
        )


def _jump(offset: Path, seconds: int) -> None:
    new = offset.with_suffix(".new")
    new.write_text(f"{seconds:+}\n", encoding="utf-8")
    new.rename(offset)


def _begin(home: Home) -> list[str]:
    with home.connect_blocking(autostart=False) as daemon:
        daemon.call("session/create", {"cwd": "/work/a", "id": _SESSION})
        return _append(daemon, 0)


def _append(daemon: BlockingDaemon, number: int) -> list[str]:
    names = [f"u{number}", f"a{number}"]
    done = daemon.call(
        "session/append", {"sessionId": _SESSION, "entries": [user(names[0]), assistant(names[1])]}
    )
    hold(
        [entry["seq"] for entry in done["entries"]] == [number + 1, number + 2],
        f"it went to {done['entries']}",
    )
    return names


def _work(daemon: BlockingDaemon, number: int, jump: int) -> list[str]:
    """Do the daily work of clients. Returns the names of the new entries."""
    names = _append(daemon, number)
    entries = entries_of(daemon.call("session/entries", {"sessionId": _SESSION, "entryIds": names}))
    _check_times(entries, jump)
    listed = daemon.call("session/list", {})["sessions"]
    hold([session["sessionId"] for session in listed] == [_SESSION], f"the list has {listed}")
    daemon.call("session/search", {"query": "hello"})
    daemon.call("session/context", {"sessionId": _SESSION})
    went = daemon.call("session/continue", {"cwd": "/work/a"})
    hold(went["session"]["sessionId"] == _SESSION, f"a terminal goes on with {went['message']}")
    daemon.call("history/add", {"prompt": f"prompt {number}"})
    draft = daemon.call("session/create", {"cwd": "/work/b"})["session"]["sessionId"]
    daemon.call("session/delete", {"sessionId": draft})
    daemon.call("trash/restore", {"sessionId": draft})
    daemon.call("session/delete", {"sessionId": draft})
    daemon.call("blob/collect", {"dryRun": True})
    told = daemon.call("server/status")
    hold(0 <= told["uptimeMs"] < _DAY * 1000, f"it runs for {told['uptimeMs']} ms")
    return names


def _check_times(entries: list[dict[str, Any]], jump: int) -> None:
    now = datetime.datetime.now(tz=datetime.UTC)
    for entry in entries:
        off = (datetime.datetime.fromisoformat(entry["timestamp"]) - now).total_seconds()
        hold(abs(off - jump) < 600, f"an entry says {entry['timestamp']}, which is {off:+.0f} s off")


CAMPAIGN = Campaign(
    name="clock",
    promise="A clock that jumps changes what entries say of the time, and nothing else.",
    how="libfaketime moves the daemon's clock by seconds, days and decades, forth and back, while clients append, "
    "list, search, continue, delete and restore; the order of the lines and the life of the daemon do not follow it",
    run=run,
)
