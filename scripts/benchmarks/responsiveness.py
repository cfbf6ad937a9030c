"""What small requests of one client feel of the heavy requests of others, one kind at a time and all together.

A process of its own sends the small requests, one at a time. The daemon runs with `loop_probe`, so that each row also
names the callback that held the event loop longest. The figure that does not depend on the machine's load is the
processor time of that hold.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import msgspec
from scripts.benchmarks.loop_probe import Hold, read_report
from scripts.benchmarks.processes import Daemon, probed_sessiond
from scripts.benchmarks.report import Row, at_most, milliseconds
from scripts.benchmarks.session_files import assistant_message, session_name, user_message, write_session
from scripts.benchmarks.small_requests import Taken

P99 = 0.025
LONGEST = 0.100
ENTRIES, LINES = 100_000, 20_000
BATCH = 30_000_000

Heavy = Callable[["Asker"], None]


@dataclass(frozen=True)
class Phase:
    """A stretch of time, by `time.perf_counter`, in which heavy requests of some kind were answered."""

    name: str
    began: float
    ended: float


class Asker:
    """A connection on which heavy requests are sent, one at a time. Responses are read and not decoded."""

    def __init__(self, path: str) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.connect(path)
        self._buffer = bytearray()

    def close(self) -> None:
        self._sock.close()

    def send(self, method: str, params: object, **id: int) -> None:
        body = msgspec.json.encode({"jsonrpc": "2.0", **id, "method": method, "params": params})
        self._sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, **params: object) -> bytes:
        """The body of the response. Raises RuntimeError if the daemon refuses."""
        self.send(method, params, id=1)
        while True:
            body = self._body()
            if b'"id":1,' in body[:60] and b'"method"' not in body[:60]:
                break
        if b'"error"' in body[:60]:
            raise RuntimeError(f"{method} was refused: {body!r:.300}")
        return body

    def _body(self) -> bytes:
        buffer = self._buffer
        while (head := buffer.find(b"\r\n\r\n")) < 0:
            self._receive()
        length = int(buffer[: head].split(b":")[1].split(b"\r")[0])
        while len(buffer) < head + 4 + length:
            self._receive()
        body = bytes(memoryview(buffer)[head + 4 : head + 4 + length])
        del buffer[: head + 4 + length]
        return body

    def _receive(self) -> None:
        piece = self._sock.recv(1 << 20)
        if not piece:
            raise ConnectionError("the daemon closed the connection")
        self._buffer += piece


def measure(folder: Path, *, quick: bool) -> list[Row]:
    home = folder / "home"
    kinds = _prepared(home, folder, 20_000 if quick else ENTRIES)
    wanted = os.environ.get("BENCH_KINDS")
    if wanted:
        kinds = {name: kind for name, kind in kinds.items() if name in wanted.split(",")}
    report = folder / "holds"
    with probed_sessiond(home, report) as daemon:
        small = daemon.call("session/create", cwd="/tmp", id="bench-small")["session"]["sessionId"]
        daemon.call("session/append", sessionId=small, entries=[{"type": "message", "message": assistant_message("x")}])
        phases: list[Phase] = []
        with _small_requests(daemon, small) as taken:
            with _phase("nothing else", phases):
                time.sleep(1)
            for name, kind in kinds.items():
                with _phase(name, phases):
                    _one(daemon, kind)
            with _phase("all of them together", phases):
                _together(daemon, list(kinds.values()), 1 if quick else 2)
        return [row for phase in phases for row in _rows(phase, taken, read_report(report))]


def _prepared(home: Path, folder: Path, entries: int) -> dict[str, Heavy]:
    """The files that are asked about, and the heavy requests by their names."""
    big, deep = "bench-heavy-big", "bench-heavy-deep"
    sessions = home / "data/sessions/--tmp--"
    write_session(sessions / session_name(big), big, entries, mean_text=200)
    write_session(sessions / session_name(deep), deep, entries, mean_text=100, branch_every=0)
    for number in range(200):
        name = f"bench-heavy-{number:04}"
        write_session(sessions / session_name(name), name, 100)
    foreign = folder / "foreign"
    _write_claude(foreign / "claude.jsonl", entries // 5)
    batch = [{"type": "custom", "customType": "bench", "data": "x" * 3_000}] * (BATCH // 3_060)
    large = [{"type": "custom", "customType": "bench", "data": ["x" * 300] * (BATCH // 304)}]
    path = str(sessions / session_name(big))
    count = iter(range(1_000_000))

    def export(format: str) -> Heavy:
        def heavy(asker: Asker) -> None:
            target = str(folder / f"export-{next(count)}")
            asker.ask("session/export", sessionId=big, format=format, path=target)
            Path(target).unlink()

        return heavy

    def appends(drafts: Sequence[object]) -> Heavy:
        def heavy(asker: Asker) -> None:
            name = f"bench-batch-{next(count)}"
            asker.ask("session/create", cwd="/tmp", id=name)
            asker.ask("session/append", sessionId=name, entries=drafts)
            asker.ask("session/delete", sessionId=name)

        return heavy

    def pages(asker: Asker) -> None:
        cursor: str | None = None
        for _ in range(20):
            body = asker.ask("session/entries", sessionId=big, limit=10_000, cursor=cursor)
            cursor = msgspec.json.decode(body[-40:].rpartition(b'"nextCursor":')[2].partition(b",")[0].rstrip(b"}"))
            if cursor is None:
                return

    def context(format: str) -> Heavy:
        return lambda asker: _discard(asker.ask("session/context", sessionId=deep, format=format))

    def imports(asker: Asker) -> None:
        copy = folder / f"foreign-{next(count)}" / "claude.jsonl"
        copy.parent.mkdir()
        data = (foreign / "claude.jsonl").read_bytes()
        session = f"11111111-2222-4333-8444-{next(count):012}".encode()
        copy.write_bytes(data.replace(b"11111111-2222-4333-8444-555555555555", session))
        asker.ask("session/import", path=str(copy))
        copy.unlink()

    def fork(asker: Asker) -> None:
        body = asker.ask("session/fork", sessionId=deep)
        forked = msgspec.json.decode(body)["result"]["session"]["sessionId"]
        asker.ask("session/delete", sessionId=forked)

    def tree(asker: Asker) -> None:
        asker.ask("session/tree", sessionId=big, limit=10_000)
        asker.ask("session/tree", sessionId=big, limit=10_000, query="code")
        asker.ask("session/tree", sessionId=deep, limit=10_000)

    def symbols(asker: Asker) -> None:
        asker.ask("initialize", processId=None, rootUri=None, capabilities={})
        asker.send("initialized", {})
        asker.ask("textDocument/documentSymbol", textDocument={"uri": f"file://{path}"})

    def asked(method: str, **params: object) -> Heavy:
        return lambda asker: _discard(asker.ask(method, **params))

    return {
        "first list (index)": asked("session/list", all=True, limit=1_000),
        "open": asked("session/open", path=path),
        "pages of 10,000": pages,
        "context": context("agent"),
        "context for openai": context("openai"),
        "explained context": asked("session/context", sessionId=deep, explain=True),
        "export html": export("html"),
        "export markdown": export("markdown"),
        "export jsonl": export("jsonl"),
        "batch of 30 MB": appends(batch),
        "entry of 30 MB": appends(large),
        "import": imports,
        "fork": fork,
        "tree": tree,
        "stats": asked("session/stats", sessionId=big),
        "compare": asked("session/compare", sessionId=big, leftId=f"{entries // 2:08x}"),
        "prepareCompaction": asked("session/prepareCompaction", sessionId=deep),
        "search": asked("session/search", query="code line"),
        "page": asked("session/page", sessionId=big),
        "doctor": asked("server/doctor"),
        "documentSymbol": symbols,
    }


def _discard(_body: bytes) -> None:
    """A heavy request has no result here."""


def _write_claude(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True)
    session = "11111111-2222-4333-8444-555555555555"
    with path.open("wb") as file:
        for number in range(count):
            is_user = number % 2 == 0
            text = f"{number} " + "a line of text " * 40
            said = user_message(text) if is_user else {**assistant_message(text), "model": "x", "id": f"m{number}"}
            line = {
                "type": "user" if is_user else "assistant", "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None, "sessionId": session, "cwd": "/tmp",
                "version": "2.1.0", "isSidechain": False, "timestamp": "2026-01-01T00:00:46.000Z", "message": said,
            }  # fmt: skip
            file.write(msgspec.json.encode(line) + b"\n")


def _one(daemon: Daemon, heavy: Heavy) -> None:
    asker = Asker(daemon.socket)
    try:
        heavy(asker)
    finally:
        asker.close()


def _together(daemon: Daemon, kinds: Sequence[Heavy], rounds: int) -> None:
    """Each kind on a connection of its own, all at once."""
    failures: list[BaseException] = []

    def run(heavy: Heavy) -> None:
        try:
            for _ in range(rounds):
                _one(daemon, heavy)
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=[heavy]) for heavy in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def _phase(name: str, phases: list[Phase]) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        phases.append(Phase(name, began, time.perf_counter()))


@contextlib.contextmanager
def _small_requests(daemon: Daemon, session: str) -> Iterator[list[Taken]]:
    """Small requests for as long as the block lasts; the list is complete after it."""
    command = [sys.executable, "-m", "scripts.benchmarks.small_requests", daemon.socket, session]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    taken: list[Taken] = []
    try:
        yield taken
        out, _ = process.communicate(b"")
        taken += msgspec.json.decode(out, type=list[Taken])
    finally:
        process.kill()
        process.wait()


def _rows(phase: Phase, taken: Sequence[Taken], holds: Sequence[Hold]) -> Iterator[Row]:
    waits = [it.seconds for it in taken if phase.began <= it.at <= phase.ended + 0.05]
    if len(waits) < 2:
        waits += [phase.ended - phase.began] * 2
    cuts = quantiles(waits, n=100)
    within = [it for it in holds if phase.began <= it.ended <= phase.ended]
    longest = max(within, key=lambda it: it.cpu, default=None)
    held = "" if longest is None else f"{milliseconds(longest.cpu)} ({milliseconds(longest.wall)} wall) {longest.what}"
    p99, most = cuts[98], max(waits)
    verdict = at_most(max(p99 / P99, most / LONGEST), 1.0)
    yield Row(
        f"beside {phase.name} ({milliseconds(phase.ended - phase.began)})",
        f"p50 {milliseconds(cuts[49])}, p99 {milliseconds(p99)}, max {milliseconds(most)}",
        held,
        f"p99 <= {P99 * 1e3:.0f}, max <= {LONGEST * 1e3:.0f} ms",
        verdict,
    )
