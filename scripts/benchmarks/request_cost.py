"""The cost of a small request to the daemon, against the barest server that answers as many bytes."""

from pathlib import Path

import msgspec
from scripts.benchmarks.load import Outcome, Requests, drive
from scripts.benchmarks.processes import Process, echo, minimal, sessiond
from scripts.benchmarks.report import Row, at_most, duration, middle, sampled

CLIENTS, DEPTH = 8, 32
_REASON = (
    "A server without layers that validates the envelope, refuses ids in flight, decodes typed params and encodes a "
    "typed result takes {limit} for the smallest request, {multiple:.2f} x the echo. The other {rest} are {work}the "
    "session that the request names, the limits of a client, and a Python frame for each layer."
)


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """`session/unsubscribe` does almost nothing and shows the cost of every request; other requests add their work."""
    each, rounds = (500, 1) if quick else (2_000, 7)
    rows = []
    with sessiond(folder / "home") as daemon, daemon.connect() as client, minimal(folder) as least:
        session = client.call("session/create", {"cwd": "/tmp", "ephemeral": True})["session"]["sessionId"]
        draft = {"type": "custom", "customType": "bench", "data": {}}
        entry = client.call("session/append", {"sessionId": session, "entries": [draft]})["leafId"]
        for method, params, limit, work in (
            ("session/unsubscribe", {"sessionId": session}, 1.5, ""),
            ("session/info", {"sessionId": session}, 1.5, "a result with all fields of a session, "),
            ("session/entries", {"sessionId": session, "entryIds": [entry]}, 3, "a read of the file, "),
            ("server/status", {}, 5, "a result with the state of the process, "),
        ):
            reply = len(msgspec.json.encode(client.call(method, params)))
            requests = small_requests(method, params, each)
            with echo(folder, reply) as bare:
                ours, theirs = interleaved(daemon, bare, requests, rounds)
            named = small_requests("session/unsubscribe", {"sessionId": session}, each)
            unavoidable = middle(drive(least, named, clients=CLIENTS, depth=DEPTH).cpu for _ in range(rounds))
            ratio = middle(one.cpu for one in ours) / middle(one.cpu for one in theirs)
            rows.append(
                sampled(
                    f"{method}, server CPU per request",
                    [outcome.cpu for outcome in ours],
                    "s",
                    ratio=f"{ratio:.2f} x bare asyncio + msgspec "
                    f"({duration(middle(outcome.cpu for outcome in theirs))})",
                    bar=f"<= {limit:g} x",
                    verdict=at_most(ratio, limit),
                    reason=_REASON.format(
                        limit=duration(unavoidable),
                        multiple=unavoidable / middle(one.cpu for one in theirs),
                        rest=duration(middle(one.cpu for one in ours) - unavoidable),
                        work=work,
                    ),
                )
            )
    return rows


def small_requests(method: str, params: dict[str, object], count: int) -> Requests:
    return Requests(
        [
            msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number in range(1, count + 1)
        ]
    )


def interleaved(
    daemon: Process, bare: Process, requests: Requests, rounds: int
) -> tuple[list[Outcome], list[Outcome]]:
    """Put the same load on both servers in turns, so that a disturbance of the machine affects both."""
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(drive(bare, requests, clients=CLIENTS, depth=DEPTH))
        ours.append(drive(daemon, requests, clients=CLIENTS, depth=DEPTH))
    return ours, theirs
