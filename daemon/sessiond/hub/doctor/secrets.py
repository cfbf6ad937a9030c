"""Finds secrets in sessions, in their blobs, in the trash, and in the history of prompts.

It names the session, the entry and the kind of each secret, and the file and the line if there are any, never the
secret itself. It reads through the stores, so a session in a database or in memory is searched as one in a file is.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.hub.doctor.databases import opened_read_only
from sessiond.hub.doctor.logs import all_logs
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.execution.threads import step_through
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.session.content import blobs
from sessiond.store.base import Store
from sessiond.store.blobs import BlobAbsent, BlobDamaged, BlobSource
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.remains import is_beside

_LONGEST: Final = 1 << 23
"""The maximum bytes of a line in memory. A longer line is searched in parts, as text."""
_PART: Final = 1 << 20
"""The maximum bytes of a blob in memory."""
_OVERLAP: Final = 1 << 13
"""Bytes that are searched twice where a text is searched in parts: a secret may cross the end of a part."""
_PROMPTS: Final = 100
"""The number of prompts of one read."""
_BINARY: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b\b")


class _Log(NamedTuple):
    """A log to search, or remains of one: its place in its store, and the session to which it belongs, if known."""

    path: str | None
    size: int
    session_id: str | None
    slices: Callable[[], Iterator[bytes]]
    blobs: Sequence[BlobSource]
    is_session: bool = True


class _Contents(NamedTuple):
    """The logs of a store, and the hashes and sizes of its blobs."""

    logs: Sequence[_Log]
    blobs: BlobSource
    listed: Sequence[tuple[str, int]] = ()


async def find_secrets(scope: Scope, stores: Sequence[Store], report: ReportPercentage | None = None) -> None:
    """Add a finding `secretFound` to the scope for each kind of secret in each entry, blob and prompt.

    Args:
        scope: The scope. If it has paths, only these are searched, with the blobs that they reference.
        stores: The stores to search. Blobs of files that the scope names are read from the first one.
        report: Receives progress.
    """
    if scope.only:
        blobs_of_files = stores[0].blobs
        logs = [
            _Log(log.path, log.size, None, partial(_slices, log.path), (blobs_of_files,))
            for log in all_logs(scope)
        ]
        contents = [_Contents(logs, blobs_of_files)]
    else:
        contents = []
        for store in stores:
            try:
                contents.append(await _contents(store))
            except StorageFailed as error:
                scope.add("unreadable", f"the sessions cannot be listed: {error}", None)
    then = None if report is None else lambda: report(*scope.progress)
    await step_through(_Search(scope, contents).steps(), then)


async def _contents(store: Store) -> _Contents:
    trashed = {trashed.ref: trashed.session_id for trashed in await store.trashed()}
    logs = []
    for stored in await store.list():
        beside = store.blobs_beside(stored.ref)
        sources = (store.blobs,) if beside is None else (store.blobs, beside)
        logs.append(
            _Log(
                _path(stored.ref), stored.size, stored.session_id, partial(store.scan, stored.ref), sources
            )
        )  # fmt: skip
    for ref in await store.remains():
        name = Path(ref).name
        of = trashed.get(ref) or paths.session_id_of(is_beside(name) or name)
        logs.append(
            _Log(_path(ref), 0, of, partial(store.scan, ref), (store.blobs,), is_session=ref in trashed)
        )
    return _Contents(logs, store.blobs, [(blob.hash, blob.size) for blob in await store.blobs.list()])


def _path(ref: str) -> str | None:
    """Return the path of a ref; None for a ref of a database or of memory."""
    return ref if ref.startswith("/") else None


def _slices(path: str) -> Iterator[bytes]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        while data := file.read(1 << 16):
            yield data


class _Search:
    """One search. `steps` runs it, in steps of a line or a part of one."""

    def __init__(self, scope: Scope, contents: Sequence[_Contents]) -> None:
        self._scope = scope
        self._contents = contents
        self._keys = ProviderKeys(scope.locations.secret_rules)
        self._redactor = Redactor(self._keys)
        self._in_blobs: dict[bytes, tuple[tuple[str, int], ...]] = {}
        """The kinds of secrets in each blob that was searched, by its hash."""
        sizes = (log.size for content in contents for log in content.logs)
        self._total = sum(sizes) + sum(size for content in contents for _, size in content.listed) or 1
        self._done = 0

    def steps(self) -> Iterator[None]:
        """Search everything."""
        scope = self._scope
        scope.progress = "Loading the rules of secrets", 0
        yield
        if not self._keys.load():
            reason = "the rules for the keys of most providers are not installed"
            scope.add("fewerSecretRules", reason, scope.locations.secret_rules)
        for content in self._contents:
            for log in content.logs:
                yield from self._in_log(log)
        for content in self._contents:
            for digest, _ in content.listed:  # those that no log references
                if bytes.fromhex(digest) not in self._in_blobs:
                    yield from self._in_blob(digest, (content.blobs,))
                    self._add_blob(digest, (content.blobs,))
        if not scope.only:
            for path in sorted(scope.trash.glob("blobs-*/*")):
                if blobs.is_hash(path.name):
                    yield from self._in_trashed_blob(path)
            yield from self._in_prompts()

    def _moved(self, size: int, what: str) -> None:
        self._done += size
        self._scope.progress = what, min(99, 100 * self._done // self._total)

    def _in_log(self, log: _Log) -> Iterator[None]:
        session_id, number, is_new, size = log.session_id, 0, True, 0
        rest = b""
        try:
            for data in _lines(log.slices()):
                number += is_new
                entry = _entry(data) if is_new else None
                if entry is None:
                    self._redactor.text((rest + data).decode("utf-8", "replace"), None)
                else:
                    if number == 1 and entry.get("type") == "session" and isinstance(entry.get("id"), str):
                        session_id = entry["id"]
                    self._redactor.entry(entry)
                name = None if entry is None else entry.get("id")
                entry_id = name if isinstance(name, str) else None
                self._add(self._taken(), log.path, line=number, session_id=session_id, entry_id=entry_id)
                for digest in dict.fromkeys(blobs.referenced_hashes(data)):
                    yield from self._in_blob(digest, log.blobs)
                    self._add_blob(digest, log.blobs, session_id, entry_id)
                is_new = data.endswith(b"\n")
                rest = b"" if is_new else data[-_OVERLAP:]
                size += len(data)
                self._moved(len(data), "Looking for secrets in sessions")
                yield
        except LogNotFound:
            return  # it was moved after it was listed
        except (OSError, StorageFailed) as error:
            self._scope.add("unreadable", f"it cannot be read: {error}", log.path, session_id=session_id)
        self._scope.sessions += log.is_session
        self._scope.session_bytes += size

    def _in_blob(self, digest: str, sources: Sequence[BlobSource]) -> Iterator[None]:
        """Search a blob, unless that was done."""
        if bytes.fromhex(digest) in self._in_blobs:
            return
        self._in_blobs[bytes.fromhex(digest)] = ()
        for source in sources:
            try:
                size = source.size(digest)
                parts = (source.read(digest, at, _PART + _OVERLAP) for at in range(0, size, _PART))
                yield from self._in_parts(parts)
            except BlobAbsent:
                continue
            except (BlobDamaged, OSError, StorageFailed) as error:
                self._scope.add("unreadable", f"it cannot be read: {error}", None, blob=digest)
                break
            self._in_blobs[bytes.fromhex(digest)] = tuple(self._taken().items())
            self._scope.blobs += 1
            self._scope.blob_bytes += size
            self._moved(size, "Looking for secrets in blobs")
            break
        self._redactor.found.clear()

    def _in_trashed_blob(self, path: Path) -> Iterator[None]:
        try:
            yield from self._in_parts(_overlapping(_slices(str(path))))
        except OSError as error:
            self._scope.add("unreadable", f"it cannot be read: {error}", str(path))
        self._add(self._taken(), str(path), blob=path.name)

    def _in_parts(self, parts: Iterable[bytes]) -> Iterator[None]:
        """Search a text that is read in parts. Bytes that are no text, such as a picture, are not searched."""
        for number, data in enumerate(parts):
            if number == 0 and not _BINARY.isdisjoint(data[:4096]):
                return
            self._redactor.text(data.decode("utf-8", "replace"), None)
            yield

    def _in_prompts(self) -> Iterator[None]:
        """Search the history of prompts. Each prompt can be deleted: `sessiond history delete`."""
        path, last = self._scope.locations.history, 0
        if not Path(path).is_file():
            return
        while True:
            try:
                with closing(opened_read_only(path)) as connection:
                    rows = connection.execute(
                        "SELECT history.id, file_id.id, prompt, session_id, entry_id FROM history, file_id"
                        " WHERE history.id > ? ORDER BY history.id LIMIT ?", [last, _PROMPTS],
                    ).fetchall()  # fmt: skip
            except sqlite3.Error as error:
                self._scope.add("unreadable", f"the prompts cannot be read: {error}", path)
                return
            for last, file_id, prompt, session_id, entry_id in rows:
                self._redactor.text(prompt, None)
                where = f" in prompt {file_id}-{last}, which sessiond history delete deletes"
                self._add(self._taken(), path, where, session_id=session_id, entry_id=entry_id)
                yield
            if len(rows) < _PROMPTS:
                return

    def _taken(self) -> Counter[str]:
        """Return the number of secrets that were found since the last call, by kind."""
        taken: Counter[str] = Counter()
        for (_, kind), count in self._redactor.found.items():
            taken[kind] += count
        self._redactor.found.clear()
        return taken

    def _add_blob(
        self,
        digest: str,
        sources: Sequence[BlobSource],
        session_id: str | None = None,
        entry_id: str | None = None,
    ) -> None:
        found = dict(self._in_blobs[bytes.fromhex(digest)])
        if found:
            path = _place(digest, sources)
            self._add(found, path, blob=digest, session_id=session_id, entry_id=entry_id)

    def _add(self, found: dict[str, int], path: str | None, where: str = "", **location: Any) -> None:
        for kind, count in found.items():
            times = "" if count == 1 else f", {count:,} times"
            self._scope.add("secretFound", f"{kind}{times}{where}", path, **location)


def _place(digest: str, sources: Sequence[BlobSource]) -> str | None:
    """Return the path of a blob; None if it is in no file."""
    for source in sources:
        try:
            return source.place(digest)
        except BlobAbsent:
            continue
    return None


def _overlapping(slices: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a text in parts, each with the end of the one before it."""
    rest = b""
    for data in slices:
        yield rest + data
        rest = data[-_OVERLAP:]


def _lines(slices: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a log with their line breaks, and a line that is too long in parts."""
    held = bytearray()
    for data in slices:
        held += data
        start = 0
        while (end := held.find(b"\n", max(start, len(held) - len(data))) + 1) > 0:
            yield bytes(held[start:end])
            start = end
        del held[:start]
        if len(held) >= _LONGEST:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _entry(data: bytes) -> dict[str, Any] | None:
    """Return the object on a line, or None if there is none."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
