"""Gemini CLI: one file for each session, in a folder for each project."""

# Without pathlib, which costs milliseconds at the start of a command.
# ruff: noqa: PTH119, PTH120, PTH202, PTH208

import os
import re
from typing import TYPE_CHECKING

from sessiond.agents import regular_files
from sessiond.agents.agent import (
    Agent,
    Beside,
    Environ,
    HookFile,
    McpFile,
    NewFile,
    WrittenSession,
    described_server,
)
from sessiond.agents.deletion import DeletionRule
from sessiond.agents.places import home, named

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, NativeWriter

_OWNER = ".project_root"
"""The file with the path of the project that owns a folder."""
_MAX_PATH = 4096
_HEADER_BYTES = 64 * 1024
_ID_IN_NAME = 8
"""The characters of an id that the name of its file has."""
_is_name = re.compile("[a-z0-9-]+").fullmatch


def _folders(environ: Environ) -> list[str]:
    return [(named(environ, "GEMINI_CLI_HOME") or home(environ)) + "/.gemini/tmp"]


def _is_session_file(path: str) -> bool:
    parts = path.split("/")
    # <project>/chats/session-….jsonl, and subagents in <project>/chats/<session>/<id>.jsonl
    return len(parts) >= 3 and parts[1] == "chats" and path.endswith((".jsonl", ".json"))


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    projects = _folders(environ)[0]
    folder = f"{projects}/{_project_name(session.cwd, projects)}"
    started = session.started_at[:16].replace(":", "-")
    # Gemini CLI deletes every file whose name ends with the first 8 characters of an id that it cannot resume.
    suffix = session.native_id.replace("-", "")[-8:]
    path = f"{folder}/chats/session-{started}-{suffix}.jsonl"
    return NewFile(path, {f"{folder}/{_OWNER}": session.cwd})


def _project_name(cwd: str, projects: str) -> str:
    """Return the name of the folder for a project: the registered one, else the first one that no project has."""
    registered = _registered(projects)
    if (name := registered.get(cwd)) is not None and _owner(projects, name) in (None, cwd):
        return name
    for name in sorted(_names(projects)):
        if _owner(projects, name) == cwd:
            return name
    base = re.sub("[^a-z0-9]+", "-", cwd.rpartition("/")[2].lower()).strip("-") or "project"
    number = 0
    while True:
        name = f"{base}-{number}" if number else base
        if name not in registered.values() and _owner(projects, name) is None:
            return name
        number += 1


