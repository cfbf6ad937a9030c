"""Copilot CLI: its place and its format are known from public documents and files only. It was not run."""

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "COPILOT_HOME") or home(environ) + "/.copilot") + "/session-state"]


COPILOT = Agent(
    name="copilot",
    title="Copilot CLI",
    short_name="copilot",
    program="copilot",
    dialect="copilot",
    checked_version=None,
    variables=("COPILOT_HOME",),
    folders=_folders,
    # <id>.jsonl in older versions, <id>/events.jsonl since
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["copilot", f"--resume={native_id}"],
)
