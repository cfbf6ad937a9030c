"""Checks that each blob matches its hash, and that each referenced blob exists."""

import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.hashing import sha256_of_large
from sessiond.hub.doctor.logs import Logs
from sessiond.hub.doctor.scope import Scope

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_SLICE: Final = 1 << 20


def check_blobs(scope: Scope, logs: Logs) -> Iterator[None]:
    """Read all blobs, then check that the blobs that sessions of the data folder reference exist.

    If the scope is limited to some paths, only the second check is made.
    """
    sizes: dict[str, int] = {}
    names = [] if scope.only else _names_in(scope.blobs_folder)
    for count, name in enumerate(names):
        scope.progress = "Reading blobs", 75 + 20 * count // len(names)
        path = str(scope.blobs_folder / name)
        for digest, size in _digest(path):
            if digest is None:
                yield
            elif digest == name:
                sizes[name] = size
            elif digest:
                sizes[name] = size
                fixable = intact_copy(scope.trash, name) is not None
                scope.add(
                    "damagedBlob",
                    "its bytes do not match its hash",
                    path,
                    blob=name,
                    fixable=fixable,
                )
            else:
                scope.add("unreadable", "it cannot be read", path)
        scope.blobs += 1
        scope.blob_bytes += sizes.get(name, 0)
    for path, needed in logs.needed.items():
        if path not in logs.own:
            continue
        for name in sorted(needed):
            if name not in sizes and not _is_blob(scope.blobs_folder / name):
                fixable = intact_copy(scope.trash, name) is not None
                message = f"it references the blob {name}, which does not exist"
                scope.add("missingBlob", message, path, blob=name, fixable=fixable)
        yield
    if not scope.only:
        _report_unreferenced(scope, logs, sizes)


def intact_copy(trash: Path, name: str) -> Path | None:
    """Return a file in the trash with the content of the blob `name`, or None."""
    for folder in sorted(trash.glob("blobs-*"), reverse=True):
        path = folder / name
        if digest_of(path) == name:
            return path
    return None


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a regular file in hexadecimal; None if it does not exist, empty if it cannot be read."""
    return next((digest for digest, _ in _digest(str(path)) if digest is not None), None)


def _report_unreferenced(scope: Scope, logs: Logs, sizes: dict[str, int]) -> None:
    """Report the number of blobs that no session file references and that are older than the grace period.

    Blobs that only the trash or a torn line references are counted, too.
    """
    grace = scope.config.blobs.grace
    if grace is None:
        return
    named = set().union(*logs.named.values())
    old = [
        name for name in sizes.keys() - named if time.time() - _modified(scope.blobs_folder / name) > grace
    ]
    if old:
        size = sum(sizes[name] for name in old)
        message = f"no session outside the trash references {len(old):,} blobs ({size:,} bytes)"
        scope.add("unreferencedBlobs", message, str(scope.blobs_folder))


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if _HASH.fullmatch(name))  # noqa: PTH208
    except OSError:
        return []  # the check of folders reports it


def _digest(path: str) -> Iterator[tuple[str | None, int]]:
    """Yield `(None, 0)` for each step, then the hash of a file and its size.

    If the file cannot be read, the hash is empty. If it does not exist, nothing is yielded.
    """
    digest, size = sha256_of_large(), 0
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return
    except OSError:
        yield "", 0
        return
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield "", 0
            return
        while data := os.read(descriptor, _SLICE):
            digest.update(data)
            size += len(data)
            yield None, 0
    except OSError:
        yield "", 0
        return
    finally:
        os.close(descriptor)
    yield digest.hexdigest(), size


def _is_blob(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()
