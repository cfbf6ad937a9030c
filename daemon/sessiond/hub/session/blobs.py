"""The blobs of one session: the store for new blobs, and the sources where named blobs are searched."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence, Set
from typing import Final

from sessiond.hub.errors import BlobNotFound
from sessiond.hub.session.drafts import refuse_too_large
from sessiond.session.content import blobs, extract_blobs, restore_blobs
from sessiond.store.blobs import BlobAbsent, BlobDamaged, BlobSource, BlobStore
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

PUTS_AT_ONCE: Final = 16
"""The number of blobs of one batch that are written at the same time."""


class SessionBlobs:
    """The blobs of one session.

    Entries of a session in another program's folder are stored as sent. So no file outside our folders names a blob
    that `blob/collect` does not know of, and the other program can read its file.

    Args:
        own: The store for new blobs; None for a session in another program's folder.
        stores: The stores in which blobs are searched and marked as used.
        fallback: A read-only source of another program's blobs, searched last.
        takes_images: Whether images become blobs too. pi has no blobs and cannot read them then.
    """

    def __init__(
        self,
        own: BlobStore | None,
        *,
        stores: Sequence[BlobStore] = (),
        fallback: BlobSource | None = None,
        takes_images: bool = False,
    ) -> None:
        self.takes_images = takes_images
        self._own = own
        self._stores = stores
        self._sources: Sequence[BlobSource] = stores if fallback is None else (*stores, fallback)

    def needed_by(self, drafts: Sequence[bytes]) -> bool:
        """Whether drafts must pass through `extract` and `store` before they are queued. The check is fast."""
        if self._own is not None:
            for draft in drafts:
                # A blob reference contains "sha256:". Most drafts contain no 6, and this check is 100 times cheaper.
                if extract_blobs.may_need_extraction(draft, images=self.takes_images) or (
                    draft.find(b"6") >= 0 and restore_blobs.may_refer_to_blobs(draft)
                ):
                    return True
        return False

    async def extract(self, drafts: Sequence[bytes]) -> tuple[list[bytes], dict[str, bytes]]:
        """Return the drafts as they are stored, and the blobs to store first, by hash. Raises `TooLarge`."""
        for index, draft in enumerate(drafts):
            refuse_too_large(index, draft)
        return await asyncio.to_thread(_extract, drafts, images=self.takes_images)

    async def store(self, new: dict[str, bytes], drafts: Iterable[bytes]) -> None:
        """Make the blobs that drafts name durable: store new ones, and update the times of old ones."""
        if self._own is not None:
            data = list(new.values())
            for start in range(0, len(data), PUTS_AT_ONCE):
                await asyncio.gather(*map(self._own.put, data[start : start + PUTS_AT_ONCE]))
            old = named_hashes(drafts) - new.keys()
            await asyncio.gather(*(store.touch(old) for store in self._stores))

    async def carry(self, named: Set[str], target: BlobStore) -> None:
        """Copy blobs to another store, as far as they exist here and not there."""
        if target is self._own:
            return
        for digest in named - await target.touch(named):
            data = await asyncio.to_thread(self.find, digest)
            if data is not None:
                await target.put(data)

    def read(self, digest: str, offset: int, limit: int) -> tuple[bytes, int]:
        """Read a part of a blob. May be called on any thread.

        Args:
            digest: The hash of the blob.
            offset: The first byte.
            limit: The maximum number of bytes.

        Returns:
            The bytes, and the size of the whole blob in bytes.

        Raises:
            BlobNotFound: No source has the blob.
            BlobDamaged: The stored bytes do not match the hash.
        """
        for source in self._sources:
            with contextlib.suppress(BlobAbsent):
                return source.read(digest, offset, limit), source.size(digest)
        raise BlobNotFound(digest)

    def find(self, digest: str) -> bytes | None:
        """Return the bytes of a blob, or None if it is missing or damaged. May be called on any thread."""
        for source in self._sources:
            try:
                return source.read(digest)
            except BlobAbsent:
                continue
            except (BlobDamaged, StorageFailed) as error:
                log.warning("a blob cannot be restored: %s", error)
        return None

    def size(self, digest: str) -> int:
        """Return the size of a blob in bytes, or 0 if it is missing. May be called on any thread."""
        for source in self._sources:
            try:
                return source.size(digest)
            except (BlobAbsent, StorageFailed):
                continue
        return 0

    def path_of(self, digest: str) -> str | None:
        """Return the path of a blob's file; None if the blob is missing or not in a file."""
        for source in self._sources:
            with contextlib.suppress(BlobAbsent, StorageFailed):
                return source.place(digest)
        return None


NO_BLOBS: Final = SessionBlobs(None)


def named_hashes(lines: Iterable[bytes]) -> set[str]:
    """Return the hashes of the blobs that lines name."""
    return {digest for line in lines for digest in blobs.referenced_hashes(line)}


def _extract(drafts: Iterable[bytes], *, images: bool) -> tuple[list[bytes], dict[str, bytes]]:
    taken = [extract_blobs.extract(draft, images=images) for draft in drafts]
    return [blobs.draft for blobs in taken], {
        name: data for blobs in taken for name, data in blobs.blobs.items()
    }
