"""The real pi and oh-my-pi as references: the same work on the same files, in the same run.

`scripts/install-peers` installs them. Without them, a row says so and has no ratio.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from scripts.benchmarks.report import Row, Verdict, at_most, middle, sampled

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support import peers

Task = Literal["open", "list", "tree", "append"]
PROGRAM = Path(__file__).parent / "peer_programs" / "timing.mjs"
NAMES = {"pi": "pi", "omp": "oh-my-pi"}
MISSING = Row("  pi and oh-my-pi", "not installed: scripts/install-peers")


class Timed(msgspec.Struct):
    """The answer of peer_programs/timing.mjs: milliseconds, and a size that shows that the work was done."""

    times: list[float]
    size: int


class PeerTimes:
    """The times of both peers for one task. Each round is a process of its own, in a home of its own."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._times: dict[peers.Peer, list[float]] = (
            {client: [] for client in peers.BOTH} if peers.available() else {}
        )

    def round(self, file: Path, *, size: int | None = None, repeated: int = 1) -> None:
        """Time each peer on a file, or on a folder of sessions.

        Args:
            file: The file or folder that it opens or lists.
            size: The number of entries or sessions that it must find; None for any number.
            repeated: The number of times that it builds the tree or appends. The round counts with the median.

        Raises:
            RuntimeError: A peer found something else.
        """
        request = {"task": self._task, "file": str(file), "rounds": repeated}
        for peer, times in self._times.items():
            said = peers.run_program(peer, PROGRAM, {"peer": peer.name, **request}, timeout=120)
            timed = msgspec.json.decode(said, type=Timed)
            if timed.size != size and size is not None:
                raise RuntimeError(f"{peer} found {timed.size} instead of {size}")
            times.append(middle(timed.times) / 1e3)

    def rows(self, ours: Sequence[float], *, must_beat: Sequence[str] = ()) -> Iterator[Row]:
        """Yield a row for each peer with the ratio of `ours` to it. The peers in `must_beat` are targets."""
        if not self._times:
            yield MISSING
        for peer, times in self._times.items():
            ratio = middle(ours) / middle(times)
            verdict: Verdict = at_most(ratio, 1) if peer.name in must_beat else ""
            yield sampled(
                f"  {NAMES[peer.name]} {peer.version}",
                times,
                "s",
                ratio=f"ours {ratio:.2f} x",
                bar="<= 1 x" if verdict else "",
                verdict=verdict,
            )
