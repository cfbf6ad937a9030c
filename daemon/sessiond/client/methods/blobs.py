"""Blobs: data that is stored beside the logs, as `bytes`."""

from binascii import a2b_base64, b2a_base64

from sessiond.client.methods.base import Methods
from sessiond.client.wire import InvalidResponseError
from sessiond.protocol import methods as m, types as t

_PAGE = 8 * 1024 * 1024
"""Bytes of a blob that one request reads."""


class BlobMethods(Methods):
    """Requests that store and read blobs."""

    async def put_blob(self, data: bytes) -> t.BlobPutResult:
        """Store bytes. They are durable when this returns; equal bytes are stored once.

        Method `blob/put`.

        Args:
            data: The bytes.

        Returns:
            The hash of the blob, its `ref`, as entries name it, and its size in bytes.

        Raises:
            RpcError: The daemon refused the request. `kind` is `storageFull`, `storageFailed`, `draining`, or one
                that every request may have.
            DisconnectedError: The connection was lost in both attempts.
        """
        return await self.call(m.BLOB_PUT, t.BlobPutParams(data=b2a_base64(data, newline=False).decode()))

    async def get_blob(self, name: str) -> bytes:
        """Read a whole blob.

        Method `blob/get`, once for each 8 MiB.

        Args:
            name: The hash of the blob, or a "blob:sha256:…" as entries have it.

        Returns:
            All bytes of the blob.

        Raises:
            RpcError: The daemon refused the request. `kind` is `blobNotFound`, `damaged`, `storageFailed`, or one
                that every request may have.
            DisconnectedError: The connection was lost in both attempts.
        """
        parts: list[bytes] = []
        offset: int | None = 0
        while offset is not None:
            page = await self.call(m.BLOB_GET, t.BlobGetParams(hash=name, offset=offset, limit=_PAGE))
            try:
                parts.append(a2b_base64(page.data))
            except ValueError:
                raise InvalidResponseError(f"the result of {m.BLOB_GET.name} is not base64") from None
            offset = page.next_offset
        return b"".join(parts)
