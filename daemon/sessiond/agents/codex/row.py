"""Codex: one rollout file for each session, in folders by date; archived ones in a second folder."""

from typing import TYPE_CHECKING

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
from sessiond.agents.places import moved
from sessiond.agents.session_processes import NamedProcess, holders

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect, ForkedHistory, NativeWriter

_SUFFIXES = (".jsonl", ".jsonl.zst", ".json")


def _folders(environ: Environ) -> list[str]:
    above = moved(environ, "CODEX_HOME", ".codex")
    return [f"{above}/sessions", f"{above}/archived_sessions"]


def _is_session_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("rollout-") and name.endswith(_SUFFIXES)


def _is_archived(path: str) -> bool:
    """Return whether `codex archive` has put the file where it is: into one folder for all days."""
    return path.rpartition("/")[0].endswith("/archived_sessions")


def _new_file(session: WrittenSession, environ: Environ) -> NewFile:
    day, time = session.started_at[:10], session.started_at[11:19].replace(":", "-")
    name = f"rollout-{day}T{time}-{session.native_id}.jsonl"
    return NewFile(f"{_folders(environ)[0]}/{day.replace('-', '/')}/{name}")


def _processes(path: str) -> list[NamedProcess]:
    """Return the process of Codex that holds the lock of the thread in a rollout."""
    name = path.rpartition("/")[2].partition(".")[0]
    for folder in ("/sessions/", "/archived_sessions/"):
        above, separator, _ = path.rpartition(folder)
        if separator:
            return holders([f"{above}/thread-writer-locks/{name[-36:]}.lock"])
    return []


def _dialect() -> "Dialect":
    from sessiond.agents.codex.reader import DIALECT

    return DIALECT


def _beside() -> Beside:
    from sessiond.agents.codex.beside import Titles

    return Titles()


def _forks() -> "ForkedHistory":
    from sessiond.agents.codex import forks

    return forks


def _writer() -> "NativeWriter":
    from sessiond.agents.codex.writer import WRITER

    return WRITER


CODEX = Agent(
    name="codex",
    title="Codex",
    short_name="codex",
    program="codex",
    dialect="codex",
    places="`~/.codex/sessions/Y/M/D/rollout-….jsonl`, `~/.codex/archived_sessions/`",
    reads="the rollouts of Codex.",
    writes="a rollout of Codex.",
    load_dialect=_dialect,
    beside=_beside,
    load_forks=_forks,
    load_writer=_writer,
    checked_version="0.171.0",
    variables=("CODEX_HOME",),
    folders=_folders,
    is_session_file=_is_session_file,
    suffixes=_SUFFIXES,
    is_archived=_is_archived,
    resume_command=lambda native_id: ["codex", "resume", native_id],
    processes=_processes,
    deletes="nothing",
    deletion=lambda environ: DeletionRule(),
    new_file=_new_file,
    acp_command=("codex-acp",),
    hooks=HookFile(
        path=lambda environ: moved(environ, "CODEX_HOME", ".codex") + "/hooks.json",
        events=("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
        takes_note=True,
        caution="Codex skips new hooks without a message until you trust them: run codex, then /hooks.",
    ),
    mcp=McpFile(
        path=lambda environ: moved(environ, "CODEX_HOME", ".codex") + "/config.toml",
        container="mcp_servers",
        server=described_server,
        is_toml=True,
    ),
)
