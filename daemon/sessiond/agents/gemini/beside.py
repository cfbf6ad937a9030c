"""Finds the project folder of a Gemini CLI session: its file does not name it, but a file beside it does.

A session is in `<home>/tmp/<project>/chats`. `<home>/tmp/<project>/.project_root` has the folder, and
`<home>/projects.json` maps folders to the names of projects.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from sessiond.agents import regular_files

_CHATS: Final = "chats"
_ROOT: Final = ".project_root"
_PROJECTS: Final = "projects.json"
_MAX_PATH_BYTES: Final = 4096


def beside(path: str) -> dict[str, str]:
    """Return the folder of the project that a session file belongs to, if a file names it. Blocks."""
    chats = next((parent for parent in list(Path(path).parents)[:2] if parent.name == _CHATS), None)
    if chats is None:
        return {}
    project = chats.parent
    folder = _written(project / _ROOT) or _mapped(project.parent.parent / _PROJECTS, project.name)
    return {} if folder is None else {"cwd": folder}


def _written(path: Path) -> str | None:
    try:
        with regular_files.opened(path) as file:
            folder = os.fsdecode(file.read(_MAX_PATH_BYTES)).strip()
    except OSError:
        return None
    return folder if folder.startswith("/") and "\0" not in folder else None


def _mapped(path: Path, name: str) -> str | None:
    try:
        projects = msgspec.json.decode(regular_files.content(path), type=_Projects).projects
    except (OSError, ValueError, RecursionError):
        return None
    return next(
        (folder for folder, project in projects.items() if project == name and folder.startswith("/")), None
    )


class _Projects(msgspec.Struct):
    projects: dict[str, str] = {}
