"""Warns of a disk that will be full in a month, if as much is written as in the last one."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sessiond import human
from sessiond.hub import clock
from sessiond.hub.disk_space import LOW_BYTES
from sessiond.hub.doctor.databases import opened_read_only
from sessiond.hub.doctor.scope import RECENT_DAYS, Scope
from sessiond.hub.storage import session_sizes
from sessiond.store.files.space import free_bytes


def check_growth(scope: Scope) -> Iterator[None]:
    """Compare what sessions and followed agents have written in the last month with what is free.

    It follows `check_agent_files`, which counts what agents have written.
    """
    written = scope.recent_bytes + _written_here(scope)
    folder = scope.locations.data
    free = free_bytes(Path(folder))
    # A disk that is nearly full already has a finding of its own.
    if free is not None and LOW_BYTES <= free < written and os.path.isdir(folder):  # noqa: PTH112 - a text
        message = (
            f"sessions of {human.size(written)} were written in the last {RECENT_DAYS} days, and"
            f" {human.size(free)} are free"
        )
        scope.add("diskFullSoon", message, folder)
    yield


def _written_here(scope: Scope) -> int:
    """Return the size of the sessions that were changed lately, from the index; 0 if it cannot be read."""
    with (
        contextlib.suppress(sqlite3.Error, OSError, ValueError),
        contextlib.closing(opened_read_only(scope.locations.index)) as index,
    ):
        return session_sizes.read(index, own=b"", recent=clock.iso(scope.recent_ns), limit=0).recent_bytes
    return 0
