"""Reports of writing a bundle and of taking one, for people and for programs."""

from typing import Literal

import msgspec

from sessiond.protocol import types as t
from sessiond.sync.report import SessionProblem, SyncReport


class WrittenReport(msgspec.Struct, rename="camel"):
    """The result of `bundle` or `backup`.

    Attributes:
        path: The file.
        size_bytes: Its size.
        is_encrypted: Whether it is encrypted.
        session_count: The number of sessions, without those of the trash.
        trashed_count: The number of sessions of the trash.
        line_count: The number of their lines.
        blob_count: The number of blobs.
        file_names: The other files of a backup.
        prompt_count: The number of prompts of the history.
        problems: Sessions that are not in the file, and blobs that were missing.
        left_out: The session files that no bundle can hold, and why; empty if sessions were chosen.
        is_dry_run: Whether no file was written.
    """

    path: str
    size_bytes: int = 0
    is_encrypted: bool = False
    session_count: int = 0
    trashed_count: int = 0
    line_count: int = 0
    blob_count: int = 0
    file_names: list[str] = []
    prompt_count: int = 0
    problems: list[SessionProblem] = []
    left_out: list[t.SyncLeftOut] = []
    is_dry_run: bool = False


class RestoredFile(msgspec.Struct, rename="camel", frozen=True):
    """A file of a backup beside the sessions: `kept` means that another file is in its place and is unchanged."""

    path: str
    outcome: Literal["created", "unchanged", "kept"]


class TakenReport(SyncReport, rename="camel", kw_only=True):
    """The result of `import` or `restore`. `received` and the other attributes are those of a sync.

    Attributes:
        path: The file.
        kind: `bundle` or `backup`.
        created_at: When it was written.
        is_encrypted: Whether it is encrypted.
        trashed_count: The number of sessions that were restored into the trash.
        files: Its other files.
        prompt_count: The number of prompts that were added to the history.
    """

    path: str
    kind: str
    created_at: str
    is_encrypted: bool
    trashed_count: int = 0
    files: list[RestoredFile] = msgspec.field(default_factory=list)
    prompt_count: int = 0
