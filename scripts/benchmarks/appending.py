"""Appending over the socket, against the bare echo server and against a bare write and fdatasync."""

import os
import time
from pathlib import Path

import msgspec
from scripts.benchmarks.load import Outcome, Requests, drive, latencies
from scripts.benchmarks.processes import Daemon, Process, echo, sessiond
from scripts.benchmarks.report import Row, at_least, at_most, middle, milliseconds
from scripts.benchmarks.session_files import assistant_message, user_message

TEXT = "x" * 1_000
REPLY_BYTES = 90
PIPELINE = 32


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Every client appends to the same session, which is where group commit must prove itself."""
    rounds = 3 if quick else 5
    scale = 1 if quick else 3
    with sessiond(folder / "home") as daemon, echo(folder, REPLY_BYTES) as bare:
        rows = [
            _throughput(daemon, bare, "written", 64, 200 * scale, rounds, 60_000),
            _throughput(daemon, bare, "synced", 64, 200 * scale, rounds, 40_000),
            _throughput(daemon, bare, "synced", 8, 1_000 * scale, rounds, None),
            _throughput(daemon, bare, "synced", 1, 2_000 * scale, rounds, None),
        ]
        rows.append(_group_commit(daemon, rounds, scale))
        rows += _latency(daemon, folder, rounds, 150 * scale)
    return rows


def _throughput(
    daemon: Daemon, bare: Process, durability: str, clients: int, each: int, rounds: int, limit: int | None
) -> Row:
    ours: list[Outcome] = []
    theirs: list[Outcome] = []
    for _ in range(rounds):
        requests = appends(new_session(daemon), durability, each)
        theirs.append(drive(bare, requests, clients=clients, depth=PIPELINE))
        ours.append(drive(daemon, requests, clients=clients, depth=PIPELINE))
    rate = middle(one.rate for one in ours)
    cpu, bare_cpu = middle(one.cpu for one in ours), middle(one.cpu for one in theirs)
    return Row(
        f"append {durability}, {clients} pipelined client{'s' * (clients > 1)}",
        f"{rate:,.0f}/s, server CPU {cpu * 1e6:.1f} µs (client busy {middle(one.busy for one in ours):.0%})",
        f"CPU {cpu / bare_cpu:.2f} x, rate {rate / middle(one.rate for one in theirs):.2f} x bare echo",
        f">= {limit:,}/s" if limit else "",
        at_least(rate, limit) if limit else "",
    )


def _group_commit(daemon: Daemon, rounds: int, scale: int) -> Row:
    one, many = [], []
    for _ in range(rounds):
        one.append(drive(daemon, appends(new_session(daemon), "synced", 200 * scale), clients=1, depth=1))
        many.append(drive(daemon, appends(new_session(daemon), "synced", 100 * scale), clients=64, depth=1))
    single, together = middle(outcome.rate for outcome in one), middle(outcome.rate for outcome in many)
    return Row(
        "append synced, each client waiting for its reply",
        f"{together:,.0f}/s with 64, {single:,.0f}/s with 1",
        f"{together / single:.1f} x one writer",
        ">= 15 x",
        at_least(together / single, 15),
    )


def _latency(daemon: Daemon, folder: Path, rounds: int, each: int) -> list[Row]:
    synced, bare = [], []
    for _ in range(rounds):
        bare += _write_and_sync(folder / "bare", each)
        synced += latencies(daemon, appends(new_session(daemon), "synced", each))
    extra = middle(synced) - middle(bare)
    return [
        Row(
            "append synced, one client, p50",
            milliseconds(middle(synced)),
            f"a bare write + fdatasync ({milliseconds(middle(bare))}) + {milliseconds(extra)}",
            "+ 0.5 ms",
            at_most(extra, 0.0005),
        )
    ]


def _write_and_sync(path: Path, count: int) -> list[float]:
    """Seconds for each of `count` lines of the same length, written and synced by nobody else's help."""
    line = _draft()[:-1] + b"\n"
    times = []
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(count):
        start = time.perf_counter()
        os.write(file, line)
        os.fdatasync(file)
        times.append(time.perf_counter() - start)
    os.close(file)
    path.unlink()
    return times


def new_session(daemon: Daemon) -> str:
    """A session that has an assistant message, and so a file in the sessions folder."""
    with daemon.connect() as client:
        session: str = client.call("session/create", {"cwd": "/tmp"})["session"]["sessionId"]
        first = {"type": "message", "message": assistant_message("ready")}
        client.call("session/append", {"sessionId": session, "entries": [first]})
    return session


def _draft() -> bytes:
    return msgspec.json.encode({"type": "message", "message": user_message(TEXT)})


def appends(session: str, durability: str, count: int) -> Requests:
    params = {"sessionId": session, "durability": durability, "entries": [msgspec.Raw(_draft())]}
    return Requests(
        [
            msgspec.json.encode(
                {"jsonrpc": "2.0", "id": number, "method": "session/append", "params": params}
            )
            for number in range(1, count + 1)
        ]
    )
