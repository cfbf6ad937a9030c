"""Claude Code: one file of lines for each session, in a folder for each project; subagents in files below it."""

import re
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
from sessiond.agents.claude_code.processes import processes_of
from sessiond.agents.deletion import DeletionRule
from sessiond.agents.places import home, moved, named

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, NativeWriter

_MAX_NAME = 200
"""The maximum characters of a folder's name without a hash."""


def _folders(environ: Environ) -> list[str]:
    return [moved(environ, "CLAUDE_CONFIG_DIR", ".claude") + "/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    if not path.endswith(".jsonl"):
        return False
    # <project>/<session>.jsonl, or <project>/<session>/subagents/…/agent-<id>.jsonl
    return len(parts) == 2 or (len(parts) >= 4 and parts[2] == "subagents" and parts[-1].startswith("agent-"))


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    return NewFile(f"{_folders(environ)[0]}/{project_folder(session.cwd)}/{session.native_id}.jsonl")


def project_folder(cwd: str) -> str:
    """Return the name of the folder for a project: for a long path, its beginning and a hash."""
    name = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{_base_36(abs(_hash(cwd)))}"


def _hash(text: str) -> int:
    """Return the hash of a text as a signed number of 32 bits, over its UTF-16 units."""
    found = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        found = (found * 31 + int.from_bytes(units[at : at + 2], "little")) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found


def _base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _finds(path: str, native_id: str, cwd: str, environ: Environ) -> bool:
    return path == _new_file(WrittenSession(native_id, cwd, started_at=""), environ).path


def _dialect() -> "Dialect":
    from sessiond.agents.claude_code.reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from sessiond.agents.claude_code.beside import beside

    return beside


def _attachments() -> "AttachmentRules":
    from sessiond.agents.claude_code.files_beside import RULES

    return RULES


def _writer() -> "NativeWriter":
    from sessiond.agents.claude_code.writer import WRITER

    return WRITER


def _deletion(environ: Environ) -> DeletionRule:
    from sessiond.agents.claude_code.deletion import deletion

    return deletion(environ)


CLAUDE_CODE = Agent(
    name="claude-code",
    title="Claude Code",
    short_name="claude",
    program="claude",
    dialect="claude-code",
    places="`~/.claude/projects/<project>/<id>.jsonl`, subagents in `<id>/subagents/`",
    reads="the transcripts of Claude Code.",
    writes="a session of Claude Code, for a file named after its `sessionId`.",
    load_dialect=_dialect,
    beside=_beside,
    load_attachments=_attachments,
    keeps=(
        "outputs of tools that were too long (`<id>/tool-results/`), tasks and to-do lists, plans, pasted images,"
        " and files as they were before an edit (`file-history/`)"
    ),
    load_writer=_writer,
    checked_version="2.1.332",
    variables=("CLAUDE_CONFIG_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["claude", "--resume", native_id],
    deletes=(
        "at each start, transcripts whose files were not changed for `cleanupPeriodDays` (30), also if a project's own"
        " settings say so for all projects"
    ),
    deletion=_deletion,
    processes=processes_of,
    new_file=_new_file,
    finds=_finds,  # only if the session belongs to the folder
    acp_command=("claude-agent-acp",),
    hooks=HookFile(
        path=lambda environ: moved(environ, "CLAUDE_CONFIG_DIR", ".claude") + "/settings.json",
        events=("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "SessionEnd"),
        takes_note=True,
    ),
    mcp=McpFile(
        path=lambda environ: (named(environ, "CLAUDE_CONFIG_DIR") or home(environ)) + "/.claude.json",
        container="mcpServers",
        server=lambda words, variables: {"type": "stdio", **described_server(words, variables)},
    ),
)
