"""Cline: its places and formats are known from its public sources only. It was not run."""

from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Beside, Environ
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_IN_EDITOR = "User/globalStorage/saoudrizwan.claude-dev/tasks"


def _folders(environ: Environ) -> list[str]:
    data = (
        named(environ, "CLINE_DATA_DIR")
        or (named(environ, "CLINE_DIR") or home(environ) + "/.cline") + "/data"
    )
    sessions = named(environ, "CLINE_SESSION_DATA_DIR") or f"{data}/sessions"
    config = named(environ, "XDG_CONFIG_HOME") or home(environ) + "/.config"
    above = config, home(environ) + "/Library/Application Support"
    return [
        sessions,
        f"{data}/tasks",
        *(f"{folder}/{editor}/{_IN_EDITOR}" for folder in above for editor in _EDITORS),
    ]


def _is_session_file(path: str) -> bool:
    # <session>/<session>.messages.json of the command-line program, with its subagents in folders below, and
    # <task>/api_conversation_history.json of the extension.
    return path.endswith((".messages.json", "/api_conversation_history.json"))


def _dialect() -> "Dialect":
    from sessiond.agents.cline.reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from sessiond.agents.cline.beside import beside

    return beside


CLINE = Agent(
    name="cline",
    title="Cline",
    short_name="cline",
    program="cline",
    dialect="cline",
    places=(
        "`~/.cline/data/sessions/<id>/<id>.messages.json`, "
        "`~/.cline/data/tasks/<id>/api_conversation_history.json`, and the latter in "
        "`User/globalStorage/saoudrizwan.claude-dev/` of VS Code, VS Code Insiders, VSCodium, Cursor and Windsurf"
    ),
    reads="the messages of Cline, of its command-line program or of its extension for VS Code.",
    load_dialect=_dialect,
    beside=_beside,
    checked_version=None,
    variables=("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "XDG_CONFIG_HOME"),
    folders=_folders,
    is_session_file=_is_session_file,
    # The ids of the extension's tasks are numbers. Only the extension resumes them.
    resume_command=lambda native_id: [] if native_id.isdigit() else ["cline", "--id", native_id],
)
