"""Blobs: bytes beside the logs, put and read as `bytes`."""

from binascii import a2b_base64, b2a_base64

from sessiond.client.methods.base import Methods
from sessiond.client.receiver import OnProgress
from sessiond.protocol import methods as m, types as t

_PAGE = 8 * 1024 * 1024


class BlobMethods(Methods):
    """What is asked of blobs. A name is a hash, or a `blob:sha256:…` as entries have it."""

    async def put_blob(self, data: bytes) -> t.BlobPutResult:
        return await self.call(m.BLOB_PUT, t.BlobPutParams(data=b2a_base64(data, newline=False).decode()))

    async def get_blob(self, name: str) -> bytes:
        """blob/get, as often as it takes for the whole blob."""
        parts: list[bytes] = []
        offset: int | None = 0
        while offset is not None:
            page = await self.call(m.BLOB_GET, t.BlobGetParams(hash=name, offset=offset, limit=_PAGE))
            parts.append(a2b_base64(page.data))
            offset = page.next_offset
        return b"".join(parts)

    async def collect_blobs(
        self,
        *,
        dry_run: bool = True,
        grace_seconds: int | None = None,
        progress: OnProgress | None = None,
        command_id: str | None = None,
    ) -> t.BlobCollectResult:
        with self._link.watching(progress) as token:
            params = t.BlobCollectParams(
                dry_run=dry_run, grace_seconds=grace_seconds, work_done_token=token, command_id=command_id
            )
            return await self.call(m.BLOB_COLLECT, params)
