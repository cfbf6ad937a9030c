"""Describes one agent: the place and the form of its sessions, and the command that resumes one.

The module is imported by commands that must start fast, so it and what it imports import only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sessiond.agents.deletion import DeletionRule
from sessiond.agents.session_processes import NamedProcess

if TYPE_CHECKING:
    from sessiond.agents.attachments import AttachmentRules
    from sessiond.agents.formats import Dialect, ForkedHistory, NativeWriter
    from sessiond.agents.session_database import SessionDatabase, SessionFolders

Environ: TypeAlias = Mapping[str, str]
"""Environment variables by name."""
Beside: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Returns what other files say about the session in a file. It may keep what it has read, and may block."""

_VERSION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9}){1,3})[-+.A-Za-z0-9]{0,40}")


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """A session that is written for an agent to resume.

    Attributes:
        native_id: Its id.
        cwd: The real path of its folder.
        started_at: When it began: ISO 8601 in UTC, with milliseconds and `Z`.
    """

    native_id: str
    cwd: str
    started_at: str


@dataclass(frozen=True, slots=True)
class NewFile:
    """The file of a new session.

    Attributes:
        path: Its absolute path.
        companions: The content of further files that the agent needs to find it, by absolute path. One that exists
            stays as it is.
    """

    path: str
    companions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HookFile:
    """The file in which an agent is configured to call a program at its events.

    Attributes:
        path: Returns the file that declares the hooks, for these environment variables.
        events: The events at which `sessiond hook` runs.
        takes_note: Whether the agent shows its model what a hook prints at `SessionStart` as `additionalContext`.
        silent_output: The output of the hook when it has nothing to say. Some agents accept nothing but JSON.
        plugin: The text of the file, in which @PROGRAM@ and @EVENTS@ stand for JSON arrays: the words of the command,
            and the events. None if the file is a settings file that the user edits.
        caution: Steps that the user must take before the hooks run; empty if they run immediately.
    """

    path: Callable[[Environ], str]
    events: tuple[str, ...]
    takes_note: bool = False
    silent_output: str = ""
    plugin: str | None = None
    caution: str = ""


@dataclass(frozen=True, slots=True)
class McpFile:
    """The file in which an agent finds the MCP servers of its user, and the form in which a server is described there.

    Attributes:
        path: Returns the file, for these environment variables.
        container: The name of the object, or of the TOML table, that has a member for each server.
        server: Returns the description of a server, for the words of its command and its environment variables.
        caution: Facts that the user must know before the server is called; may be empty.
        is_toml: Whether the file is TOML; otherwise it is JSON with comments.
    """

    path: Callable[[Environ], str]
    container: str
    server: Callable[[list[str], dict[str, str]], dict[str, object]]
    caution: str = ""
    is_toml: bool = False


def described_server(words: list[str], variables: dict[str, str]) -> dict[str, object]:
    """Return the description of an MCP server that most agents understand."""
    return {"command": words[0], "args": words[1:], **({"env": variables} if variables else {})}


