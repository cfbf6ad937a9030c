"""The modules that the row of an agent loads if its sessions are not one file each, as protocols of their functions.

All functions block.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from sessiond.error_text import TemplatedError


class LastChange(NamedTuple):
    """The last change of a session.

    Attributes:
        at: When it was: milliseconds since 1970.
        event: The number of the session's last event, which distinguishes changes of one millisecond; 0 without events.
    """

    at: int
    event: int


class UnreadableDatabase(TemplatedError):
    """Raised when a database cannot be read now, or is not one of a known version; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.is_passing = False
        """Whether it may be readable in a moment."""


class SessionMessages(Protocol):
    """A session that is read message by message, without the whole of it in memory."""

    info: dict[str, Any]
    """The description of the session."""
    count: int
    """The number of its messages."""
    settled_count: int
    """The number of them without those at the end that the agent may still change."""
    is_in_order: bool
    """Whether they are in the order of the conversation. If not, the reader needs the whole document."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the document of the session in pieces: what comes before the messages, each message, and the end.

        A comma is before each message except the first.
        """


class SessionDatabase(Protocol):
    """Reads sessions out of a database. All methods raise `UnreadableDatabase`."""

    def sessions(self, path: str, /) -> dict[str, LastChange]:
        """Return the last change of each session by its id, the oldest session first."""

    def marks(self, path: str, /) -> dict[str, tuple[int, ...]]:
        """Return values by the id of each session, the oldest first, which differ after each turn. It is fast."""

    def last_change(self, path: str, session_id: str, /) -> LastChange | None:
        """Return the last change of a session; None if there is none of this id."""

    def message_ids(self, path: str, session_id: str, /) -> list[str]:
        """Return the ids of the messages of a session in order; none if there is no such session."""

    def size_of(self, path: str, session_id: str, /) -> int:
        """Return the approximate size of a session in bytes; 0 if it does not exist."""

    def document(self, path: str, session_id: str, /) -> bytes | None:
        """Return a session as its reader takes it; None if there is none of this id."""

    def messages(self, path: str, session_id: str, /) -> AbstractContextManager[SessionMessages | None]:
        """Open a session to read its messages one by one, in one read transaction; None if there is none of this id."""

    def end_of_document(
        self, path: str, session_id: str, first: Callable[[list[str]], int | None], /
    ) -> tuple[bytes, list[str]] | None:
        """Return a session without its earlier messages, and the ids of all messages in order.

        `first` returns the number of messages that are left out, for the ids of all of them; None to read nothing. The
        result is None then, without the session, and if the session says that earlier messages have changed.
        """


class SessionFiles(NamedTuple):
    """Facts about the files of a session.

    Attributes:
        folder: The folder of its messages.
        file: The status of its own file.
        modified_ns: When one of its files was written last.
        size: The bytes of its messages, without their parts.
    """

    folder: str
    file: os.stat_result
    modified_ns: int
    size: int


class SessionFolders(Protocol):
    """Reads sessions out of folders with many files for each, which an agent had before it had a database.

    All methods with a result from files raise `OSError`.
    """

    def storage_in(self, folder: str, /) -> str:
        """Return the path of the storage in a folder of the agent."""

    def storage_of(self, path: str, /) -> str | None:
        """Return the storage of the session with its file at a path; None for another path."""

    def names_in(self, folder: str, /) -> list[str] | None:
        """Return the names of the folders with files of sessions in a storage; None for a folder that is none."""

    def session_paths(self, storage: str, /) -> list[str]:
        """Return the paths of the files of all sessions."""

    def files_of(self, path: str, /) -> SessionFiles | None:
        """Return facts about the files of the session with its file at a path; None if it is gone."""

    def document(self, path: str, /) -> bytes | None:
        """Return a session as its reader takes it; None if it is gone."""
