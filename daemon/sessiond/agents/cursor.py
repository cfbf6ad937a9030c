"""Cursor's agent for terminals: its place is known from its documents only, and there is no reader for its sessions."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "CURSOR_CONFIG_DIR") or home(environ) + "/.cursor") + "/chats"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 3 and parts[-1] == "store.db"  # <project>/<chat>/store.db


CURSOR = Agent(
    name="cursor",
    title="Cursor",
    short_name="cursor",
    program="cursor-agent",
    dialect=None,
    checked_version=None,
    variables=("CURSOR_CONFIG_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["cursor-agent", f"--resume={native_id}"],
)
