"""The first page of the tree of a large session, before and after an append, and the whole tree of the real peers."""

from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.peer_timing import PeerTimes
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, user_message, write_session

ENTRIES, SMOKE_ENTRIES = 100_000, 20_000
FIRST = 0.060
AGAIN = 0.005
_AGAIN_ROUNDS = 5


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure each round in a new daemon. The file is in the page cache, and the session is open."""
    session = "bench-trees"
    entries = SMOKE_ENTRIES if quick else ENTRIES
    path = folder / session_name(session)
    peers = PeerTimes("tree")
    first, again, around = list[float](), list[float](), list[float]()
    first_cpu, again_cpu = list[float](), list[float]()
    for number in range(1 if quick else 7):
        leaf = write_session(path, session, entries)
        peers.round(path)
        with sessiond(folder / f"home-{number}") as daemon, daemon.connect() as client:
            client.call("session/open", {"path": str(path)})
            daemon.settled_cpu()
            _page(daemon, entries, first, first_cpu, sessionId=session)
            for _ in range(_AGAIN_ROUNDS):
                draft = {"type": "message", "message": user_message("One more question.")}
                added = client.call("session/append", {"sessionId": session, "entries": [draft]})
                leaf = added["entries"][0]["id"]
                _page(daemon, entries, again, again_cpu, sessionId=session)
            _page(daemon, entries, around, [], sessionId=session, aroundId=leaf, limit=200)
    return [
        sampled(
            f"first page of the tree of {entries:,} entries", first, "s",
            ratio=f"{duration(middle(first_cpu))} CPU of the daemon", limit=None if quick else FIRST,
        ),
        *peers.rows(first),
        sampled(
            "  again after one append", again, "s",
            ratio=f"{duration(middle(again_cpu))} CPU of the daemon", limit=None if quick else AGAIN,
            reason="A page of 1,000 rows is built, converted to the wire's type and encoded (346 kB) in 2.5 ms without "
            "other work. The index of the appended entry, and its sync, run at the same time.",
        ),
        sampled(f"  200 rows around the leaf, below {entries // 100:,} forks", around, "s"),
    ]  # fmt: skip


def _page(daemon: Daemon, entries: int, times: list[float], cpu: list[float], **params: object) -> None:
    """Request a page, and add its time and the processor time of the daemon. Raises `RuntimeError` for a wrong page."""
    before = daemon.cpu()
    took, reply = exchange(daemon, "session/tree", params)
    cpu.append(daemon.cpu() - before)
    times.append(took)
    result = msgspec.json.decode(reply)["result"]
    if result["visibleCount"] < entries or len(result["nodes"]) < 100:
        raise RuntimeError(f"the page has {len(result['nodes'])} of {result['visibleCount']} rows")
