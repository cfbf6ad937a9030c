"""Copilot CLI: a folder for each session, with the log of its events."""

from typing import TYPE_CHECKING

from sessiond.agents import session_processes
from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "COPILOT_HOME") or home(environ) + "/.copilot") + "/session-state"]


def _dialect() -> "Dialect":
    from sessiond.agents.copilot.reader import DIALECT

    return DIALECT


COPILOT = Agent(
    name="copilot",
    title="Copilot CLI",
    short_name="copilot",
    program="copilot",
    dialect="copilot",
    places="`~/.copilot/session-state/<id>/events.jsonl`, earlier `<id>.jsonl`",
    reads="the events of Copilot CLI.",
    load_dialect=_dialect,
    checked_version="1.0.102",
    variables=("COPILOT_HOME",),
    folders=_folders,
    # <id>.jsonl in older versions, <id>/events.jsonl since
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["copilot", f"--resume={native_id}"],
    processes=session_processes.of_copilot,
)
