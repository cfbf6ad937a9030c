"""A daemon at a socket for each test, and a session file for editors to look at."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import logs
from support.daemons import Running, running
from support.shared import cwd

__all__ = ["cwd", "forked", "served"]

FORKED = logs.log(
    logs.header(id="forked-1", title="Two ways"),
    logs.user("Why?", id="q1", parent=None),
    logs.assistant("Because 😀.", id="a1"),
    logs.user("Fix it.", id="q2"),
    logs.assistant("Done.", id="a2"),
    logs.user("Or so.", id="q3", parent="a1"),
    logs.assistant("Done, too.", id="a3"),
    logs.label("q3", "the other way", id="l1"),
    logs.leaf("a2", id="m1"),
)
"""On the path: q1, a1, q2, a2. Line n holds the n-th of the entries."""


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Running]:
    """A daemon at a socket."""
    async with running(tmp_path / "home", "socket") as daemon:
        yield daemon


@pytest.fixture
def forked(tmp_path: Path) -> Path:
    """A session file that nobody has open, with two branches."""
    path = tmp_path / "forked.jsonl"
    path.write_bytes(FORKED)
    return path
