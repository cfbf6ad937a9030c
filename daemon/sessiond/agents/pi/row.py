"""pi: one file of lines for each session, in a folder for each project."""

import re
from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Environ, NewFile, WrittenSession
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, NativeWriter


def _folders(environ: Environ) -> list[str]:
    agent = named(environ, "PI_CODING_AGENT_DIR") or home(environ) + "/.pi/agent"
    return [named(environ, "PI_CODING_AGENT_SESSION_DIR") or f"{agent}/sessions"]


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    name = f"{re.sub('[:.]', '-', session.started_at)}_{session.native_id}.jsonl"
    if named(environ, "PI_CODING_AGENT_SESSION_DIR") is not None:  # one folder for all projects
        return NewFile(f"{_folders(environ)[0]}/{name}")
    return NewFile(f"{_folders(environ)[0]}/--{re.sub('[/:]', '-', session.cwd.lstrip('/'))}--/{name}")


def _dialect() -> "Dialect":
    from sessiond.agents.pi.reader import DIALECT

    return DIALECT


def _attachments() -> "AttachmentRules":
    from sessiond.agents.pi.files_beside import RULES

    return RULES


def _writer() -> "NativeWriter":
    from sessiond.agents.pi import writer

    return writer.PI


PI = Agent(
    name="pi",
    title="pi",
    short_name="pi",
    program="pi",
    dialect="pi",
    places="`~/.pi/agent/sessions/<project>/….jsonl`",
    writes="a session of pi.",
    load_dialect=_dialect,
    load_attachments=_attachments,
    keeps=(
        "outputs of tools that were too long (`/tmp/pi-….log`), of sessions that are followed or imported"
    ),
    load_writer=_writer,
    checked_version="1.6.0",
    variables=("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
    folders=_folders,
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["pi", "--session", native_id],
    new_file=_new_file,
)
