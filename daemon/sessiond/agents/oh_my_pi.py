"""oh-my-pi: one file of lines for each session, in a folder for each project; subagents in files below it."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    below_home = environ.get("PI_CONFIG_DIR") or ".omp"
    agent = named(environ, "PI_CODING_AGENT_DIR") or f"{home(environ)}/{below_home}/agent"
    return [f"{agent}/sessions"]


OH_MY_PI = Agent(
    name="oh-my-pi",
    title="oh-my-pi",
    short_name="omp",
    program="omp",
    dialect="pi",
    checked_version="18.3.4",
    variables=("PI_CODING_AGENT_DIR", "PI_CONFIG_DIR"),
    folders=_folders,
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["omp", "--resume", native_id],
)
