"""oh-my-pi: one file of lines for each session, in a folder for each project; subagents in files below it."""

import os.path
import re
from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Environ, NewFile, WrittenSession
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import NativeWriter


def _folders(environ: Environ) -> list[str]:
    below_home = environ.get("PI_CONFIG_DIR") or ".omp"
    agent = named(environ, "PI_CODING_AGENT_DIR") or f"{home(environ)}/{below_home}/agent"
    return [f"{agent}/sessions"]


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    name = f"{re.sub('[:.]', '-', session.started_at)}_{session.native_id}.jsonl"
    return NewFile(f"{_folders(environ)[0]}/{_project_folder(session.cwd, environ)}/{name}")


def _project_folder(cwd: str, environ: Environ) -> str:
    """Return the name of the folder for a project: relative to the home folder or the temporary folder, or absolute."""
    temporary = environ.get("TMPDIR") or "/tmp"
    for prefix, above in (("-", home(environ)), ("-tmp-", temporary)):
        root = os.path.realpath(above)
        if cwd == root:
            return prefix[:-1] or prefix
        if cwd.startswith(root + "/"):
            return prefix + re.sub("[/:]", "-", cwd[len(root) + 1 :])
    return f"--{re.sub('[/:]', '-', cwd.lstrip('/'))}--"


def _attachments() -> "AttachmentRules":
    from sessiond.agents.pi.files_beside import RULES

    return RULES


def _writer() -> "NativeWriter":
    from sessiond.agents.pi import writer

    return writer.OH_MY_PI


OH_MY_PI = Agent(
    name="oh-my-pi",
    title="oh-my-pi",
    short_name="omp",
    program="omp",
    dialect="pi",
    places="`~/.omp/agent/sessions/<project>/….jsonl`",
    writes="a session of oh-my-pi.",
    load_attachments=_attachments,
    keeps=(
        "outputs of tools that were too long and answers of subagents (the folder named as the session file), of"
        " sessions that are followed or imported"
    ),
    load_writer=_writer,
    checked_version="18.3.4",
    variables=("PI_CODING_AGENT_DIR", "PI_CONFIG_DIR"),
    folders=_folders,
    is_session_file=lambda path: path.endswith(".jsonl"),
    resume_command=lambda native_id: ["omp", "--resume", native_id],
    new_file=_new_file,
)
