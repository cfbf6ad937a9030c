"""pi: one file of lines for each session, in a folder for each project."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    agent = named(environ, "PI_CODING_AGENT_DIR") or home(environ) + "/.pi/agent"
    return [named(environ, "PI_CODING_AGENT_SESSION_DIR") or f"{agent}/sessions"]


PI = Agent(
    name="pi",
    title="pi",
    short_name="pi",
    program="pi",
    dialect="pi",
    checked_version="1.5.2",
    variables=("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
    folders=_folders,
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["pi", "--session", native_id],
)
