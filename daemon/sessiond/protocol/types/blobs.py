"""Blobs: content-addressed bytes beside the logs."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, ProgressToken, Wire

Hash = Annotated[str, Meta(pattern=r"^(blob:sha256:)?[0-9a-f]{64}$")]


class BlobPutParams(Params, frozen=True):
    """Store bytes as a blob. The blob is durable when the response is sent. Equal bytes are stored once."""

    data: str  # the bytes, in base64


class BlobPutResult(Wire, frozen=True):
    """The name of the blob. `ref` is the form in which entries reference it."""

    hash: str  # sha256, hexadecimal
    ref: str  # "blob:sha256:<hash>"
    size_bytes: int  # the number of bytes
    created: bool  # false if the blob existed


class BlobGetParams(Params, frozen=True):
    """Read bytes of a blob. `hash` may be a `ref`."""

    hash: Hash  # the hash or the `ref` of the blob
    offset: Annotated[int, Meta(ge=0)] = 0  # the first byte of the page
    limit: Annotated[int, Meta(ge=1, le=32 * 1024 * 1024)] = 32 * 1024 * 1024  # maximum number of bytes


class BlobGetResult(Wire, frozen=True):
    """A page of the bytes."""

    data: str  # the bytes of the page, in base64
    size_bytes: int  # the number of bytes of the whole blob
    next_offset: int | None  # the first byte of the next page; null on the last one


class BlobCollectParams(Params, frozen=True):
    """Find blobs that no session references, and move them to the trash unless `dryRun` is true.

    A blob younger than `graceMs` (default: the configured grace period) stays, because a line that references it
    may not be written yet. References from draft sessions and from sessions in the trash count.
    """

    dry_run: bool = True  # change nothing, and return what would be done
    grace_ms: Annotated[int, Meta(ge=0)] | None = None  # milliseconds; default: the configured grace period
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications
    command_id: CommandId | None = None  # repeats take effect once


class BlobInfo(Wire, frozen=True):
    """One blob."""

    hash: str  # sha256, hexadecimal
    size_bytes: int  # the number of bytes
    modified_at: str  # ISO 8601, UTC; when the blob was last stored or referenced


class MissingBlob(Wire, frozen=True):
    """A blob that a session references and that does not exist."""

    hash: str  # sha256, hexadecimal
    session_path: str  # the file of the session


class BlobCollectResult(Wire, frozen=True):
    """The blobs that were moved to the trash or with `dryRun` would be, and those that stay."""

    removed: list[BlobInfo]  # the first 1,000 of these blobs
    removed_count: int  # their number
    removed_bytes: int  # their size
    kept_count: int  # the number of blobs that stay
    kept_bytes: int  # their size
    missing: list[MissingBlob]  # the first 1,000 blobs that sessions reference and that do not exist
    missing_count: int  # their number
    truncated: bool  # true if `removed` or `missing` does not have all of them
    trash_path: str | None  # the folder of the removed blobs in the trash; null if none was moved
    dry_run: bool  # true if nothing was moved
    duplicate: bool = False  # an earlier request took effect
