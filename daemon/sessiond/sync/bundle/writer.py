"""A bundle as the side of a sync that receives: lines and blobs become members of an archive."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from sessiond import __version__
from sessiond.protocol import methods as m, types as t
from sessiond.session.content.blobs import PREFIX, hash_of
from sessiond.session.union.comparable import LineSum, lines_in
from sessiond.sync.bundle.archive import ArchiveWriter
from sessiond.sync.bundle.manifest import (
    NAME,
    BundledSession,
    Kind,
    Manifest,
    Member,
    blob_name,
    page_name,
)

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)


@dataclass(slots=True)
class _Open:
    """A session that is being written."""

    session: BundledSession
    lines: LineSum


class BundleWriter:
    """Answers the requests of a sync to the side that receives. Nothing that is written is changed again.

    Args:
        archive: The archive.
        positions: The positions of the sessions that may come.
    """

    def __init__(self, archive: ArchiveWriter, positions: Iterable[t.SyncPosition]) -> None:
        self._archive = archive
        self._positions: Mapping[str, t.SyncPosition] = {
            position.session_id: position for position in positions
        }
        self._stored: dict[str, _Open] = {}
        self._all: list[_Open] = []

    async def call(self, method: m.Method[P, R], params: P) -> R:
        """Answer `sync/put` and `blob/missing`."""
        return _as_result(method, self._answer(params))

    async def get_blob(self, name: str) -> bytes:
        """Raise `UnsupportedOperation`."""
        raise io.UnsupportedOperation("a bundle that is written has nothing to read")

    async def put_blob(self, data: bytes) -> t.BlobPutResult:
        """Write a blob, once."""
        digest = hash_of(data)
        is_new = blob_name(digest) not in self._archive.sizes_and_hashes
        if is_new:
            self._archive.add(blob_name(digest), data)
        return t.BlobPutResult(hash=digest, ref=PREFIX + digest, size_bytes=len(data), created=is_new)

    def for_trashed(self, position: t.SyncPosition, note: str | None) -> "TrashWriter":
        """Return the side of a sync that receives one session of the trash."""
        opened = self._new(position)
        opened.session.state, opened.session.note = "trashed", note
        opened.session.trash_id = position.trash_id
        return TrashWriter(self, opened)

    def finish(self, kind: Kind, created_at: str, folders: list[t.SyncFolder]) -> Manifest:
        """Write the manifest and the end of the archive, and return the manifest."""
        for opened in self._all:
            opened.session.line_count, opened.session.digest = opened.lines.count, opened.lines.digest
        sessions = [opened.session for opened in self._all]
        cwds = {session.cwd for session in sessions}
        members = {name: Member(*facts) for name, facts in self._archive.sizes_and_hashes.items()}
        used = [folder for folder in folders if folder.cwd in cwds]
        manifest = Manifest(kind, created_at, f"sessiond {__version__}", sessions, used, members)
        self._archive.add(NAME, msgspec.json.encode(manifest))
        self._archive.close()
        return manifest

    def put(self, opened: _Open, params: t.SyncPutParams) -> t.SyncPutResult:
        """Write a page of a session, and its header with the first one."""
        lines = lines_in(params.lines)
        session, is_new = opened.session, params.head is not None
        if params.head is not None:
            self._archive.add(page_name(session.folder, 0), params.head)
        if lines:
            session.page_count += 1
            data = b"".join(line + b"\n" for line in lines)
            self._archive.add(page_name(session.folder, session.page_count), data)
        opened.lines.add(lines)
        return t.SyncPutResult(
            is_new=is_new, is_outdated=False, added_count=len(lines), duplicate_count=0, refused=[], refused_count=0
        )  # fmt: skip

    def missing(self, params: t.BlobMissingParams) -> t.BlobMissingResult:
        """Return the blobs that were not written yet."""
        written = self._archive.sizes_and_hashes
        return t.BlobMissingResult(
            hashes=[digest for digest in params.hashes if blob_name(digest) not in written]
        )

    def _answer(self, params: t.Wire) -> t.Wire:
        match params:
            case t.SyncPutParams():
                opened = self._stored.get(params.session_id)
                if opened is None:
                    opened = self._stored[params.session_id] = self._new(self._positions[params.session_id])
                return self.put(opened, params)
            case t.BlobMissingParams():
                return self.missing(params)
        raise io.UnsupportedOperation(type(params).__name__)

    def _new(self, position: t.SyncPosition) -> _Open:
        session = BundledSession(
            len(self._all) + 1, position.session_id, cwd=position.cwd, is_draft=position.is_draft,
            tags=position.tags, agent=position.agent,
        )  # fmt: skip
        self._all.append(_Open(session, LineSum()))
        return self._all[-1]


class TrashWriter:
    """The side of a sync that receives one session of the trash."""

    def __init__(self, bundle: BundleWriter, opened: _Open) -> None:
        self._bundle = bundle
        self._opened = opened
        self.get_blob = bundle.get_blob
        self.put_blob = bundle.put_blob

    async def call(self, method: m.Method[P, R], params: P) -> R:
        """Answer `sync/put` and `blob/missing`."""
        if isinstance(params, t.SyncPutParams):
            return _as_result(method, self._bundle.put(self._opened, params))
        return await self._bundle.call(method, params)


def _as_result(method: m.Method[Any, R], answer: t.Wire) -> R:
    assert isinstance(answer, method.result)
    return answer
