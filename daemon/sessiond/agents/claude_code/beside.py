"""Reads what Claude Code writes about a subagent beside its file: `<name>.meta.json`, with the call that it serves."""

import os
from pathlib import Path
from typing import Any

from sessiond.agents.json_files import object_of


def beside(path: str) -> dict[str, Any]:
    """Return the plain values in the file beside a session; none without one. Blocks."""
    meta = os.path.splitext(path)[0] + ".meta.json"  # noqa: PTH122 - for each of many files, and pathlib is slow
    if not os.path.isfile(meta):  # noqa: PTH113
        return {}
    return {
        name: value for name, value in object_of(Path(meta)).items() if isinstance(value, str | int | bool)
    }
