"""A bundle as the side of a sync that sends. It is verified completely when it is opened."""

import contextlib
import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO, Final, TypeVar

import msgspec

from sessiond.client.wire import RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.protocol.errors import BLOB_NOT_FOUND
from sessiond.session.content.blobs import PREFIX, is_hash
from sessiond.session.tree.steps import run
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import LineSum, lines_in
from sessiond.session.union.line_keys import key_page, tag_rows
from sessiond.sync.bundle.archive import Extent, unpack
from sessiond.sync.bundle.encryption import DecryptionKeys, decrypted
from sessiond.sync.bundle.errors import DamagedBundleError, UnusableFileError
from sessiond.sync.bundle.manifest import NAME, BundledSession, Manifest, blob_name, page_name
from sessiond.sync.bundle.recognition import FIRST_BYTES, is_encrypted
from sessiond.sync.bundle.spool import spool_file

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)

_MAX_MANIFEST_BYTES: Final = 512 * 1024 * 1024
_CHUNK: Final = 1 << 20


@contextlib.contextmanager
def opened(
    path: str, keys: DecryptionKeys, *, spool_folder: str | None, is_limited: bool = True
) -> "Iterator[Bundle]":
    """Open a bundle and verify it.

    The decrypted and decompressed content is in a file without a name in `spool_folder` until the context is left.

    Args:
        path: The file.
        keys: The keys that decrypt it, if it is encrypted.
        spool_folder: The folder for its content; None for the folder of temporary files.
        is_limited: Whether a bundle is refused that decompresses to much more than other bundles do.

    Raises:
        BundleError: It is no bundle, it was changed, it cannot be decrypted, or the system refuses to read it.
    """
    with contextlib.ExitStack() as stack:
        spool = stack.enter_context(spool_file(spool_folder))
        try:
            file: BinaryIO = stack.enter_context(open(path, "rb"))
            first = file.read(FIRST_BYTES)
            file.seek(0)
            if is_encrypted(first):
                plain = stack.enter_context(spool_file(spool_folder))
                decrypted(file, path, plain, keys)
                file = plain
                file.seek(0)
            members = unpack(file, path, spool, is_limited=is_limited)
            manifest = _verified(spool, path, members)
        except OSError as error:
            raise UnusableFileError(path, "read", error.strerror or str(error)) from None
        yield Bundle(spool, members, manifest, is_encrypted=is_encrypted(first))


def _read(spool: BinaryIO, extent: Extent) -> bytes:
    spool.seek(extent.start)
    return spool.read(extent.size)


