"""Cursor: its transcripts are known from public descriptions only. It was not run, and its databases are not read."""

# Without pathlib, which costs milliseconds at the start of a command.
# ruff: noqa: PTH112, PTH120

import hashlib
import os
from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Beside, Environ, is_named_after
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "CURSOR_CONFIG_DIR") or home(environ) + "/.cursor") + "/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    # <project>/agent-transcripts/<id>/<id>.jsonl, earlier <project>/agent-transcripts/<id>.jsonl, and subagents in
    # <project>/agent-transcripts/<id>/subagents/<id>.jsonl
    return 3 <= len(parts) <= 5 and parts[1] == "agent-transcripts" and path.endswith(".jsonl")


def _finds(path: str, native_id: str, cwd: str, environ: Environ) -> bool:
    """Return whether the command-line program has the chat: it has none of the editor and of other folders."""
    [projects] = _folders(environ)
    workspace = hashlib.md5(os.fsencode(cwd), usedforsecurity=False).hexdigest()
    chat = f"{os.path.dirname(projects)}/chats/{workspace}/{native_id}"
    return is_named_after(path, native_id, cwd, environ) and os.path.isdir(chat)


def _dialect() -> "Dialect":
    from sessiond.agents.cursor.reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from sessiond.agents.cursor.beside import beside

    return beside


CURSOR = Agent(
    name="cursor",
    title="Cursor",
    short_name="cursor",
    program="cursor-agent",
    dialect="cursor",
    places=(
        "`~/.cursor/projects/<project>/agent-transcripts/<id>/<id>.jsonl`, earlier `<id>.jsonl`, "
        "subagents in `<id>/subagents/`"
    ),
    reads="the transcripts of Cursor's agent.",
    load_dialect=_dialect,
    beside=_beside,
    checked_version=None,
    variables=("CURSOR_CONFIG_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["cursor-agent", f"--resume={native_id}"],
    finds=_finds,
)
