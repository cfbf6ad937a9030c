"""Qwen Code: one file of lines for each session, in a folder for each project."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "QWEN_RUNTIME_DIR") or home(environ) + "/.qwen") + "/projects"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 3 and parts[1] == "chats" and path.endswith(".jsonl")


QWEN = Agent(
    name="qwen",
    title="Qwen Code",
    short_name="qwen",
    program="qwen",
    dialect="qwen",
    checked_version="0.15.10",
    variables=("QWEN_RUNTIME_DIR",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["qwen", "--resume", native_id],
)
