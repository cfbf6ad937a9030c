"""Wren: one file of lines for each session."""

from typing import TYPE_CHECKING

from sessiond.agents.agent import (
    Agent,
    Beside,
    Environ,
    HookFile,
    McpFile,
    NewFile,
    WrittenSession,
    described_server,
)
from sessiond.agents.places import moved

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect, NativeWriter


def _folders(environ: Environ) -> list[str]:
    return [moved(environ, "WREN_HOME", ".wren") + "/sessions"]


def _settings(environ: Environ) -> str:
    return moved(environ, "WREN_HOME", ".wren") + "/settings.json"


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    return NewFile(f"{_folders(environ)[0]}/{session.native_id}.jsonl")


def _dialect() -> "Dialect":
    from .reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from .beside import beside

    return beside


def _writer() -> "NativeWriter":
    from .writer import WRITER

    return WRITER


WREN = Agent(
    name="wren",
    title="Wren",
    short_name="wren",
    program="wren",
    dialect="wren",
    places="`~/.wren/sessions/<id>.jsonl`",
    reads="the sessions of Wren.",
    writes="a session of Wren.",
    load_dialect=_dialect,
    beside=_beside,
    load_writer=_writer,
    checked_version="1.4.0",
    variables=("WREN_HOME",),
    folders=_folders,
    is_session_file=lambda path: "/" not in path and path.endswith(".jsonl"),
    resume_command=lambda native_id: ["wren", "--continue", native_id],
    new_file=_new_file,
    hooks=HookFile(
        path=_settings, events=("SessionStart", "SessionEnd"), takes_note=True, silent_output="{}"
    ),
    mcp=McpFile(path=_settings, container="mcpServers", server=described_server),
)