def _registered(projects: str) -> dict[str, str]:
    """Return the registered names of projects of Gemini CLI, by their folders."""
    import json  # noqa: TID251 - the module is imported without msgspec

    try:
        with open(f"{os.path.dirname(projects)}/projects.json", encoding="utf-8") as file:
            found = json.load(file)["projects"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    known = found.items() if isinstance(found, dict) else ()
    return {cwd: name for cwd, name in known if isinstance(name, str) and _is_name(name)}


def _names(projects: str) -> list[str]:
    try:
        return os.listdir(projects)
    except OSError:
        return []


def _owner(projects: str, name: str) -> str | None:
    """Return the folder of the project that has this name; None if none has it."""
    try:
        with open(f"{projects}/{name}/{_OWNER}", encoding="utf-8") as file:
            return file.read(_MAX_PATH).strip()
    except (OSError, ValueError):
        return None


def _keep_copy(native_id: str, environ: Environ) -> None:
    """Copy the file of a session under another name, which Gemini CLI then loads and continues.

    A load writes an empty history to the file, and the next start of Gemini CLI deletes every file whose name ends with
    the first 8 characters of the id. A file of another name is neither overwritten nor deleted.
    """
    ending = f"-{native_id[:8]}.jsonl"
    for folder in _folders(environ):
        for chats in (f"{folder}/{project}/chats" for project in _names(folder)):
            sizes = {file: _size(f"{chats}/{file}") for file in _files_of(native_id, chats)}
            own = max((size for size in sizes if size.endswith(ending)), key=sizes.__getitem__, default=None)
            if own is None or any(sizes[size] >= sizes[own] for size in sizes if not size.endswith(ending)):
                continue
            _copy(f"{chats}/{own}", f"{chats}/{own.removesuffix(ending)}", native_id[9:13])


def _copy(source: str, begin: str, end: str) -> None:
    """Copy a file under a free name. If the disk is full, the copy is removed, and the load continues without it."""
    import shutil

    for mark in ("keep", *(f"kee{number}" for number in range(2, 10))):
        copy = f"{begin}-{mark}{end}.jsonl"
        try:
            with regular_files.opened(source) as found, open(copy, "xb") as target:
                try:
                    shutil.copyfileobj(found, target)
                except OSError:
                    os.unlink(copy)  # noqa: PTH108 - the path is a string
        except FileExistsError:
            continue  # an earlier copy has fewer lines
        except OSError:
            return
        else:
            return


def _files_of(native_id: str, chats: str) -> list[str]:
    """Return the names of the files of lines in a folder whose first line names a session."""
    names = [name for name in _names(chats) if name.startswith("session-") and name.endswith(".jsonl")]
    return [name for name in names if _has_id(f"{chats}/{name}", native_id)]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _finds(path: str, native_id: str, _cwd: str, _environ: Environ) -> bool:
    return native_id[:_ID_IN_NAME] in os.path.basename(path) and _has_id(path, native_id)


def _has_id(path: str, native_id: str) -> bool:
    """Return whether the first line of a file names a session."""
    import msgspec  # only few commands need it

    try:
        with regular_files.opened(path) as file:
            header = msgspec.json.decode(file.readline(_HEADER_BYTES))
    except (OSError, msgspec.DecodeError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("sessionId") == native_id


def _attachments() -> "AttachmentRules":
    from sessiond.agents.gemini.files_beside import RULES

    return RULES


def _dialect() -> "Dialect":
    from sessiond.agents.gemini.reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from sessiond.agents.gemini.beside import beside

    return beside


def _writer() -> "NativeWriter":
    from sessiond.agents.gemini.writer import WRITER

    return WRITER


def _deletion(environ: Environ) -> DeletionRule:
    from sessiond.agents.gemini.deletion import deletion

    return deletion(environ)


GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    short_name="gemini",
    program="gemini",
    dialect="gemini",
    places="`~/.gemini/tmp/<project>/chats/session-….jsonl`",
    reads="the sessions of Gemini CLI.",
    writes="a session of Gemini CLI.",
    load_dialect=_dialect,
    load_attachments=_attachments,
    keeps=(
        "outputs of tools that were too long (`tool-outputs/session-<id>/`), plans and tasks"
        " (`<id>/plans/`, `<id>/tasks/`)"
    ),
    beside=_beside,
    load_writer=_writer,
    checked_version="0.61.0",
    variables=("GEMINI_CLI_HOME",),
    folders=_folders,
    is_session_file=_is_session_file,
    resume_command=lambda native_id: ["gemini", "--resume", native_id],
    new_file=_new_file,
    finds=_finds,
    deletes=(
        "at each start in a project, its sessions that are older than `general.sessionRetention.maxAge` (30 days) or"
        " more than `maxCount`, their tool outputs, and files that it cannot read"
    ),
    deletion=_deletion,
    acp_command=("gemini", "--acp"),
    before_load=_keep_copy,
    hooks=HookFile(
        path=lambda environ: (named(environ, "GEMINI_CLI_HOME") or home(environ)) + "/.gemini/settings.json",
        events=("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"),
        takes_note=True,
        silent_output="{}",
    ),
    mcp=McpFile(
        path=lambda environ: (named(environ, "GEMINI_CLI_HOME") or home(environ)) + "/.gemini/settings.json",
        container="mcpServers",
        server=lambda words, variables: {**described_server(words, variables), "trust": True},
        caution="Gemini CLI calls the tools of sessiond without asking (trust), since they only read.",
    ),
)