def _verified(spool: BinaryIO, path: str, members: dict[str, Extent]) -> Manifest:
    """Return the manifest after comparing it with everything else. Raises `DamagedBundleError`."""
    extent = members.get(NAME)
    if extent is None or extent.size > _MAX_MANIFEST_BYTES:
        raise DamagedBundleError(path, "it has no manifest")
    try:
        manifest = msgspec.json.decode(_read(spool, extent), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DamagedBundleError(path, "its manifest cannot be read") from None
    if manifest.members.keys() != members.keys() - {NAME}:
        raise DamagedBundleError(path, "its manifest names other content")
    for name, member in manifest.members.items():
        if _sha256(spool, members[name]) != member.sha256 or members[name].size != member.size_bytes:
            raise DamagedBundleError(path, f"{name} is not what was written")
        if name.startswith(blob_name("")) and name != blob_name(member.sha256):
            raise DamagedBundleError(path, f"{name} is another blob than its name says")
    seen: set[tuple[str, str | None]] = set()
    for session in manifest.sessions:
        place = session.session_id, session.trash_id if session.state == "trashed" else None
        if place in seen or (session.state == "trashed") is (session.trash_id is None):
            raise DamagedBundleError(path, f"session {session.session_id:.100} is in it twice")
        seen.add(place)
        _verify_session(spool, path, members, session)
    return manifest


def _verify_session(spool: BinaryIO, path: str, members: dict[str, Extent], session: BundledSession) -> None:
    lines = LineSum()
    for page in range(1, session.page_count + 1):
        extent = members.get(page_name(session.folder, page))
        if extent is None:
            raise DamagedBundleError(path, f"session {session.session_id:.100} lacks a page")
        data = _read(spool, extent)
        if not data.endswith(b"\n"):
            raise DamagedBundleError(path, f"session {session.session_id:.100} has a page without an end")
        lines.add(lines_in(data))
    tree, head = Tree(), members.get(page_name(session.folder, 0))
    if head is not None:
        tree.read(_read(spool, head))
        tree.finish()
    if tree.header is None or tree.header.id != session.session_id:
        raise DamagedBundleError(path, f"session {session.session_id:.100} has another header")
    if (lines.count, lines.digest) != (session.line_count, session.digest):
        raise DamagedBundleError(
            path, f"session {session.session_id:.100} has other lines than its digest says"
        )


def _sha256(spool: BinaryIO, extent: Extent) -> str:
    spool.seek(extent.start)
    digest, left = hashlib.sha256(), extent.size
    while left and (chunk := spool.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


class Bundle:
    """The content of a verified bundle, which answers the requests of a sync to the side that sends.

    Attributes:
        manifest: The list of its content.
        is_encrypted: Whether the file is encrypted.
    """

    def __init__(
        self, spool: BinaryIO, members: dict[str, Extent], manifest: Manifest, *, is_encrypted: bool
    ) -> None:
        self.manifest = manifest
        self.is_encrypted = is_encrypted
        self._spool = spool
        self._members = members
        self._sessions = {(session.session_id, session.trash_id): session for session in manifest.sessions}

    @property
    def positions(self) -> t.SyncPositionsResult:
        """The positions of its sessions. Those of the trash are left out."""
        stored = [position_of(session) for session in self.manifest.sessions if session.state == "stored"]
        return t.SyncPositionsResult(
            digest="", session_count=len(stored), sessions=stored, folders=self.manifest.folders, left_out=[]
        )  # fmt: skip

    @property
    def trashed(self) -> list[BundledSession]:
        """The sessions that were in the trash."""
        return [session for session in self.manifest.sessions if session.state == "trashed"]

    def names_below(self, prefix: str) -> list[str]:
        """Return the names of members that begin with a text."""
        return [name for name in self._members if name.startswith(prefix)]

    def member(self, name: str) -> bytes | None:
        """Return the content of a member; None if there is none of this name."""
        extent = self._members.get(name)
        return None if extent is None else _read(self._spool, extent)

    async def call(self, method: m.Method[P, R], params: P) -> R:
        """Answer `sync/ids` and `sync/lines`."""
        answer = self._answer(params)
        assert isinstance(answer, method.result)
        return answer

    async def get_blob(self, name: str) -> bytes:
        """Return a blob. Raises `RpcError` of the kind `blobNotFound`."""
        digest = name.removeprefix(PREFIX)
        data = self.member(blob_name(digest)) if is_hash(digest) else None
        if data is None:
            raise RpcError(
                BLOB_NOT_FOUND.code,
                f"The bundle does not have the blob {digest:.64}.",
                {"kind": BLOB_NOT_FOUND.name},
            )
        return data

    async def put_blob(self, data: bytes) -> t.BlobPutResult:
        """Raise `UnsupportedOperation`."""
        raise io.UnsupportedOperation("a bundle that is read takes nothing")

    def _answer(self, params: t.Wire) -> t.Wire:
        match params:
            case t.SyncLinesParams(session_id=name, trash_id=trash_id, seqs=None):
                return self._page(self._sessions[name, trash_id], params.after)
            case t.SyncLinesParams(session_id=name, trash_id=trash_id, seqs=list(seqs)):
                return self._chosen(
                    self._sessions[name, trash_id], [seq for seq in seqs if seq > params.after]
                )
            case t.SyncIdsParams(session_id=name, trash_id=trash_id):
                return self._ids(self._sessions[name, trash_id])
        raise io.UnsupportedOperation(type(params).__name__)

    def _page(self, session: BundledSession, after: int) -> t.SyncLinesResult:
        """Return a page as it was written. `after` and `next_after` are numbers of pages here."""
        page = after + 1
        return self._lines(
            session, self._page_of(session, page) if page <= session.page_count else b"",
            next_after=page if page < session.page_count else None,
        )  # fmt: skip

    def _chosen(self, session: BundledSession, seqs: list[int]) -> t.SyncLinesResult:
        data, tree = self._log(session)
        spans = [tree.span(seq) for seq in seqs if 0 < seq < tree.committed]
        return self._lines(
            session, b"".join(line + b"\n" for start, end in spans for line in lines_in(data[start:end]))
        )

    def _lines(
        self, session: BundledSession, data: bytes, *, next_after: int | None = None
    ) -> t.SyncLinesResult:
        return t.SyncLinesResult(head=self._page_of(session, 0), lines=data, next_after=next_after)

    def _ids(self, session: BundledSession) -> t.SyncIdsResult:
        data, tree = self._log(session)

        def read(start: int, end: int) -> bytes:
            return data[start:end]

        keys = run(key_page(tree, read, 0, tree.committed)).keys
        header = tree.header
        return t.SyncIdsResult(
            seqs=[key.seq for key in keys], ids=[key.id for key in keys], hashes=[key.hash for key in keys],
            parents=[key.parent for key in keys], next_after=None, log_id="bundle", last_seq=tree.seq,
            leaf_id=tree.leaf_id, tag_seqs=tag_rows(tree, read),
            header_tags=list(header.tags or ()) if header is not None else [],
        )  # fmt: skip

    def _log(self, session: BundledSession) -> tuple[bytes, Tree]:
        data = b"".join(self._page_of(session, page) for page in range(session.page_count + 1))
        tree = Tree()
        tree.read(data)
        tree.finish()
        return data, tree

    def _page_of(self, session: BundledSession, page: int) -> bytes:
        return _read(self._spool, self._members[page_name(session.folder, page)])


def position_of(session: BundledSession) -> t.SyncPosition:
    """Return the position of a session in a bundle."""
    return t.SyncPosition(
        session_id=session.session_id, state=session.state, line_count=session.line_count, digest=session.digest,
        cwd=session.cwd, is_draft=session.is_draft, tags=session.tags, agent=session.agent,
        trash_id=session.trash_id, problem=None,
    )  # fmt: skip
