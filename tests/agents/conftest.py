"""A private home with the folders of agents, and a daemon."""

from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from support.shared import memory

__all__ = ["memory"]


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
