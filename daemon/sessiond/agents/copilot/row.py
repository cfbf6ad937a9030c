"""Copilot CLI: a folder for each session, with the log of its events."""

from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.deletion import DeletionRule
from sessiond.agents.places import home, named
from sessiond.agents.session_processes import NamedProcess, holders, names_in

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "COPILOT_HOME") or home(environ) + "/.copilot") + "/session-state"]


def _processes(path: str) -> list[NamedProcess]:
    """Return the processes of Copilot CLI that hold a lock in the folder of a session."""
    folder = path.rpartition("/")[0]
    return holders(f"{folder}/{name}" for name in names_in(folder) if name.startswith("inuse."))


def _attachments() -> "AttachmentRules":
    from sessiond.agents.copilot.files_beside import RULES

    return RULES


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
    load_attachments=_attachments,
    keeps=(
        "outputs of tools that were too long (`/tmp/…-copilot-tool-output-….txt`, which only following finds, because"
        " the program deletes them when it ends), and from the folder of the session the plan, checkpoints,"
        " `files/`, `research/`, and files as they were before an edit"
    ),
    checked_version="1.0.102",
    variables=("COPILOT_HOME",),
    folders=_folders,
    # <id>.jsonl in older versions, <id>/events.jsonl since
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["copilot", f"--resume={native_id}"],
    processes=_processes,
    deletes="nothing; `/session prune` and `/session delete` do",
    deletion=lambda environ: DeletionRule(remark="The commands /session prune and /session delete do."),
)
