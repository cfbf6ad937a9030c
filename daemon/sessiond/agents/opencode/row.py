"""OpenCode: all sessions in one SQLite database."""

import os.path
from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent, Environ, HookFile, McpFile
from sessiond.agents.deletion import DeletionRule
from sessiond.agents.opencode.places import config_folder, folders
from sessiond.agents.opencode.plugin import PLUGIN
from sessiond.agents.session_processes import NamedProcess, holders

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, NativeWriter
    from sessiond.agents.session_database import SessionDatabase, SessionFolders


def _config_file(environ: Environ) -> str:
    """Return the file of the user's settings: the one with comments if it exists."""
    folder = config_folder(environ)
    with_comments = f"{folder}/opencode.jsonc"
    return with_comments if os.path.exists(with_comments) else f"{folder}/opencode.json"  # noqa: PTH110


def _is_session_file(path: str) -> bool:
    # A build of another channel has a database of its own: opencode-<channel>.db
    return "/" not in path and path.startswith("opencode") and path.endswith(".db")


def _processes(path: str) -> list[NamedProcess]:
    """Return the processes of OpenCode that have the database of a session open. Any of them may have the session."""
    return holders([path.rpartition("#")[0] + "-shm"])


def _attachments() -> "AttachmentRules":
    from sessiond.agents.opencode.files_beside import RULES

    return RULES


def _dialect() -> "Dialect":
    from sessiond.agents.opencode.reader import DIALECT

    return DIALECT


def _writer() -> "NativeWriter":
    from sessiond.agents.opencode.writer import WRITER

    return WRITER


def _database() -> "SessionDatabase":
    from sessiond.agents.opencode import database

    return database


def _folders() -> "SessionFolders":
    from sessiond.agents.opencode import storage

    return storage


def _model(environ: Environ) -> str | None:
    from sessiond.agents.opencode.model import opencode_model

    return opencode_model(environ)


OPENCODE = Agent(
    name="opencode",
    title="OpenCode",
    short_name="opencode",
    program="opencode",
    dialect="opencode",
    places=(
        "`~/.local/share/opencode/opencode.db`, `opencode-<channel>.db`, "
        "and before version 1.2 files below `storage/`"
    ),
    reads="the sessions of OpenCode, as its `export` writes them or in its database.",
    writes="a document for `opencode import`.",
    load_dialect=_dialect,
    load_attachments=_attachments,
    keeps=("outputs of tools that were too long (`tool-output/`)"),
    load_writer=_writer,
    checked_version="1.18.33",
    variables=("XDG_DATA_HOME",),
    folders=folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["opencode", "--session", native_id],
    processes=_processes,
    deletes="nothing",
    deletion=lambda environ: DeletionRule(),
    load_database=_database,
    load_folders=_folders,
    acp_command=("opencode", "acp"),
    model=_model,
    import_command=lambda path: ["opencode", "import", path],
    hooks=HookFile(
        path=lambda environ: config_folder(environ) + "/plugins/sessiond.js",
        events=("session.created", "session.idle", "session.compacted", "session.deleted"),
        plugin=PLUGIN,
    ),
    mcp=McpFile(
        path=_config_file,
        container="mcp",
        server=lambda words, variables: {
            "type": "local",
            "command": words,
            "enabled": True,
            **({"environment": variables} if variables else {}),
        },
    ),
)
