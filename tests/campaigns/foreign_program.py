"""A program that appends entries to a session file in several writes a line, as a process of its own.

`python -m campaigns.foreign_program PATH NAME SEED COUNT` appends COUNT entries whose ids begin with NAME-0, NAME-1, …
It needs nothing but Python, and knows nothing of the product.
"""

import json  # noqa: TID251  (another program has no msgspec)
import os
import random
import sys
import time
import zlib

_PAUSES = (0.0, 0.0, 0.0005, 0.0005, 0.002, 0.02)
_LONG_PAUSE = 0.5
"""Seconds: longer than the product waits for the rest of a line."""


def line(name: str, size: int) -> bytes:
    """The line of an entry, without spaces, so that its bytes can be told from the blanks of others."""
    entry = {
        "type": "message", "id": name, "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "é" * size},
    }  # fmt: skip
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def lines(name: str, seed: int, count: int) -> list[bytes]:
    """All that a program of this name writes."""
    sizes = random.Random(f"{name} {seed}")
    return [line(name_of(name, number), sizes.choice((1, 20, 500))) for number in range(count)]


def name_of(name: str, number: int) -> str:
    """An id that halves of two other ids do not make."""
    return f"{name}-{number}-{zlib.crc32(f'{name} {number}'.encode()):08x}"


def _write(path: str, name: str, seed: int, count: int) -> None:
    chance = random.Random(f"{seed} {name}")
    for whole in lines(name, seed, count):
        cuts = sorted(chance.sample(range(1, len(whole)), chance.randint(1, 3)))
        for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            fd = os.open(path, os.O_WRONLY | os.O_APPEND)
            os.write(fd, whole[start:end])
            os.close(fd)
            time.sleep(_LONG_PAUSE if chance.random() < 0.002 else chance.choice(_PAUSES))


if __name__ == "__main__":
    _write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
