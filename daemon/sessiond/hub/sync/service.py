"""The requests of a sync, and the records that they need."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from sessiond.hub import clock
from sessiond.hub.errors import HubError
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.sync.git_remotes import folders_with_remotes
from sessiond.hub.sync.positions import Positions, StoredSession, StoredSessions
from sessiond.hub.sync.putting import Puts
from sessiond.hub.sync.records import SyncRecords
from sessiond.hub.sync.stored_lines import StoredLineReader
from sessiond.hub.trash import InTrash, Trash
from sessiond.protocol import types as t
from sessiond.session.content import fields
from sessiond.session.content.blobs import PREFIX
from sessiond.session.tree import entries
from sessiond.session.tree.lines import valid_text
from sessiond.session.union.comparable import store_digest
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

_NO_DIGEST: Final = "0" * 64


class Synchronization:
    """Brings two stores together.

    Args:
        files: The store.
        trash: The trash.
        open_sessions: The open sessions.
        records_path: The file of the records; None means a temporary file.
        forgotten: The sessions that no sync brings back.

    Attributes:
        lines: Reads the lines of sessions as they are stored.
        puts: Adds lines to sessions.
    """

    def __init__(
        self, files: Store, trash: Trash, open_sessions: OpenSessions, records_path: str | None,
        forgotten: ForgottenSessions,
    ) -> None:  # fmt: skip
        self._files = files
        self._records = SyncRecords(records_path)
        self._positions = Positions(files, open_sessions, trash, self._records)
        self.lines = StoredLineReader(files, trash, open_sessions)
        self._forgotten = forgotten
        self.puts = Puts(open_sessions, files, self._positions, forgotten)

    async def positions(self, params: t.SyncPositionsParams) -> t.SyncPositionsResult:
        """Return the positions of all sessions, or only the digest of the store. Raises `StorageFailed`."""
        found = await self._positions.read()
        self.lines.known_refs = {name: session.ref for name, session in found.stored.items()}
        stored = {
            name: session
            for name, session in found.stored.items()
            if params.include_drafts or not session.is_draft
        }
        digest = store_digest(
            (name, session.position.line_count, session.position.digest) for name, session in stored.items()
        )
        if params.digest_only:
            return t.SyncPositionsResult(
                digest=digest, session_count=len(stored), sessions=[], folders=[], left_out=[]
            )
        folders = {session.position.cwd for session in stored.values()}
        forgotten = {session.session_id for session in await asyncio.to_thread(self._forgotten.all)}
        return t.SyncPositionsResult(
            digest=digest, session_count=len(stored), sessions=_rows(found, stored, forgotten),
            folders=await asyncio.to_thread(folders_with_remotes, folders),
            left_out=[
                t.SyncLeftOut(path=valid_text(ref), message=why) for ref, why in sorted(found.left_out.items())
            ],
        )  # fmt: skip

    async def missing_blobs(self, params: t.BlobMissingParams) -> t.BlobMissingResult:
        """Return the blobs that the store lacks, and restart the grace period of the others."""
        hashes = [digest.removeprefix(PREFIX) for digest in params.hashes]
        there = await self._files.blobs.touch(set(hashes))
        return t.BlobMissingResult(hashes=[digest for digest in dict.fromkeys(hashes) if digest not in there])

    async def purging(self, found: InTrash) -> None:
        """Record the position of a session that is about to be purged, so that it does not come back."""
        if found.store is not self._files or found.log.draft:
            return
        position = await self._positions.of_trashed(found)
        if position is not None and position.session_id:
            await asyncio.to_thread(self._records.put_purged, position)

    async def restored(self, live: LiveSession) -> None:
        """Record in a session that was restored from the trash that it is in use, if other stores may have deleted it.

        The line sets the leaf that the session has. Without it, the other store would have every line, and the next
        sync would delete the session again. If it cannot be written, a warning is logged.
        """
        is_synchronized = (
            not live.ephemeral and self._files.keeps(live.log.ref) and live.tree.header is not None
        )
        if not is_synchronized or live.tree.version < entries.CURRENT_VERSION:
            return
        if await asyncio.to_thread(self._records.has_positions):
            live.appending_jobs += 1
            try:
                await live.add_lines([_leaf_line(live.tree.leaf_id)], (), None, t.Origin(kind="daemon"))
            except (HubError, StorageFailed) as error:
                log.warning("other machines may delete the restored session %s: %s", live.session_id, error)
            finally:
                live.appending_jobs -= 1

    async def close(self) -> None:
        """Close the records."""
        await asyncio.to_thread(self._records.close)


def _leaf_line(leaf_id: str | None) -> bytes:
    """Return a line that sets the leaf. Its id is long, because it must be new in every copy of the session."""
    entry = {
        "type": "leaf", "id": clock.session_id(), "parentId": leaf_id, "timestamp": clock.timestamp(),
        "targetId": leaf_id,
    }  # fmt: skip
    return fields.dumps(entry)


def _rows(
    found: StoredSessions, stored: Mapping[str, StoredSession], forgotten: Collection[str]
) -> list[t.SyncPosition]:
    gone = {**found.purged, **found.trashed}
    rows = [
        *(_row(session, "stored") for session in stored.values()),
        *(_row(session, "trashed") for name, session in found.trashed.items() if name not in forgotten),
        *(_row(session, "purged") for name, session in found.purged.items() if name not in forgotten),
        *(_forgotten_row(name, gone.get(name)) for name in forgotten if name not in found.stored),
    ]
    return sorted(rows, key=lambda row: row.session_id)


def _forgotten_row(session_id: str, session: StoredSession | None) -> t.SyncPosition:
    """Return the row of a forgotten session. For versions that do not know this, it was purged."""
    return t.SyncPosition(
        session_id=session_id, state="purged",
        line_count=0 if session is None else session.position.line_count,
        digest=_NO_DIGEST if session is None else session.position.digest,
        cwd=None, is_draft=False, tags=[], agent=None, trash_id=None, problem=None, is_forgotten=True,
    )  # fmt: skip


def _row(session: StoredSession, state: str) -> t.SyncPosition:
    position = session.position
    return t.SyncPosition(
        session_id=position.session_id, state=state, line_count=position.line_count, digest=position.digest,
        cwd=None if state == "purged" else valid_text(position.cwd), is_draft=session.is_draft,
        tags=list(position.tags), agent=position.agent, trash_id=session.trash_id, problem=position.problem,
    )  # fmt: skip
