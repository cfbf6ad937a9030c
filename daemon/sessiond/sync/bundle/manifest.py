"""The manifest of a bundle: what is in it, with the digests of all of it. It is the last member of the archive."""

from typing import Final, Literal

import msgspec

from sessiond.protocol import types as t

NAME: Final = "manifest.json"
CONFIG: Final = "files/config.toml"
BREADCRUMBS: Final = "files/terminal-sessions/"
Kind = Literal["bundle", "backup"]


class BundledSession(msgspec.Struct, rename="camel"):
    """A session in a bundle.

    Attributes:
        folder: The number of its folder: `sessions/<folder>/`.
        session_id: Its id.
        state: `stored`, or `trashed` for a session in the trash of a backup.
        page_count: The number of its pages of lines. Page 0, which is not counted, has the header.
        line_count: The number of its distinct lines.
        digest: Their digest, as in `sync/positions`.
        cwd: The working directory in the header.
        is_draft: Whether it is a draft session.
        tags: Its tags.
        agent: The agent whose session it was read from.
        trash_id: Its id in the trash.
        note: The note of its deletion.
    """

    folder: int
    session_id: str
    state: Literal["stored", "trashed"] = "stored"
    page_count: int = 0
    line_count: int = 0
    digest: str = ""
    cwd: str | None = None
    is_draft: bool = False
    tags: list[str] = []
    agent: str | None = None
    trash_id: str | None = None
    note: str | None = None


class Member(msgspec.Struct, rename="camel", frozen=True):
    """The size in bytes and the SHA-256 of a member."""

    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, rename="camel", frozen=True):
    """The content of a bundle.

    Attributes:
        kind: `bundle`, or `backup` for everything of a home.
        created_at: When it was written, ISO 8601, UTC.
        program: The program that wrote it, and its version.
        sessions: The sessions.
        folders: Their folders that are in a git repository with a remote.
        members: All members but the manifest, by name.
    """

    kind: Kind
    created_at: str
    program: str
    sessions: list[BundledSession]
    folders: list[t.SyncFolder]
    members: dict[str, Member]


def page_name(folder: int, page: int) -> str:
    """Return the name of the member with a page of a session."""
    return f"sessions/{folder:06d}/{page:06d}.jsonl"


def blob_name(digest: str) -> str:
    """Return the name of the member with a blob."""
    return f"blobs/{digest}"
