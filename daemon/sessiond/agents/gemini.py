"""Gemini CLI: one file for each session, in a folder for each project."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "GEMINI_CLI_HOME") or home(environ)) + "/.gemini/tmp"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    # <project>/chats/session-….jsonl, and subagents in <project>/chats/<session>/<id>.jsonl
    return len(parts) >= 3 and parts[1] == "chats" and path.endswith((".jsonl", ".json"))


GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    short_name="gemini",
    program="gemini",
    dialect="gemini",
    checked_version="0.61.0",
    variables=("GEMINI_CLI_HOME",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["gemini", "--resume", native_id],
)
