"""Archives a log, continues it, and archives it again, with a kill, a full disk or another program at any call."""

import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import zstandard

from campaigns import archive_lives
from campaigns.campaign import Campaign, Figures, Ground, hold

_LIVES_IN_A_HOME = 12


class _Lives:
    """The program that lives, and what it has acknowledged in a home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._program = subprocess.Popen(
            [sys.executable, archive_lives.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        self.home = self._new_home()

    def _new_home(self) -> Path:
        self._number += 1
        home = self._folder / f"h{self._number}"
        (home / "state").mkdir(parents=True)
        return home

    def begin_again(self) -> None:
        shutil.rmtree(self.home)
        self.home = self._new_home()

    def live(self, **life: Any) -> tuple[int, int]:
        """Live once. Return the number of calls and the exit status."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        told = {"home": str(self.home), "acknowledged": str(self.home / "acknowledged"), **life}
        self._program.stdin.write(json.dumps(told) + "\n")
        self._program.stdin.flush()
        answer = json.loads(self._program.stdout.readline())
        hold(
            answer["status"] in (0, -signal.SIGKILL), f"the life {life} ended with status {answer['status']}"
        )
        return answer["calls"], answer["status"]

    def end(self) -> None:
        self._program.communicate(timeout=60)


def run(ground: Ground) -> Figures:
    lives = _Lives(ground.folder)
    faults, checked, tried = Counter[str](), 0, 0
    try:
        calls, _ = lives.live(seed=0)
        checked += _check(lives.home)
        rounds = 0
        for number in ground.each_round(short=60, long=1_000, seconds=14):
            if number % _LIVES_IN_A_HOME == 0:
                lives.begin_again()
            chance = ground.chance(number)
            kind = chance.choice(("kill_at", "kill_at", "kill_at", "kill_at", "foreign_at", "full_at"))
            at = chance.randrange(1, calls)
            # The calls of a short run are spread over all of a life.
            life = {"seed": chance.randrange(1 << 30), kind: at if kind != "full_at" else 1 + at % 40}
            lives.live(**life)
            faults[kind] += 1
            checked += _check(lives.home)
            tried += sum(path.stat().st_size for path in lives.home.rglob("*.jsonl*"))
            rounds += 1
        lives.live(seed=1)
        checked += _check(lives.home)
        packed = list(lives.home.rglob("*.jsonl.zst"))
        hold(packed, "an undisturbed life does not end with a packed log")
    finally:
        lives.end()
    return Figures(
        rounds, faults=sum(faults.values()), tried=tried, checked=checked,
        more=f"{faults['kill_at']:,} kills, {faults['foreign_at']:,} lines of another program, "
        f"{faults['full_at']:,} full disks",
    )  # fmt: skip


def _check(home: Path) -> int:
    """Check that the log is there once, with every acknowledged line once. Return the number of lines."""
    acknowledged = (
        (home / "acknowledged").read_text("utf-8").split() if (home / "acknowledged").exists() else []
    )
    plain = list(home.glob("data/sessions/*/*.jsonl"))
    packed = list(home.glob("data/sessions/*/*.jsonl.zst"))
    kept = list(home.glob("data/sessions/*/*.packed*"))
    hold(not kept, f"{kept} is kept, although nothing was damaged")
    hold(len(plain) <= 1 and len(packed) <= 1, f"a log is there twice: {plain} {packed}")
    if not plain and not packed:
        hold(not acknowledged, f"the log is gone, with {len(acknowledged)} acknowledged lines")
        return 0
    content = plain[0].read_bytes() if plain else _unpacked(packed[0])
    if plain and packed:
        hold(content.startswith(_unpacked(packed[0])), f"{packed[0]} has lines that the plain file lacks")
    lines = content.split(b"\n")
    tail = lines.pop()
    ids: list[str] = []
    for number, line in enumerate(lines):
        if line.strip():
            try:
                ids.append(json.loads(line)["id"])
            except ValueError:
                hold(not line.startswith(b"?"), f"line {number} is damaged")
    counts = Counter(ids)
    for name in acknowledged:
        hold(
            counts[name] == 1,
            f"{name} was acknowledged and is there {counts[name]} times; the tail is {tail[:80]!r}",
        )
    ours = [name for name in ids if name in set(acknowledged) and not name.startswith("foreign")]
    hold(ours == [name for name in acknowledged if not name.startswith("foreign")], "lines are out of order")
    return len(acknowledged)


def _unpacked(path: Path) -> bytes:
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader,
    ):
        return reader.read()


CAMPAIGN = Campaign(
    name="archive",
    promise="A log that is packed and continued over and over is there once, with every acknowledged line once.",
    how="a process packs a log, appends and packs again; it is killed before any system call that changes something, "
    "the disk is full for some writes, or another program appends at that moment; the files are read without the "
    "product's code after each life",
    run=run,
)
