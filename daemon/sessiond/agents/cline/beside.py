"""Finds what Cline writes about a session in files beside its messages: the folder, the title and the model.

The command-line program has a file `<id>.json` beside `<id>.messages.json`. The extension for VS Code has one file for
all tasks: `state/taskHistory.json`. All functions block.
"""

import functools
from pathlib import Path
from typing import Any, Final

from sessiond.agents.cline import reader as cline
from sessiond.agents.json_files import object_of, value_of
from sessiond.session.content import fields

_HISTORY: Final = "state/taskHistory.json"
_ORIGIN: Final = "sessionHistoryOrigin"


def beside(path: str) -> dict[str, str]:
    """Return the id, folder, title, time, provider, model and version of a session, as far as they are known."""
    file = Path(path)
    if not file.name.endswith(cline.SUFFIX):
        found = _history(file.parent.parent.parent / _HISTORY).get(file.parent.name, {})
        return _texts(cwd=found.get("cwdOnTaskInitialization"), model=found.get("modelId"))
    found = object_of(file.with_name(file.name.removesuffix(cline.SUFFIX) + ".json"))
    if not found:  # a subagent's session
        found = fields.without(object_of(file.parent / f"{file.parent.name}.json"), "metadata")
    about = fields.mapping(found.get("metadata"))
    return _texts(
        sessionId=found.get("session_id"), cwd=found.get("cwd"), title=about.get("title"),
        startedAt=found.get("started_at"), provider=found.get("provider"), model=found.get("model"),
        version=fields.mapping(about.get(_ORIGIN)).get("version"),
    )  # fmt: skip


def _texts(**values: Any) -> dict[str, str]:
    return {name: value for name, value in values.items() if fields.text(value) is not None}


def _history(path: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of Cline's list of tasks, by id."""
    try:
        status = path.stat()
    except OSError:
        return {}
    return _tasks(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _tasks(path: Path, _modified_ns: int, _size: int) -> dict[str, dict[str, Any]]:
    """Return what `_history` returns; a list is read once for all tasks while it does not change."""
    tasks = fields.items(value_of(path))
    return {task["id"]: task for task in tasks if isinstance(task, dict) and isinstance(task.get("id"), str)}
