"""The report of storage over many sessions: the sums of the index, and the walk of blobs and trash."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from scripts.benchmarks.report import Row, duration, middle, sampled

from sessiond.hub import session_info
from sessiond.hub.index.columns import COLUMNS, listing_columns
from sessiond.hub.index.database import Database
from sessiond.hub.storage import own_folders, session_sizes
from sessiond.paths import Locations
from sessiond.protocol import types as t

SESSIONS, SMOKE_SESSIONS = 50_000, 500
LIMIT = 1.0
_BLOBS_OF = 4
"""One session in this many names a blob."""
_AGENTS = ("claude-code", "codex", "gemini", "opencode", "")
_RECENT = "2026-11-01T00:00:00.000Z"


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Fill an index and folders, and measure the processor time of a report's parts, and of a plain sum of sizes."""
    sessions, rounds = (SMOKE_SESSIONS, 2) if quick else (SESSIONS, 7)
    database = Database(str(folder / "index.db"))
    database.open()
    _fill(database, sessions)
    locations = _folders(folder, sessions // _BLOBS_OF)
    plain: list[float] = []
    summed: list[float] = []
    walked: list[float] = []
    for _ in range(rounds):
        plain.append(_cpu(lambda: database.connection.execute("SELECT sum(size) FROM files").fetchone()))
        summed.append(_cpu(lambda: _report(database)))
        walked.append(_cpu(lambda: own_folders.sizes(locations)))
    counted = sum(_report(database).agents.counts.values())
    database.close()
    if counted != sessions:
        raise RuntimeError(f"{counted} sessions were counted, not {sessions}")
    ratio = f"{middle(summed) / middle(plain):.1f} x a plain sum over the sizes ({duration(middle(plain))})"
    limit = None if quick else LIMIT
    return [
        sampled(
            f"storage of {sessions:,} sessions: the sums of the index", summed, "s", ratio=ratio, limit=limit
        ),
        sampled(f"  the sizes of {sessions // _BLOBS_OF:,} blobs", walked, "s", limit=limit),
    ]


def _report(database: Database) -> session_sizes.SessionSizes:
    return session_sizes.read(database.connection, own=b"/home/ada/", recent=_RECENT, limit=10)


def _fill(database: Database, sessions: int) -> None:
    chance = random.Random(17)
    names = ", ".join(["id", *COLUMNS, "indexed_bytes", "indexed_rows", "tail", "is_indexed", "checksum"])
    with database.transaction() as connection:
        for number in range(sessions):
            session = _session(chance, number)
            values: dict[str, object] = {
                "ref": f"/home/ada/sessions/{number}.jsonl".encode(), "identity": "", "stamp": "", "head": b"",
                **listing_columns(session), "agent": _AGENTS[number % len(_AGENTS)], "off_path": b"[]",
            }  # fmt: skip
            row = [number, *(values[name] for name in COLUMNS), 0, 0, b"", 1, 0]
            connection.execute(f"INSERT INTO files({names}) VALUES(?{', ?' * (len(row) - 1)})", row)
            cwd = session.cwd
            connection.execute("INSERT OR IGNORE INTO projects VALUES(?, ?, '')", (cwd, cwd))
            if number % _BLOBS_OF == 0:
                blob = chance.randbytes(32), chance.randrange(10_000_000)
                connection.execute("INSERT INTO blob_uses VALUES(?, ?, ?)", (number, *blob))


def _session(chance: random.Random, number: int) -> t.ListedSession:
    month = f"2026-{chance.randrange(1, 12):02}-05T10:20:30.000Z"
    described: dict[str, object] = {
        "sessionId": f"bench-{number:05}", "path": None, "cwd": f"/home/ada/work/project-{number % 100}",
        "title": "t" * 60, "tags": [], "createdAt": month, "updatedAt": month, "firstPrompt": "p" * 150,
        "leafId": None, "sizeBytes": int(chance.expovariate(1 / 300_000)), "parentSessionId": None,
        "parentPath": None, "isDraft": False, "readOnly": False, "ephemeral": False, "writeBlock": None,
        "stale": None, "logId": None, "origin": None, "messageCount": 10, "entryCount": 20, "lastSeq": 20,
        "problemCount": 0, "lifecycle": None, "model": None, "provisional": False,
    }  # fmt: skip
    return session_info.from_json(msgspec.json.encode(described))


def _folders(folder: Path, blobs: int) -> Locations:
    data = folder / "data"
    (data / "blobs").mkdir(parents=True)
    (folder / "state").mkdir()
    for number in range(blobs):
        (data / f"blobs/{number:064x}").touch()
    return Locations(data=str(data), state=str(folder / "state"), runtime=str(folder), config=str(folder))


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
