"""Lines in the form in which two stores compare them, and the digest of a set of lines.

Two logs of one session hold the same lines in different orders, and the mark of a batch (`batches.MORE_FOLLOWS`) falls
at different lines. So a line is compared without its newline and with the mark removed, and the digest of a set of
lines is a sum, which has no order (decision 0052).
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from sessiond.hashing import sha256_for_many
from sessiond.session.tree.batches import MORE_FOLLOWS
from sessiond.session.tree.lines import NotAnEntry, loads

HASH_DIGITS: Final = 16
"""Hexadecimal digits of the hash by which `sync/ids` distinguishes lines."""
_MODULUS: Final = 1 << 256


def comparable(line: bytes) -> bytes:
    """Return a stored line without its newline and without the mark of a batch."""
    line = line.rstrip(b"\n")
    return line[: -len(MORE_FOLLOWS)] + b"}" if line.endswith(MORE_FOLLOWS) else line


def lines_in(block: bytes) -> list[bytes]:
    """Return the comparable lines of some whole lines. Blank lines are left out: they hold nothing."""
    return [comparable(line) for line in block.split(b"\n") if line.strip()]


def is_json(line: bytes) -> bool:
    """Return whether a line is JSON, as leniently as a log is read. Only such lines are taken from another store."""
    try:
        loads(line)
    except NotAnEntry as error:
        return error.kind == "notAnEntry"
    return True


def as_batch(lines: Iterable[bytes]) -> bytes:
    """Return comparable lines as one batch of a log: after a crash, all of them are present or none.

    A line that does not end with its object cannot be marked, and is written unchanged.
    """
    *before, last = lines
    marked = [line[:-1] + MORE_FOLLOWS if line.endswith(b"}") else line for line in before]
    return b"\n".join([*marked, last]) + b"\n"


def short_hash(line: bytes) -> str:
    """Return the hash of a comparable line for `sync/ids`."""
    return hashlib.sha256(line).hexdigest()[:HASH_DIGITS]


class LineSum:
    """The number and the digest of a set of comparable lines. A line that was added before changes nothing."""

    def __init__(self) -> None:
        self._sum = 0
        self._seen: set[bytes] = set()

    def add(self, lines: Iterable[bytes]) -> None:
        """Add comparable lines."""
        seen, sha256 = self._seen, sha256_for_many()
        total = 0
        for line in lines:
            digest = sha256(line).digest()
            if digest not in seen:
                seen.add(digest)
                total += int.from_bytes(digest, "big")
        self._sum = (self._sum + total) % _MODULUS

    @property
    def count(self) -> int:
        """The number of distinct lines."""
        return len(self._seen)

    @property
    def digest(self) -> str:
        """The sum of the SHA-256 digests of the lines modulo 2^256, in hexadecimal."""
        return f"{self._sum:064x}"


def store_digest(sessions: Iterable[tuple[str, int, str]]) -> str:
    """Return the digest of a store from the id, the number of lines and the digest of each of its sessions."""
    total = 0
    for session_id, count, digest in sessions:
        text = f"{session_id}\0{count}\0{digest}"
        total += int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    return f"{total % _MODULUS:064x}"
