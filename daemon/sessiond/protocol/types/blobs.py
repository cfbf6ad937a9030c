"""Blobs: content-addressed bytes beside the logs."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, ProgressToken, Wire

Hash = Annotated[str, Meta(pattern=r"^(blob:sha256:)?[0-9a-f]{64}$")]


class BlobPutParams(Params, frozen=True):
    """Keep some bytes, durable when this is answered. The same bytes are kept once."""

    data: str  # base64


class BlobPutResult(Wire, frozen=True):
    """Under which name they are kept; `ref` is how an entry names them."""

    hash: str  # sha256, hexadecimal
    ref: str  # "blob:sha256:<hash>"
    size: int
    created: bool


class BlobGetParams(Params, frozen=True):
    """Read some bytes of a blob; `hash` may be a `ref`."""

    hash: Hash  # the hash or the `ref` of the blob
    offset: Annotated[int, Meta(ge=0)] = 0  # the first byte of the page
    limit: Annotated[int, Meta(ge=1, le=32 * 1024 * 1024)] = 32 * 1024 * 1024  # bytes of the page


class BlobGetResult(Wire, frozen=True):
    """The bytes; `nextOffset` is null when nothing is left."""

    data: str  # base64
    size: int  # of the whole blob
    next_offset: int | None


class BlobCollectParams(Params, frozen=True):
    """Find blobs that no session names, and unless `dryRun` put them into the trash.

    A blob younger than `graceSeconds` (default: the configuration's) stays, since the line that names it may be
    on its way. Sessions in drafts and in the trash count, too.
    """

    dry_run: bool = True  # change nothing, and return what would be done
    grace_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds; default: the configuration's
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications
    command_id: CommandId | None = None  # requests with the same one take effect once


class BlobInfo(Wire, frozen=True):
    """One blob."""

    hash: str
    size: int
    modified_at: str


class MissingBlob(Wire, frozen=True):
    """A blob that a session names and that is not there."""

    hash: str
    session_path: str


class BlobCollectResult(Wire, frozen=True):
    """What was, or with `dryRun` would be, put into the trash, and what stays."""

    removed: list[BlobInfo]
    removed_bytes: int
    kept: int
    kept_bytes: int
    missing: list[MissingBlob]
    trashed: str | None  # the folder in the trash
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` has done it
