"""The end of sessions: delete, restore, cleanup, purge, the trash."""

from collections.abc import Sequence

from sessiond.client.methods.base import Methods
from sessiond.protocol import methods as m, types as t


class KeepingMethods(Methods):
    """What takes sessions away, and brings them back."""

    async def delete(
        self,
        session_id: str | None = None,
        *,
        path: str | None = None,
        reason: str = "",
        command_id: str | None = None,
    ) -> t.DeleteResult:
        return await self.call(
            m.DELETE, t.DeleteParams(session_id=session_id, path=path, reason=reason, command_id=command_id)
        )

    async def restore(
        self, session_id: str | None = None, *, trashed: str | None = None, command_id: str | None = None
    ) -> t.SessionResult:
        return await self.call(
            m.RESTORE, t.RestoreParams(session_id=session_id, trashed=trashed, command_id=command_id)
        )

    async def cleanup(
        self,
        *,
        max_age_seconds: int | None = None,
        max_sessions: int | None = None,
        tags: Sequence[str] | None = None,
        dry_run: bool = True,
        command_id: str | None = None,
    ) -> t.CleanupResult:
        params = t.CleanupParams(
            max_age_seconds=max_age_seconds,
            max_sessions=max_sessions,
            tags=None if tags is None else list(tags),
            dry_run=dry_run,
            command_id=command_id,
        )
        return await self.call(m.CLEANUP, params)

    async def purge(
        self,
        session_id: str | None = None,
        *,
        trashed: str | None = None,
        older_than_seconds: int | None = None,
        dry_run: bool = True,
        command_id: str | None = None,
    ) -> t.PurgeResult:
        """session/purge, which has no inverse: without `dry_run=False` it only says what would go."""
        params = t.PurgeParams(
            session_id=session_id,
            trashed=trashed,
            older_than_seconds=older_than_seconds,
            dry_run=dry_run,
            command_id=command_id,
        )
        return await self.call(m.PURGE, params)

    async def trash(self, *, cursor: str | None = None, limit: int = 50) -> t.TrashListResult:
        return await self.call(m.TRASH_LIST, t.TrashListParams(cursor=cursor, limit=limit))
