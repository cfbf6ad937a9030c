"""Cursor: its transcripts are known from public descriptions only. It was not run, and its databases are not read."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "CURSOR_CONFIG_DIR") or home(environ) + "/.cursor") + "/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    # <project>/agent-transcripts/<id>/<id>.jsonl, earlier <project>/agent-transcripts/<id>.jsonl, and subagents in
    # <project>/agent-transcripts/<id>/subagents/<id>.jsonl
    return 3 <= len(parts) <= 5 and parts[1] == "agent-transcripts" and path.endswith(".jsonl")


CURSOR = Agent(
    name="cursor",
    title="Cursor",
    short_name="cursor",
    program="cursor-agent",
    dialect="cursor",
    checked_version=None,
    variables=("CURSOR_CONFIG_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["cursor-agent", f"--resume={native_id}"],
)
