"""Describes one agent: the place and the form of its sessions, and the command that resumes one.

The module is imported by commands that must start fast, so it imports only the standard library.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Environ: TypeAlias = Mapping[str, str]
"""Environment variables by name."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    Attributes:
        name: Its name on the wire, in commands and in the configuration.
        title: Its name for people.
        short_name: Its name in a column, at most 8 letters.
        program: The program that starts it.
        dialect: The format of its sessions (`session.dialects.known`); None if there is no reader for them.
        checked_version: The newest version with which place, format and commands were checked by running it; None if
            they are known only from its documents.
        variables: The environment variables that move its folders.
        folders: Returns the absolute paths of the folders that hold its sessions, for these environment variables. A
            folder need not exist.
        is_session_file: Returns whether the file at this path, relative to one of the folders, may hold a session.
        resume_command: Returns the command that resumes the session with this id of the agent; empty if there is none.
        storage: Whether a session is a file of its own, or all sessions are in one database.
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
    storage: Literal["files", "database"] = "files"
