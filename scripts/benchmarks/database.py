"""Sessions in a PostgreSQL database on this machine, which syncs each commit, beside sessions in files."""

import asyncio
import importlib.util
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from scripts.benchmarks.drafts import ASSISTANT, appends, new_session
from scripts.benchmarks.load import drive
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, duration, megabytes, middle, sampled
from scripts.benchmarks.results import ROOT
from scripts.benchmarks.session_files import TIMESTAMP, session_name, write_session

from sessiond.client import connect
from sessiond.paths import find_locations
from sessiond.store.base import Log, Store
from sessiond.store.files.store import FileStore
from sessiond.store.moving import move_store

SESSIONS = 64
IN_STORE, THROUGH_THE_PROTOCOL, SEEN = 10_000, 0.5, 0.005
_LINE = b'{"type":"message","id":"%08x","parentId":null,"text":"' + b"x" * 540 + b'"}\n'
_STORED_SESSIONS, _ENTRIES = 200, 90


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Compare rates, delays and sizes. Without the server or its driver, one row reports that it is missing."""
    sys.path.append(str(ROOT / "tests"))  # the tests' server
    from support import postgres

    if postgres.programs() is None or importlib.util.find_spec("asyncpg") is None:
        return [Row("sessions in PostgreSQL", "not measured: the server or asyncpg is not installed")]
    with postgres.running_server(syncs=True) as server:
        bench = _Bench(folder, server, rounds=1 if quick else 5, seconds=0.5 if quick else 3.0)
        return [*bench.in_store(), *bench.through_daemons(10 if quick else 80), *bench.sizes(quick=quick)]


class _Bench:
    def __init__(self, folder: Path, server: Any, rounds: int, seconds: float) -> None:
        self._folder = folder
        self._server = server
        self._rounds = rounds
        self._seconds = seconds
        self._numbers = iter(range(1, 1 << 32))

    # --- the stores in this process ------------------------------------------------------------------------------

    def in_store(self) -> list[Row]:
        """Synced appends to 64 sessions, where each append waits for the previous one, and to one session."""
        rates: dict[str, list[float]] = {"files": [], "database": []}
        single: dict[str, list[float]] = {"files": [], "database": []}
        url = self._server.new_url()
        for number in range(self._rounds):
            for kind in ("files", "database"):
                rate, one = asyncio.run(self._appended(kind, url, number))
                rates[kind].append(rate)
                single[kind].append(one)
        database, files = middle(rates["database"]), middle(rates["files"])
        return [
            sampled(
                f"store: synced appends to {SESSIONS} sessions, 1 in flight each", rates["database"], "/s",
                ratio=f"{database / files:.2f} x the store of files ({files:,.0f}/s)", limit=IN_STORE,
                reason="One transaction has the appends of all sessions that wait. The server and this process "
                "share two processors.",
            ),
            sampled(
                "  one session, p50", single["database"], "s",
                ratio=f"{middle(single['database']) / middle(single['files']):.2f} x the store of files "
                f"({duration(middle(single['files']))})",
            ),
        ]  # fmt: skip

    async def _appended(self, kind: str, url: str, number: int) -> tuple[float, float]:
        """Return the appends per second to many sessions, and the seconds of one to a single session."""
        async with _opened(kind, url, self._folder / f"store-{number}") as store:
            logs = [await self._new_log(store, f"{kind}-{number}-{index}") for index in range(SESSIONS)]
            took = []
            for _ in range(100):
                start = time.perf_counter()
                await self._append(logs[0])
                took.append(time.perf_counter() - start)
            count, start = 0, time.perf_counter()
            end = start + self._seconds

            async def write(log: Log) -> None:
                nonlocal count
                while time.perf_counter() < end:
                    await self._append(log)
                    count += 1

            await asyncio.gather(*map(write, logs))
            rate = count / (time.perf_counter() - start)
            for log in logs:
                await log.close()
            return rate, middle(took)

    async def _new_log(self, store: Store, session_id: str) -> Log:
        header = b'{"type":"session","id":"%b"}\n' % session_id.encode()
        return await store.create(session_id, cwd="/tmp", timestamp=TIMESTAMP, lines=header, draft=False)

    async def _append(self, log: Log) -> None:
        number = next(self._numbers)
        await log.append(_LINE % number, "synced", [f"{number:08x}"])

    # --- daemons ---------------------------------------------------------------------------------------------------

    def through_daemons(self, each: int) -> list[Row]:
        """The same appends through the protocol, and the time until a client of another daemon sees an append."""
        url = self._server.new_url()
        homes = {
            "files": self._folder / "files",
            "here": self._folder / "here",
            "there": self._folder / "there",
        }
        for name in ("here", "there"):
            _configure(homes[name], url)
        rates: dict[str, list[float]] = {"files": [], "here": []}
        costs, delays, near = [], [], []
        with (
            sessiond(homes["files"]) as files,
            sessiond(homes["here"]) as here,
            sessiond(homes["there"]) as there,
        ):
            for _ in range(self._rounds):
                for name, daemon in (("files", files), ("here", here)):
                    loads = [
                        appends(new_session(daemon), "synced", each, draft=ASSISTANT) for _ in range(SESSIONS)
                    ]
                    daemon.settled_cpu()
                    done = drive(daemon, loads, clients=SESSIONS, depth=1)
                    rates[name].append(done.rate)
                    if daemon is here:
                        costs.append(done.cpu)
                delays.append(asyncio.run(_delay(homes["here"], homes["there"], each)))
                near.append(asyncio.run(_delay(homes["files"], homes["files"], each)))
            there.settled_cpu()
        ratio = middle(rates["here"]) / middle(rates["files"])
        return [
            sampled(
                f"append synced, {SESSIONS} sessions with one client each, 1 in flight", rates["here"], "/s",
                ratio=f"{ratio:.2f} x sessions in files ({middle(rates['files']):,.0f}/s)",
                bar=f">= {THROUGH_THE_PROTOCOL} x", verdict="met" if ratio >= THROUGH_THE_PROTOCOL else "missed",
                reason="The server, two daemons and the clients share two processors.",
            ),
            sampled("  server CPU per entry", costs, "s"),
            sampled(
                "an append seen by a client of another daemon, p50", delays, "s", limit=SEEN,
                ratio=f"{middle(delays) / middle(near):.1f} x a client of the same daemon, in files "
                f"({duration(middle(near))})",
            ),
        ]  # fmt: skip

    # --- sizes -----------------------------------------------------------------------------------------------------

    def sizes(self, *, quick: bool) -> list[Row]:
        """Move sessions from files to a database, open a long one there, and compare the space that both take."""
        count, long = (20, 2_000) if quick else (_STORED_SESSIONS, 20_000)
        home = self._folder / "moved"
        sessions = home / "data/sessions/--tmp--"
        size = 0
        for number in range(count):
            path = sessions / session_name(f"bench-{number:04}")
            write_session(path, f"bench-{number:04}", _ENTRIES)
            size += path.stat().st_size
        url = self._server.new_url()
        before, took = self._size(url), []
        start = time.perf_counter()
        asyncio.run(_move(home, url))
        took.append(time.perf_counter() - start)
        stored = self._size(url) - before
        write_session(sessions / session_name("bench-long"), "bench-long", long)
        asyncio.run(_move(home, url))
        _configure(self._folder / "opened", url)
        with sessiond(self._folder / "opened") as database, sessiond(home) as files:
            first, again, near = _opening(database), _opening(database), _opening(files)
        return [
            sampled(
                f"move-store: {count} sessions of {_ENTRIES} entries ({megabytes(size)}) to the database", took, "s",
                ratio=f"{size / 1e6 / took[0]:.1f} MB/s, read back and compared",
            ),
            sampled(
                "  space in the database, indexes included", [stored], "B",
                ratio=f"{stored / size:.2f} x the files, {stored / count / 1e3:.0f} kB for each session",
            ),
            sampled(
                f"open a session of {long:,} entries for the first time on a machine", [first], "s",
                ratio=f"{first / near:.1f} x in files ({duration(near)})",
            ),
            sampled("  again, with its mirror", [again], "s"),
        ]  # fmt: skip

    def _size(self, url: str) -> int:
        name = url.partition("?")[0].rpartition("/")[2]
        self._server.sql("CHECKPOINT")
        return int(self._server.sql(f"SELECT pg_database_size('{name}')"))


class _opened:
    """A store of this kind, which exists until the block ends."""

    def __init__(self, kind: str, url: str, folder: Path) -> None:
        self._kind, self._url, self._folder = kind, url, folder

    async def __aenter__(self) -> Store:
        self._folder.mkdir(exist_ok=True)
        if self._kind == "files":
            self._store: Any = FileStore(self._folder / "data", self._folder / "state")
        else:
            from sessiond.store.postgres.store import PostgresStore

            self._store = PostgresStore(self._url, self._folder)
            await self._store.start()
        store: Store = self._store
        return store

    async def __aexit__(self, *_: object) -> None:
        await self._store.close()


async def _move(home: Path, url: str) -> None:
    async with _opened("files", "", home) as files, _opened("database", url, home / "mirrors") as database:
        report = await move_store(files, database)
    if report.problems:
        raise RuntimeError(f"sessions were not moved: {report.problems[0].message}")


def _configure(home: Path, url: str) -> None:
    config = home / "config"
    config.mkdir(mode=0o700, parents=True)
    (config / "config.toml").write_text(f'[store]\nurl = "{url}"\n', encoding="utf-8")


async def _delay(home: Path, other: Path, count: int) -> float:
    """Return the median of the seconds from an append at one daemon until a client of another one has it."""
    here, there = (find_locations({"SESSIOND_HOME": str(path)}) for path in (home, other))
    async with (
        connect(locations=here, autostart=False) as writer,
        connect(locations=there, autostart=False) as reader,
    ):
        session = (await writer.create("/tmp")).session.session_id
        await writer.append(session, [_message("ready")])
        await reader.open(session)
        took: list[float] = []
        async with reader.subscribe(session) as entries:
            for number in range(count):
                seen: Callable[[], Awaitable[Any]] = entries.__anext__
                start = time.perf_counter()
                appending = asyncio.ensure_future(writer.append(session, [_message(f"number {number}")]))
                await seen()
                took.append(time.perf_counter() - start)
                await appending
        return middle(took)


def _message(text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": "user", "content": text}}


def _opening(daemon: Daemon) -> float:
    """Return the seconds until a session is open and the newest page of its tree has arrived."""
    with daemon.connect() as client:
        start = time.perf_counter()
        client.call("session/open", {"sessionId": "bench-long"})
        client.call("session/tree", {"sessionId": "bench-long", "limit": 50})
        took = time.perf_counter() - start
        client.call("session/close", {"sessionId": "bench-long"})
    return took
