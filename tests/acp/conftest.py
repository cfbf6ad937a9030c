"""One daemon for the tests of a module: each of them has sessions of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.paths import Locations
from support.homes import a_home


@pytest.fixture(scope="module")
def home() -> Iterator[Locations]:
    """An empty home, in which `sessiond acp` starts the daemon."""
    with a_home() as locations:
        yield locations


@pytest.fixture
def agents_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, in which the daemon of the test looks for agents."""
    home = tmp_path / "ada"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for agent in AGENTS.values():
        for name in agent.variables:
            monkeypatch.delenv(name, raising=False)
    return home
