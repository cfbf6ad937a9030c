"""Cline: its places are known from its documents only, and there is no reader for its sessions."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named

_IN_EDITOR = "Code/User/globalStorage/saoudrizwan.claude-dev/tasks"


def _folders(environ: Environ) -> list[str]:
    cline = named(environ, "CLINE_DIR") or home(environ) + "/.cline"
    config = named(environ, "XDG_CONFIG_HOME") or home(environ) + "/.config"
    library = home(environ) + "/Library/Application Support"
    return [f"{cline}/data/tasks", f"{config}/{_IN_EDITOR}", f"{library}/{_IN_EDITOR}"]


CLINE = Agent(
    name="cline",
    title="Cline",
    short_name="cline",
    program="cline",
    dialect=None,
    checked_version=None,
    variables=("CLINE_DIR", "XDG_CONFIG_HOME"),
    folders=_folders,
    is_session_file=lambda path: path.endswith("/api_conversation_history.json"),
    resume_command=lambda _native_id: [],
)
