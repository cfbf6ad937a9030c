"""Reads the history with which a fork of Codex begins from the rollouts of the threads that have it.

All functions block.
"""

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from sessiond.agents.codex import history as codex_history

_PREFIX: Final = "rollout-"
_HEADER_BYTES: Final = 1 << 20
_FOLDERS: Final = ("sessions", "archived_sessions")
_COMPRESSED: Final = ".zst"
_SUFFIXES: Final = (".jsonl", f".jsonl{_COMPRESSED}")


def inherited(path: str, data: bytes, read: Callable[[str], bytes | None]) -> bytes:
    """Return the lines that come before those of a rollout, oldest first.

    Args:
        path: The rollout.
        data: Its content.
        read: Returns the content of another rollout; None if it cannot be read.

    Returns:
        The lines. If a rollout was not found, those of the threads after it: their first header names it.
    """
    found: list[bytes] = []
    end: float = math.inf
    while (base := codex_history.base_of(data)) is not None and base.end < end:
        end = base.end
        content = next(
            (stored for name in files_of(path, base.thread) if (stored := read(name)) is not None), None
        )
        if content is None:
            break
        data = codex_history.before(content, base.end)
        found.append(data)
    return b"".join(reversed(found))


def inherited_size(path: str) -> int:
    """Return about how many bytes come before those of a rollout; 0 for another file. Reading it reports an error."""
    if not Path(path).name.startswith(_PREFIX) or path.endswith(_COMPRESSED):
        return 0
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            base = codex_history.base_of(file.readline(_HEADER_BYTES))
    except OSError:
        return 0
    return 0 if base is None else base.size


def files_of(path: str, thread: str) -> Iterator[str]:
    """Yield the rollouts of a thread: those in the folder of another one, then those in all folders of its sessions."""
    names = tuple(f"-{thread}{suffix}" for suffix in _SUFFIXES)
    folder = Path(path).parent
    home = next((parent.parent for parent in [folder, *folder.parents] if parent.name in _FOLDERS), None)
    roots = [] if home is None else [str(home / name) for name in _FOLDERS]
    seen: set[str] = set()
    for root in [str(folder), *roots]:
        for parent, folders, files in os.walk(root):
            folders.sort()
            if root == str(folder):
                folders.clear()
            for name in sorted(files):
                found = f"{parent}/{name}"
                if name.endswith(names) and found not in seen and not Path(found).is_symlink():
                    seen.add(found)
                    yield found
