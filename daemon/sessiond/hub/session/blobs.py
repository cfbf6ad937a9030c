"""The blobs of one session: where new ones go, and where those that its entries name are looked for."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Final

from sessiond.hub.errors import BlobNotFound
from sessiond.hub.session.drafts import refuse_too_large
from sessiond.session.content import blobs, extract_blobs, restore_blobs
from sessiond.store.blobs import BlobAbsent, BlobDamaged, BlobSource, BlobStore
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

PUTS_AT_ONCE: Final = 16
"""Blobs of one batch that are written at the same time."""


class SessionBlobs:
    """`own` takes new blobs. A session of another program's folder has none: its entries are stored as sent.

    So a file outside of ours names no blob of ours that `blob/collect` could not know of, and its owner finds
    in it what it can read. `takes_images`: images go into blobs, too; pi, which has no blobs, cannot read them then.
    """

    def __init__(
        self,
        own: BlobStore | None,
        *,
        kept: Sequence[BlobStore] = (),
        beside: BlobSource | None = None,
        takes_images: bool = False,
    ) -> None:
        self.takes_images = takes_images
        self._own = own
        self._kept = kept
        self._sources: Sequence[BlobSource] = kept if beside is None else (*kept, beside)

    def concern(self, drafts: Sequence[bytes]) -> bool:
        """Whether drafts must be taken through `take_out` and `keep` before they are queued: a quick look."""
        if self._own is not None:
            for draft in drafts:
                # Most drafts have no 6; that is known at a hundredth of the cost.
                if extract_blobs.may_hold(draft, images=self.takes_images) or (
                    draft.find(b"6") >= 0 and restore_blobs.names_blobs(draft)
                ):
                    return True
        return False

    async def take_out(self, drafts: Sequence[bytes]) -> tuple[list[bytes], dict[str, bytes]]:
        """The drafts as they are to be stored, and the blobs that are to be kept before. Raises `TooLarge`."""
        for index, draft in enumerate(drafts):
            refuse_too_large(index, draft)
        return await asyncio.to_thread(_take_out, drafts, images=self.takes_images)

    async def keep(self, new: dict[str, bytes], drafts: Iterable[bytes]) -> None:
        """Make durable what drafts name: new blobs, and old ones, so that nobody collects them meanwhile."""
        if self._own is not None:
            data = list(new.values())
            for start in range(0, len(data), PUTS_AT_ONCE):
                await asyncio.gather(*map(self._own.put, data[start : start + PUTS_AT_ONCE]))
            old = _named(drafts) - new.keys()
            await asyncio.gather(*(place.touch(old) for place in self._kept))

    async def carry(self, lines: Sequence[bytes], target: BlobStore) -> None:
        """Have another place keep what lines name, as far as it is to be had here and not there."""
        if target is self._own:
            return
        named = await asyncio.to_thread(_named, lines)
        for digest in named - await target.touch(named):
            data = await asyncio.to_thread(self.find, digest)
            if data is not None:
                await target.put(data)

    def read(self, digest: str, offset: int, limit: int) -> tuple[bytes, int]:
        """Some bytes of a blob and how many it has, on any thread. Raises `BlobNotFound`, `BlobDamaged`."""
        for source in self._sources:
            with contextlib.suppress(BlobAbsent):
                return source.read(digest, offset, limit), source.size(digest)
        raise BlobNotFound(digest)

    def find(self, digest: str) -> bytes | None:
        """The bytes of a blob, on any thread; None when there are none that are its own."""
        for source in self._sources:
            try:
                return source.read(digest)
            except BlobAbsent:
                continue
            except (BlobDamaged, StorageFailed) as error:
                log.warning("a blob cannot be put back: %s", error)
        return None

    def size(self, digest: str) -> int:
        """How many bytes a blob has, on any thread; 0 for one that is not there."""
        for source in self._sources:
            try:
                return source.size(digest)
            except (BlobAbsent, StorageFailed):
                continue
        return 0

    def place(self, digest: str) -> str | None:
        """The path of a blob's file; None when it is in none, or not there."""
        for source in self._sources:
            with contextlib.suppress(BlobAbsent, StorageFailed):
                return source.place(digest)
        return None


NO_BLOBS: Final = SessionBlobs(None)


def _named(lines: Iterable[bytes]) -> set[str]:
    return {digest for line in lines for digest in blobs.named(line)}


def _take_out(drafts: Iterable[bytes], *, images: bool) -> tuple[list[bytes], dict[str, bytes]]:
    taken = [extract_blobs.take_out(draft, images=images) for draft in drafts]
    return [it.draft for it in taken], {name: data for it in taken for name, data in it.blobs.items()}
