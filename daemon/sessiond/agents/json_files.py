"""Reads JSON files that an agent writes beside its sessions."""

from pathlib import Path
from typing import Any

import msgspec

from sessiond.agents import regular_files
from sessiond.session.content import fields


def value_of(path: Path) -> Any:
    """Return the value in a JSON file; None if the file cannot be read or is not JSON. Blocks."""
    try:
        return msgspec.json.decode(regular_files.content(path))
    except (OSError, ValueError, RecursionError):
        return None


def object_of(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if the file has no object. Blocks."""
    return fields.mapping(value_of(path))
