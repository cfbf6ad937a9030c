"""Handlers of blob methods: put, get, collect."""

import asyncio
import binascii

from sessiond.hub.errors import IncompatibleParams
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.progress import progress_in_percent
from sessiond.session.content import blobs


async def put(client: Client, params: t.BlobPutParams) -> t.BlobPutResult:
    """Decode the base64 data and store it with `hub.put_blob`. Raises `IncompatibleParams` for invalid base64."""
    client.hub.sessions.refuse_when_draining()
    try:
        data = await asyncio.to_thread(binascii.a2b_base64, params.data, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise IncompatibleParams(f"data is not base64: {error}") from None
    stored = await client.hub.put_blob(data)
    return t.BlobPutResult(
        hash=stored.hash, ref=blobs.PREFIX + stored.hash, size_bytes=stored.size, created=stored.created
    )


async def get(client: Client, params: t.BlobGetParams) -> t.BlobGetResult:
    """Read a part of a blob with `hub.blobs.read`. Raises `BlobNotFound`, `BlobDamaged`."""
    digest = params.hash.removeprefix(blobs.PREFIX)
    data, size = await asyncio.to_thread(client.hub.blobs.read, digest, params.offset, params.limit)
    text = await asyncio.to_thread(binascii.b2a_base64, data, newline=False)
    end = params.offset + len(data)
    return t.BlobGetResult(data=text.decode(), size_bytes=size, next_offset=end if end < size else None)


async def collect(client: Client, params: t.BlobCollectParams) -> t.BlobCollectResult:
    """Move unreferenced blobs to the trash with `hub.collect_blobs`, with progress.

    A repeated command returns the first result.
    The grace period is `graceMs`, or the configured one. A dry run changes nothing, and is allowed while draining.
    """
    if not params.dry_run:
        client.hub.sessions.refuse_when_draining()
    grace = client.server.config.blobs.grace if params.grace_ms is None else params.grace_ms / 1_000

    async def run() -> t.BlobCollectResult:
        with progress_in_percent(client, params.work_done_token, "Collecting blobs") as report:
            return await client.hub.collect_blobs(grace=grace, dry_run=params.dry_run, report=report)

    command = None if params.dry_run else client.hub.commands.of(m.BLOB_COLLECT, params)
    return await client.hub.commands.once(command, t.BlobCollectResult, run)
