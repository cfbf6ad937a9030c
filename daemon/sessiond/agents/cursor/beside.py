"""Finds the folder of a transcript of Cursor, which does not name it.

A transcript is in `<home>/projects/<project>/agent-transcripts`. `chats/<workspace>/<id>/meta.json` in the same home
describes the chats of the command-line program, and `.workspace-trusted` in the folder of a project has the project's
path, if the user was asked to trust it. All functions block.
"""

from pathlib import Path
from typing import Any, Final

from sessiond.agents.json_files import object_of
from sessiond.session.content import fields

_TRANSCRIPTS: Final = "agent-transcripts"
_SUBAGENTS: Final = "subagents"
_MILLISECOND: Final = 0.001


def beside(path: str) -> dict[str, str]:
    """Return the folder, the title and the first time of a session, as far as they are known."""
    file = Path(path)
    transcripts = next((parent for parent in file.parents if parent.name == _TRANSCRIPTS), None)
    if transcripts is None:
        return {}
    project, home = transcripts.parent, transcripts.parent.parent.parent
    is_subagent = file.parent.name == _SUBAGENTS
    chat = _chat(home, file.parent.parent.name if is_subagent else file.stem)
    folder = fields.text(chat.get("cwd")) or object_of(project / ".workspace-trusted").get("workspacePath")
    values: dict[str, Any] = {
        "cwd": folder if fields.as_text(folder).startswith("/") else None,
        "title": None if is_subagent else chat.get("title"),
        "startedAt": None if is_subagent else fields.time(chat.get("createdAtMs"), unit=_MILLISECOND),
    }
    return {name: value for name, value in values.items() if fields.text(value) is not None}


def _chat(home: Path, chat_id: str) -> dict[str, Any]:
    """Return the description of a chat."""
    try:
        workspaces = sorted((home / "chats").iterdir())
    except OSError:
        return {}
    return next(
        (found for workspace in workspaces if (found := object_of(workspace / chat_id / "meta.json"))), {}
    )
