"""Terminals of the tests: most share the daemon of their file, and some begin in a new home."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.commands import Shell, a_shell
from support.homes import a_home


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Locations]:
    """A home whose daemon starts with the first command of a file and ends with the file."""
    with a_home() as locations:
        yield locations


@pytest.fixture
def shell(tmp_path: Path, shared_home: Locations) -> Shell:
    """A terminal in a folder of its own. In its home are the sessions of the other tests of the file, too."""
    return Shell(shared_home, tmp_path, terminal=str(tmp_path))


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Shell]:
    """A terminal for a test that looks at all of a home, configures it or ends its daemon. No daemon runs yet."""
    with a_shell(tmp_path) as shell:
        yield shell
