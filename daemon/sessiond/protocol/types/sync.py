"""The union of two stores: sync/positions, sync/ids, sync/lines, sync/put, blob/missing."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.enums import opened
from sessiond.protocol.types.blobs import Hash
from sessiond.protocol.types.shared import After, EntryId, Params, Path, Seq, SessionId, Wire

MAX_PUT_BYTES = 16 * 1024 * 1024
"""Limit of the bytes of the lines in one `sync/put`, as base64 has them. A longer line is sent alone."""


class SyncPositionsParams(Params, frozen=True):
    """Return the position of every session on disk: the number of its distinct lines and their digest.

    The header is not counted, nor are blank lines. The digest of a session is the sum of the SHA-256 digests of its
    lines modulo 2^256, without the newline of a line and without the tab that marks a line of a batch. So it does not
    depend on the order of the lines, and two copies of a session that hold the same lines have the same digest.
    """

    include_drafts: bool = False  # also draft sessions
    digest_only: bool = False  # only the digest of the store and the number of its sessions


class SyncPosition(Wire, frozen=True):
    """The position of one session."""

    session_id: str  # the id of the session
    state: Annotated[str, opened("SyncState")]  # where the session is
    line_count: int  # the number of distinct lines
    digest: str  # the digest of these lines
    cwd: str | None  # the working directory in the header; null for a purged session
    is_draft: bool  # whether it is a draft session
    tags: list[str]  # its tags
    agent: str | None  # the agent whose session it was read from
    trash_id: str | None  # the id of a session in the trash
    problem: str | None  # why it cannot be synchronized, as a sentence; null if it can
    is_forgotten: bool | UnsetType = (
        UNSET  # true if it was deleted with `forget`: it is not copied to this side
    )


class SyncFolder(Wire, frozen=True):
    """A folder of sessions that is in a git repository with a remote."""

    cwd: str  # the folder, as headers name it
    root: str  # the folder of the repository
    remote: str  # the URL of its remote, without a user, a password and the suffix `.git`


class SyncLeftOut(Wire, frozen=True):
    """A session file without a position, so that it cannot be synchronized."""

    path: str  # the path of the file
    message: str  # the reason, as a sentence


class SyncPositionsResult(Wire, frozen=True):
    """The positions, and the digest of the store: the sum of the digests of all its sessions that are not deleted."""

    digest: str  # the digest of the store
    session_count: int  # the number of these sessions
    sessions: list[SyncPosition]  # in the order of their ids; empty with `digestOnly`
    folders: list[SyncFolder]  # the folders of these sessions that are in a git repository with a remote
    left_out: list[SyncLeftOut]  # the session files that have no position, in the order of their paths


class SyncIdsParams(Params, frozen=True):
    """Return the id, the parent and the hash of each line of a session, in log order, without the header."""

    session_id: SessionId  # the id of the session
    trash_id: Annotated[str, Meta(min_length=1, max_length=64)] | None = (
        None  # read the session with this id in the trash
    )
    after: Seq = 0  # begin after this line
    limit: Annotated[int, Meta(ge=1, le=50_000)] = 20_000  # maximum number of lines


class SyncIdsResult(Wire, frozen=True):
    """A page of lines as columns, and the state of the session."""

    seqs: list[int]  # the seq of each line
    ids: list[str | None]  # the id of each entry; null for a line without an entry
    hashes: list[str]  # the first 16 hexadecimal digits of the SHA-256 of each line
    parents: list[int]  # the seq of each parent; -1 for none
    next_after: int | None  # `after` of the next page; null on the last one
    log_id: str  # the log that the seqs belong to; empty in the trash
    last_seq: int  # the seq of the session's last line
    leaf_id: str | None  # the leaf
    tag_seqs: list[int]  # the seqs of all lines that set the tags
    header_tags: list[str]  # the tags in the header


class SyncLinesParams(Params, frozen=True):
    """Return lines of a session as they are stored, and its header.

    A line is returned without the tab that marks a line of a batch. Lines that the store does not understand are
    returned, too.
    """

    session_id: SessionId  # the id of the session
    trash_id: Annotated[str, Meta(min_length=1, max_length=64)] | None = (
        None  # read the session with this id in the trash
    )
    seqs: Annotated[list[Seq], Meta(max_length=50_000)] | None = (
        None  # these lines, ascending; default: all lines
    )
    after: Seq = 0  # begin after this line
    limit_bytes: Annotated[int, Meta(ge=1, le=16 * 1024 * 1024)] = 4 * 1024 * 1024  # about this many bytes


class SyncLinesResult(Wire, frozen=True):
    """A page of lines, joined by newlines."""

    head: bytes  # the header, and the title line before it if there is one, in base64
    lines: bytes  # the lines, each with a newline, in base64
    next_after: int | None  # `after` of the next page; null on the last one


class SyncPutParams(Params, frozen=True):
    """Add lines to a session as they are. A session that does not exist is created from `head`.

    The content of the lines is not checked. They keep their parents, and they determine the leaf. Lines that the
    session has are not written again. A line whose id the session has with other content is refused, unless
    `superseding` has the id because the sender has several lines with it. A line that is not JSON is refused, too.
    The others are written: all of them or, after a crash, none. They are durable when the response is sent. If the
    last line of the session is not at `expected`, nothing is written.
    """

    session_id: SessionId  # the id of the session
    lines: bytes  # the lines, each with a newline, in base64
    head: bytes | None = None  # the header of a new session, in base64, as `sync/lines` returns it
    cwd: Path | None = None  # the working directory of a new session; default: that of `head`
    is_draft: bool = False  # whether a new session is a draft session
    expected: After | None = None  # the position of the last line when the sender compared the session
    superseding: Annotated[list[EntryId], Meta(max_length=10_000)] | None = (
        None  # ids that several lines of the sender have
    )


class RefusedLine(Wire, frozen=True):
    """A line that was not stored."""

    id: str  # the id of its entry; empty for a line that is not JSON
    message: str  # the reason, as a sentence


class SyncPutResult(Wire, frozen=True):
    """The results for the lines."""

    is_new: bool  # whether the session was created
    is_outdated: bool  # whether it has another last line than expected, so that nothing was written
    added_count: int  # the number of lines that were written
    duplicate_count: int  # the number of lines that the session had
    refused: list[RefusedLine]  # the lines that were refused: the first 100
    refused_count: int  # their number


class BlobMissingParams(Params, frozen=True):
    """Return those of some blobs that the store lacks. The grace period of the others starts again."""

    hashes: Annotated[list[Hash], Meta(max_length=10_000)]  # the hashes or refs of the blobs


class BlobMissingResult(Wire, frozen=True):
    """The blobs that are missing."""

    hashes: list[str]  # their hashes, in the order of the request
