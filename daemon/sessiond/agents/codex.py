"""Codex: one rollout file for each session, in folders by date; archived ones in a second folder."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    above = named(environ, "CODEX_HOME") or home(environ) + "/.codex"
    return [f"{above}/sessions", f"{above}/archived_sessions"]


def _is_session_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl.zst", ".json"))


CODEX = Agent(
    name="codex",
    title="Codex",
    short_name="codex",
    program="codex",
    dialect="codex",
    checked_version="0.169.0",
    variables=("CODEX_HOME",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["codex", "resume", native_id],
)
