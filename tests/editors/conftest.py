"""A folder, a daemon and a session with a known story, for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from support.stories import Story, Teller, parser_story


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A terminal in a folder, with a daemon of its own that starts with the first command."""
    folder = tmp_path / "atlas"
    folder.mkdir()
    with a_shell(folder) as shell:
        yield shell


@pytest.fixture
def teller(shell: Shell) -> Teller:
    """Somebody else at the same daemon."""
    return Teller(shell.locations, shell.folder)


@pytest.fixture
def story(teller: Teller) -> Story:
    return parser_story(teller)
