"""Reads what Wren writes about a session beside its file: its title."""

from pathlib import Path
from typing import Any

from sessiond.agents.json_files import object_of


def beside(path: str) -> dict[str, Any]:
    """Return the title of a session, if it has one. Blocks."""
    return object_of(Path(path).with_suffix(".about"))
