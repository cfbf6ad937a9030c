"""Builds the results of requests about the trash, and the cursors of its pages."""

import base64
import binascii
from collections.abc import Sequence

from sessiond.hub.errors import CursorExpired
from sessiond.hub.session_info import path_of
from sessiond.hub.trash import InTrash
from sessiond.protocol import types as t
from sessiond.session.tree import lines
from sessiond.store.records import TrashPlace


def deleted(session_id: str, ref: str | None, place: TrashPlace) -> t.DeleteResult:
    """Return the result of moving a session to the trash; `ref` is its former ref, None for an ephemeral session."""
    return t.DeleteResult(
        session_id=session_id,
        path=None if ref is None else path_of(ref),
        trash_id=place.trash_id,
        trash_path=path_of(place.ref),
    )


def deleted_earlier(found: InTrash, *, duplicate: bool = True) -> t.DeleteResult:
    """Return the result of a deletion for a log that is in the trash already."""
    session = listed(found)
    return t.DeleteResult(
        session_id=session.session_id,
        path=session.path,
        trash_id=session.trash_id,
        trash_path=session.trash_path,
        duplicate=duplicate,
    )


def purged(sessions: list[t.TrashedSession], remaining: int, *, dry_run: bool) -> t.PurgeResult:
    """Return the result of a purge; `remaining` is the number of sessions that stay in the trash."""
    return t.PurgeResult(
        purged=sessions[: t.MAX_REPORTED],
        purged_count=len(sessions),
        truncated=len(sessions) > t.MAX_REPORTED,
        purged_bytes=sum(session.size_bytes for session in sessions),
        kept_count=remaining,
        dry_run=dry_run,
    )


def listed(found: InTrash) -> t.TrashedSession:
    """Return the description of a log in the trash on the wire."""
    log = found.log
    return t.TrashedSession(
        trash_id=log.trash_id,
        session_id=lines.valid_text(log.session_id),
        trash_path=found.path,
        path=None if log.origin is None else path_of(log.origin),
        trashed_at=lines.valid_text(log.trashed_at),
        note=lines.valid_text(log.reason) or None,
        deleted_by=lines.valid_text(log.about.by),
        is_draft=log.draft,
        size_bytes=log.size,
        cwd=lines.valid_text(log.about.cwd),
        title=lines.valid_text(log.about.title),
        leftover_paths=[lines.valid_text(name) for name in log.leftovers[: t.MAX_REPORTED]],
        ephemeral=found.ephemeral,
    )


def page_of(everything: Sequence[InTrash], params: t.TrashListParams) -> t.TrashListResult:
    """Return a page of the trash; `everything` is in the order of `Trash.list`. Raises `CursorExpired`."""
    edge = None if params.cursor is None else _decode(params.cursor)
    rest = [trashed for trashed in everything if edge is None or _key(trashed) < edge]
    page = rest[: params.limit]
    return t.TrashListResult(
        sessions=[listed(trashed) for trashed in page],
        total_count=len(everything) if params.with_total else None,
        next_cursor=_encode(page[-1]) if len(rest) > len(page) else None,
    )


def _key(found: InTrash) -> str:
    key: str = lines.valid_text(f"{found.log.trashed_at} {found.log.ref}")
    return key


def _encode(found: InTrash) -> str:
    return base64.urlsafe_b64encode(_key(found).encode()).decode()


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise CursorExpired from None


def deleted_note(gone: t.DeleteResult, note: str | None, origin: t.Origin) -> t.DeletedNote:
    """Return the notification of a session that was moved to the trash with this note."""
    return t.DeletedNote(
        session_id=gone.session_id,
        trash_id=gone.trash_id,
        trash_path=gone.trash_path,
        note=note,
        origin=origin,
    )
