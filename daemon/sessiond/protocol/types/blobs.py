"""Blobs: content-addressed bytes beside the logs."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, ProgressToken, Wire

Hash = Annotated[str, Meta(pattern=r"^(blob:sha256:)?[0-9a-f]{64}$")]


class BlobPutParams(Params, frozen=True):
    """Store bytes as a blob. The blob is durable when the response is sent. Equal bytes are stored once."""

    data: str  # base64


class BlobPutResult(Wire, frozen=True):
    """The name of the blob. `ref` is the form in which entries reference it."""

    hash: str  # sha256, hexadecimal
    ref: str  # "blob:sha256:<hash>"
    size: int
    created: bool


class BlobGetParams(Params, frozen=True):
    """Read bytes of a blob. `hash` may be a `ref`."""

    hash: Hash  # the hash or the `ref` of the blob
    offset: Annotated[int, Meta(ge=0)] = 0  # the first byte of the page
    limit: Annotated[int, Meta(ge=1, le=32 * 1024 * 1024)] = 32 * 1024 * 1024  # maximum number of bytes


class BlobGetResult(Wire, frozen=True):
    """The bytes. `nextOffset` is null on the last page."""

    data: str  # base64
    size: int  # bytes of the whole blob
    next_offset: int | None


class BlobCollectParams(Params, frozen=True):
    """Find blobs that no session references, and move them to the trash unless `dryRun` is true.

    A blob younger than `graceSeconds` (default: the configured grace period) stays, because a line that references it
    may not be written yet. References from draft sessions and from sessions in the trash count.
    """

    dry_run: bool = True  # change nothing, and return what would be done
    grace_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds; default: the configured grace period
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications
    command_id: CommandId | None = None  # requests with the same id take effect once


class BlobInfo(Wire, frozen=True):
    """One blob."""

    hash: str
    size: int
    modified_at: str


class MissingBlob(Wire, frozen=True):
    """A blob that a session references and that does not exist."""

    hash: str
    session_path: str


class BlobCollectResult(Wire, frozen=True):
    """The blobs that were moved to the trash or with `dryRun` would be, and those that stay."""

    removed: list[BlobInfo]
    removed_bytes: int
    kept: int
    kept_bytes: int
    missing: list[MissingBlob]
    trashed: str | None  # the folder in the trash
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` took effect
