"""Claude Code: one file of lines for each session, in a folder for each project; subagents in files below it."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "CLAUDE_CONFIG_DIR") or home(environ) + "/.claude") + "/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    if not path.endswith(".jsonl"):
        return False
    # <project>/<session>.jsonl, or <project>/<session>/subagents/…/agent-<id>.jsonl
    return len(parts) == 2 or (len(parts) >= 4 and parts[2] == "subagents" and parts[-1].startswith("agent-"))


CLAUDE_CODE = Agent(
    name="claude-code",
    title="Claude Code",
    short_name="claude",
    program="claude",
    dialect="claude-code",
    checked_version="2.1.197",
    variables=("CLAUDE_CONFIG_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["claude", "--resume", native_id],
)
