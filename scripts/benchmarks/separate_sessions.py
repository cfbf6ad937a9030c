"""Many sessions with one writer each, compared with the limit of the disk for the same number of files."""

from pathlib import Path

from scripts.benchmarks.disk_limit import Workers, appends_per_second
from scripts.benchmarks.drafts import ASSISTANT, appends, new_session
from scripts.benchmarks.load import Outcome, drive
from scripts.benchmarks.processes import sessiond
from scripts.benchmarks.report import Row, middle, sampled

SESSIONS = 64
LIMIT = 5_000
LINE_BYTES = 600


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Every writer waits for its reply. Appends do not share a sync, so the disk does one sync for each append."""
    rounds, each = (1, 10) if quick else (5, 80)
    outcomes: list[Outcome] = []
    disk: list[float] = []
    threads: list[float] = []
    with sessiond(folder / "home") as daemon:
        for _ in range(rounds):
            disk.append(_limit(folder, "processes", each))
            threads.append(_limit(folder, "threads", each))
            loads = [appends(new_session(daemon), "synced", each, draft=ASSISTANT) for _ in range(SESSIONS)]
            daemon.settled_cpu()
            outcomes.append(drive(daemon, loads, clients=SESSIONS, depth=1, settle=True))
    rate = middle(outcome.rate for outcome in outcomes)
    return [
        sampled(
            f"append synced, {SESSIONS} sessions with one client each, 1 in flight",
            [outcome.rate for outcome in outcomes],
            "/s",
            ratio=f"{rate / middle(disk):.2f} x the disk's limit",
            limit=LIMIT,
            reason=f"No two appends share a write or a sync. One event loop that gives each append to a thread, and "
            f"does nothing else, reaches {middle(threads):,.0f}/s: a change of threads for each append, twice, under "
            "one interpreter lock. The daemon also reads, places and answers each entry in a turn of its own.",
        ),
        sampled("  server CPU per entry", [outcome.cpu for outcome in outcomes], "s"),
        sampled("  with the work after the replies", [outcome.settled for outcome in outcomes], "s"),
        sampled(f"  the disk's limit: {SESSIONS} processes, each with its own file", disk, "/s"),
        sampled("  an event loop and threads that only write and sync", threads, "/s"),
    ]


def _limit(folder: Path, workers: Workers, each: int) -> float:
    return appends_per_second(folder, workers, writers=SESSIONS, count=each, line_bytes=LINE_BYTES)
