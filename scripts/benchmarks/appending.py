"""Appending over the socket, against the bare echo server and against a bare write and fdatasync."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.benchmarks.drafts import ASSISTANT, CUSTOM, USER, appends, new_session
from scripts.benchmarks.load import Outcome, drive, latencies
from scripts.benchmarks.peer_timing import PeerTimes
from scripts.benchmarks.processes import Daemon, Process, echo, minimal, sessiond
from scripts.benchmarks.report import Row, at_least, at_most, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

REPLY_BYTES = 90
PIPELINE = 32


@dataclass(frozen=True)
class Load:
    """Clients that append to the same session. `requests` is how many all of them send together."""

    what: str
    durability: str
    clients: int
    requests: int
    draft: bytes = ASSISTANT
    entries: int = 1
    depth: int = PIPELINE
    limit: float | None = None


LOADS = (
    Load("append written, 64 pipelined clients", "written", 64, 19_200, limit=60_000),
    Load("append synced, 64 pipelined clients", "synced", 64, 19_200, limit=40_000),
    Load("append written, 1.3 kB prompts with history, 64", "written", 64, 19_200, USER, limit=40_000),
    Load("append synced, 1.3 kB prompts with history, 64", "synced", 64, 19_200, USER, limit=30_000),
    Load("append written, custom entries, 64", "written", 64, 19_200, CUSTOM),
    Load("append synced, 8 pipelined clients", "synced", 8, 9_600),
    Load("append synced, 1 pipelined client", "synced", 1, 4_800),
    Load("append synced, batches of 100 entries, 8 clients", "synced", 8, 320, entries=100, depth=4),
)
SMOKE_LOADS = (LOADS[0], LOADS[3], LOADS[7])
"""One measurement of each kind for a quick run: written, synced with history, and batches."""


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Every client appends to the same session, the case that group commit was made for."""
    rounds, part, loads = (1, 8, SMOKE_LOADS) if quick else (5, 1, LOADS)
    rows: list[Row] = []
    with sessiond(folder / "home") as daemon, echo(folder, REPLY_BYTES) as bare, minimal(folder) as least:
        for load in loads:
            rows += _throughput(daemon, bare, least, load, rounds, part)
        rows.append(_group_commit(daemon, rounds, part))
        rows += _latency(daemon, folder, rounds, 50 if quick else 150)
    return rows


def _throughput(
    daemon: Daemon, bare: Process, least: Process, load: Load, rounds: int, part: int
) -> Iterator[Row]:
    """The rate and the costs of one entry, or of one request of the echo server."""
    ours: list[Outcome] = []
    theirs: list[Outcome] = []
    limits: list[Outcome] = []
    each = load.requests // load.clients // part
    for _ in range(rounds):
        requests = appends(new_session(daemon), load.durability, each, draft=load.draft, entries=load.entries)
        theirs.append(drive(bare, requests, clients=load.clients, depth=load.depth))
        if load.limit is not None:
            limits.append(drive(least, requests, clients=load.clients, depth=load.depth))
        ours.append(drive(daemon, requests, clients=load.clients, depth=load.depth, settle=True))
    rate = middle(outcome.rate for outcome in ours) / middle(outcome.rate for outcome in theirs)
    cpu = middle(outcome.cpu for outcome in ours) / middle(outcome.cpu for outcome in theirs)
    yield sampled(
        load.what,
        [outcome.rate * load.entries for outcome in ours],
        "/s",
        ratio=f"{rate:.2f} x bare echo; client busy {middle(outcome.busy for outcome in ours):.0%}",
        limit=load.limit,
        reason=_limited_by(ours, limits) if limits else "",
    )
    yield sampled(
        "  server CPU per entry",
        [outcome.cpu / load.entries for outcome in ours],
        "s",
        ratio=f"{cpu:.1f} x bare echo",
    )
    yield sampled(
        "  with the work after the replies", [outcome.settled / load.entries for outcome in ours], "s"
    )


def _limited_by(ours: list[Outcome], limits: list[Outcome]) -> str:
    cpu, loop, settled, least = (
        middle(outcome.cpu for outcome in ours),
        middle(outcome.main_cpu for outcome in ours),
        middle(outcome.settled for outcome in ours),
        middle(limit.cpu for limit in limits),
    )
    return (
        "A server without layers that decodes the request, places the entry and writes it, without a sync, failures, "
        f"subscribers or an index, takes {duration(least)} for each entry ({1 / least:,.0f}/s of one processor). The "
        f"daemon takes {duration(cpu)} until the reply, {duration(loop)} of it on the event loop: besides the same "
        "steps the program order, the limits of a client, checks for other writers, a batch that can be rolled back, "
        "and a Python frame for each layer. Other threads sync, index and add to the history, and need "
        f"{duration(settled - cpu)} more for each entry after the replies."
    )


def _group_commit(daemon: Daemon, rounds: int, part: int) -> Row:
    one, many = [], []
    for _ in range(rounds):
        one.append(drive(daemon, appends(new_session(daemon), "synced", 400 // part), clients=1, depth=1))
        many.append(drive(daemon, appends(new_session(daemon), "synced", 200 // part), clients=64, depth=1))
    single, together = middle(outcome.rate for outcome in one), middle(outcome.rate for outcome in many)
    return sampled(
        "append synced, 64 clients that wait for each reply",
        [outcome.rate for outcome in many],
        "/s",
        ratio=f"{together / single:.1f} x one client ({single:,.0f}/s)",
        bar=">= 15 x",
        verdict=at_least(together / single, 15),
        reason="All clients share each sync, so the limit is the processor time of an entry that arrives alone, "
        f"{duration(middle(outcome.cpu for outcome in many))} of the daemon: "
        "its turn of the loop, and a system call each to "
        "read, write and answer it.",
    )


def _latency(daemon: Daemon, folder: Path, rounds: int, each: int) -> list[Row]:
    """The rows of one client that waits for each reply; a sample is the median of a round."""
    written, synced, bare = [], [], []
    peers = PeerTimes("append")
    path = folder / session_name("bench-append")
    write_session(path, "bench-append", 100)
    for _ in range(rounds):
        bare.append(middle(_write_and_sync(folder / "bare", each)))
        synced.append(middle(latencies(daemon, appends(new_session(daemon), "synced", each))))
        written.append(middle(latencies(daemon, appends(new_session(daemon), "written", each))))
        peers.round(path, repeated=each)
    extra = middle(synced) - middle(bare)
    return [
        sampled(
            "append synced, one client, p50",
            synced,
            "s",
            ratio=f"a bare write + fdatasync ({duration(middle(bare))}) + {duration(extra)}",
            bar="+ 0.5 ms",
            verdict=at_most(extra, 0.0005),
        ),
        sampled(
            "append written, one client, p50", written, "s", ratio="peers: in their process, without a sync"
        ),
        *peers.rows(written),
    ]


def _write_and_sync(path: Path, count: int) -> list[float]:
    """Seconds for each of `count` lines of the same length, written and synced by one process alone."""
    line = USER[:-1] + b"\n"
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