def is_named_after(path: str, native_id: str, _cwd: str, _environ: Environ) -> bool:
    """Return whether the file at a path, or the folder that it is in, is named after a session."""
    folder, _, name = path.rpartition("/")
    return native_id in name or native_id == folder.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    Attributes:
        name: Its name on the wire, in commands and in the configuration.
        title: Its name for people.
        short_name: Its name in a column, at most 8 letters.
        program: The program that starts it.
        dialect: The format of its sessions (`agents.known`); None if there is no reader for them.
        checked_version: The newest version with which place, format and commands were checked by running it; None if
            they are known only from its documents.
        variables: The environment variables that move its folders.
        folders: Returns the absolute paths of the folders that hold its sessions, for these environment variables. A
            folder need not exist.
        is_session_file: Returns whether the file at this path, relative to one of the folders, may hold a session.
        suffixes: The endings of its session files, by which they are found in any folder. A file that ends with `.zst`
            is decompressed, and no program writes to it any more.
        resume_command: Returns the command that resumes the session with this id of the agent; empty if there is none.
        reads: The meaning of `dialect` for clients, as a phrase; empty if another row has it.
        writes: The meaning of the format that is written for the agent, as a phrase; empty if none is.
        places: Its sessions on the disk, in Markdown.
        load_dialect: Imports and returns the reader of `dialect`; None if another row does, or there is none.
        beside: Imports and returns what finds data for the reader in files beside a session, for one request; None if
            the agent has none.
        load_attachments: Imports and returns where it writes files beside a transcript; None if it writes none that are
            known.
        keeps: The kinds of these files that are kept, in Markdown; empty if none is.
        load_forks: Imports and returns what finds the history of forks that do not repeat it; None if all repeat it.
        load_writer: Imports and returns the writer of sessions that the agent resumes; None if there is none.
        finds: Returns whether the agent, started in a folder, finds a session with an id in a file of its folders. It
            receives the path, the id, the real path of the folder, and the environment variables. It may block.
        load_database: Imports and returns what reads the databases in its folders; None if each session is a file.
        load_folders: Imports and returns what reads the sessions that it had in folders before it had a database; None
            if there are none.
        is_archived: Returns whether the session is archived whose file is at this absolute path.
        new_file: Returns the file at which the agent finds a session that is written for it; None if nothing can be
            written for it, or `import_command` brings it in.
        import_command: Returns the command that brings a session in from a file, to be run in the session's folder;
            None if the agent needs none.
        model: Returns a model that the user's agent has, as `provider/model`, if the agent resumes a session with the
            model of its last message; otherwise None. It may block.
        hooks: How the agent calls a program at its events; None if it does not, or it is not known.
        mcp: Where the agent finds the MCP servers of its user; None if that is not known.
        acp_command: The command that starts the agent, or its adapter, as an agent of the Agent Client Protocol; empty
            if there is none, or it was not checked.
        deletes: The sessions that the agent deletes without being asked, in Markdown; empty if that is not known.
        deletion: Returns what it deletes by the settings of its user; None if that is not known. It blocks.
        processes: Returns the processes of which at least one has the session in a source (`agents.session_processes`).
            One that is named together with its start time may have ended; the others run. It is empty if nothing
            tells. None if no file of the agent tells. It blocks.
        before_load: Called with the id of a session of the agent before that agent loads it over that protocol, for an
            agent whose load destroys the session's file. It may block.
    """

    name: str
    title: str
    short_name: str
    program: str
    dialect: str | None
    checked_version: str | None
    variables: tuple[str, ...]
    folders: Callable[[Environ], list[str]]
    is_session_file: Callable[[str], bool]
    resume_command: Callable[[str], list[str]]
    suffixes: tuple[str, ...] = (".jsonl", ".json")
    reads: str = ""
    writes: str = ""
    places: str = ""
    load_dialect: Callable[[], Dialect] | None = None
    beside: Callable[[], Beside] | None = None
    load_attachments: Callable[[], AttachmentRules] | None = None
    keeps: str = ""
    load_forks: Callable[[], ForkedHistory] | None = None
    load_writer: Callable[[], NativeWriter] | None = None
    finds: Callable[[str, str, str, Environ], bool] = is_named_after
    load_database: Callable[[], SessionDatabase] | None = None
    load_folders: Callable[[], SessionFolders] | None = None
    is_archived: Callable[[str], bool] = lambda path: False
    new_file: Callable[[WrittenSession, Environ], NewFile] | None = None
    import_command: Callable[[str], list[str]] | None = None
    model: Callable[[Environ], str | None] = lambda environ: None
    hooks: HookFile | None = None
    mcp: McpFile | None = None
    acp_command: tuple[str, ...] = ()
    deletes: str = ""
    deletion: Callable[[Environ], DeletionRule | None] = lambda environ: None
    processes: Callable[[str], list[NamedProcess]] | None = None
    before_load: Callable[[str, Environ], None] | None = None

    @property
    def storage(self) -> Literal["files", "database"]:
        """Whether each session is a file of its own, or all sessions are in databases."""
        return "files" if self.load_database is None else "database"

    def also_in(self, folders: Sequence[str]) -> Agent:
        """Return the agent with further folders of sessions, after those where it usually has them."""
        if not folders:
            return self
        usual = self.folders
        return replace(self, folders=lambda environ: list(dict.fromkeys((*usual(environ), *folders))))

    def is_unchecked(self, version: str | None) -> bool:
        """Return whether a version is newer than the one that was checked."""
        checked = self.checked_version
        return (
            version is not None
            and checked is not None
            and version_numbers(version) > version_numbers(checked)
        )


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version for comparison: (2, 1, 197) for "2.1.197"; () for any other text."""
    found = _VERSION.fullmatch(version)
    return () if found is None else tuple(map(int, found[1].split(".")))
