"""Qwen Code: one file of lines for each session, in a folder for each project."""

import re
from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Environ, HookFile, McpFile, NewFile, WrittenSession, described_server
from sessiond.agents.deletion import DeletionRule
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, NativeWriter


def _folders(environ: Environ) -> list[str]:
    above = named(environ, "QWEN_RUNTIME_DIR") or named(environ, "QWEN_HOME") or home(environ) + "/.qwen"
    return [f"{above}/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 3 and parts[1] == "chats" and path.endswith(".jsonl")


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    folder = re.sub(r"[^A-Za-z0-9]", "-", session.cwd)
    return NewFile(f"{_folders(environ)[0]}/{folder}/chats/{session.native_id}.jsonl")


def _finds(path: str, native_id: str, cwd: str, environ: Environ) -> bool:
    return path == _new_file(WrittenSession(native_id, cwd, started_at=""), environ).path


def _attachments() -> "AttachmentRules":
    from sessiond.agents.qwen.files_beside import RULES

    return RULES


def _dialect() -> "Dialect":
    from sessiond.agents.qwen.reader import DIALECT

    return DIALECT


def _writer() -> "NativeWriter":
    from sessiond.agents.qwen.writer import WRITER

    return WRITER


QWEN = Agent(
    name="qwen",
    title="Qwen Code",
    short_name="qwen",
    program="qwen",
    dialect="qwen",
    places="`~/.qwen/projects/<project>/chats/<id>.jsonl`",
    reads="the sessions of Qwen Code.",
    writes="a session of Qwen Code, for a file named after its `sessionId`.",
    load_dialect=_dialect,
    load_attachments=_attachments,
    keeps=("outputs of tools that were too long (`~/.qwen/tmp/<hash>/`), to-do lists (`~/.qwen/todos/`)"),
    load_writer=_writer,
    checked_version="0.24.4",
    variables=("QWEN_RUNTIME_DIR", "QWEN_HOME"),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["qwen", "--resume", native_id],
    new_file=_new_file,
    finds=_finds,  # only if the session belongs to the folder
    deletes=(
        "no sessions; after `general.cleanupPeriodDays` (30) the transcripts of background sub-agents, copies of files"
        " and logs"
    ),
    deletion=lambda environ: DeletionRule(
        remark=(
            "It deletes no sessions. Transcripts of background sub-agents, copies of files and logs are deleted after"
            " general.cleanupPeriodDays (30 by default)."
        )
    ),
    hooks=HookFile(
        path=lambda environ: home(environ) + "/.qwen/settings.json",
        events=("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
        takes_note=True,
        silent_output="{}",
    ),
    mcp=McpFile(
        path=lambda environ: home(environ) + "/.qwen/settings.json",
        container="mcpServers",
        server=lambda words, variables: {**described_server(words, variables), "trust": True},
        caution="Qwen Code calls the tools of sessiond without asking (trust), since they only read.",
    ),
)
