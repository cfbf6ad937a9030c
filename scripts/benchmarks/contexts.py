"""The context of a deep path, side by side: through the daemon, in its process, and in the real peers."""

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.peer_timing import MISSING
from scripts.benchmarks.processes import sessiond
from scripts.benchmarks.report import Row, at_most, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

from sessiond.hub.session.log_reader import LogReader
from sessiond.store.files.store import FileStore

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support import peers

DEPTH, SMOKE_DEPTH = 10_000, 2_000
FORMATS = ("openai", "anthropic", "google")
PROGRAM = Path(__file__).parent / "peer_programs" / "context.mjs"


@dataclass(frozen=True)
class Timed:
    """Seconds: to open a file and build its context, and to build it again."""

    opened: float
    warm: float


class Figures(msgspec.Struct):
    """The answer of peer_programs/context.mjs, in milliseconds."""

    open: float
    first: float
    warm: float
    messages: int
    import_: float = msgspec.field(name="import")


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Yardsticks: msgspec decoding the same lines, and pi and oh-my-pi where they are installed."""
    session = "bench-context"
    path = folder / session_name(session)
    depth, rounds = (SMOKE_DEPTH, 1) if quick else (DEPTH, 15)
    write_session(path, session, depth, branch_every=0)
    took, decoded = [], []
    shaped: dict[str, list[float]] = {format: [] for format in FORMATS}
    with sessiond(folder / "home") as daemon, daemon.connect() as client:
        client.call("session/open", {"path": str(path)})
        for _ in range(rounds):
            decoded.append(_decode(path))
            seconds, reply = exchange(daemon, "session/context", {"sessionId": session})
            took.append(seconds)
            for format, times in shaped.items():
                params: dict[str, object] = {"sessionId": session, "format": format}
                times.append(exchange(daemon, "session/context", params)[0])
    _expect(len(msgspec.json.decode(reply)["result"]["messages"]), depth)
    asked, own = middle(took), asyncio.run(_in_process(path, depth, rounds))
    others = {other: _peer(other, path, depth, rounds) for other in peers.BOTH} if peers.available() else {}
    opened, warm = ([getattr(timed, name) for timed in own] for name in ("opened", "warm"))
    opening = (
        f"msgspec takes {duration(middle(decoded))} to decode the lines of the file in one call. The daemon also "
        "checks every line for damage, stores columns, and lets other clients in between."
    )
    return [
        sampled(
            f"context of a path of {depth:,} entries, with its {len(reply) / 1e6:.0f} MB at the client",
            took,
            "s",
            ratio=f"{asked / middle(decoded):.1f} x msgspec decoding it ({duration(middle(decoded))})",
        ),
        *(_shaped(format, times, asked) for format, times in shaped.items()),
        *(_against_a_new_process(asked, str(peer), figures) for peer, figures in others.items()),
        *(() if others else (MISSING,)),
        sampled("  in one process: open the file, first context", opened, "s"),
        *(
            _against(middle(opened), str(peer), (figures.open + figures.first) / 1e3, opening)
            for peer, figures in others.items()
        ),
        sampled("  in one process: context of an open session, again", warm, "s"),
        *(_against(middle(warm), str(peer), figures.warm / 1e3) for peer, figures in others.items()),
    ]


def _shaped(format: str, took: list[float], asked: float) -> Row:
    ratio = f"{middle(took) / asked:.1f} x the agents' own"
    return sampled(f"    in the format of {format}", took, "s", ratio=ratio)


def _against_a_new_process(asked: float, peer: str, figures: Figures) -> Row:
    """Return the row of a program without a daemon: it loads the package, opens the file, then builds the context."""
    total = (figures.import_ + figures.open + figures.first) / 1e3
    return _against(asked, f"{peer} in a new process: import, open, context", total)


def _against(ours: float, what: str, theirs: float, reason: str = "") -> Row:
    ratio = ours / theirs
    verdict = at_most(ours, theirs)
    return sampled(
        f"    {what}",
        [theirs],
        "s",
        ratio=f"ours {ratio:.2f} x",
        bar="<= 1 x",
        verdict=verdict,
        reason=reason,
    )


def _peer(peer: peers.Peer, path: Path, depth: int, rounds: int) -> Figures:
    request = {"peer": peer.name, "file": str(path), "rounds": rounds}
    figures = msgspec.json.decode(peers.run_program(peer, PROGRAM, request, timeout=120), type=Figures)
    _expect(figures.messages, depth)
    return figures


async def _in_process(path: Path, depth: int, rounds: int) -> list[Timed]:
    """Build contexts as the hub does: of an open session, whose last context is kept."""
    store = FileStore(path.parent / "data", path.parent / "state")
    timed: list[Timed] = []
    for _ in range(rounds):
        start = time.perf_counter()
        session = LogReader(await store.open_ref(str(path)))
        await session.load()
        leaf = session.tree.leaf
        times = []
        for _ in ("opened", "warm"):
            context = await session.contexts.at(leaf)
            times.append(time.perf_counter() - start)
            _expect(len(context.messages), depth)
            start = time.perf_counter()
        await session.log.close()
        timed.append(Timed(*times))
    await store.close()
    return timed


def _expect(messages: int, depth: int) -> None:
    if messages != depth:
        raise RuntimeError(f"the context has {messages} messages, not {depth}")


def _decode(path: Path) -> float:
    start = time.perf_counter()
    msgspec.json.Decoder().decode_lines(path.read_bytes())
    return time.perf_counter() - start
