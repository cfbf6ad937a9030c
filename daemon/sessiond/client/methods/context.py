"""What a model sees, and how that is kept small: context, compaction, branches and their summaries."""

from typing import Any

from msgspec import UNSET, UnsetType

from sessiond.client.methods.base import Methods
from sessiond.client.receiver import OnProgress
from sessiond.client.results import SessionContext
from sessiond.client.summarizer import encoded
from sessiond.protocol import methods as m, types as t


class ContextMethods(Methods):
    """What is asked of paths.

    Where a summary may have to be written, `progress` is called with each step of that; cancelling the
    coroutine cancels the request.
    """

    async def context(
        self,
        session_id: str,
        leaf_id: str | UnsetType | None = UNSET,
        *,
        format: t.Format = "agent",
        explain: bool = False,
        resolve_blobs: bool = True,
    ) -> SessionContext:
        params = t.ContextParams(
            session_id=session_id,
            leaf_id=leaf_id,
            format=format,
            explain=explain,
            resolve_blobs=resolve_blobs,
        )
        return await self._decoded(m.CONTEXT, params, SessionContext)

    async def prepare_compaction(
        self,
        session_id: str,
        leaf_id: str | UnsetType | None = UNSET,
        *,
        settings: t.CompactionChoice | None = None,
        instructions: str | None = None,
    ) -> t.PrepareCompactionResult:
        params = t.PrepareCompactionParams(
            session_id=session_id, leaf_id=leaf_id, settings=settings, instructions=instructions
        )
        return await self.call(m.PREPARE_COMPACTION, params)

    async def compact(
        self,
        session_id: str,
        *,
        summary: str | None = None,
        first_kept_entry_id: str | None = None,
        short_summary: str | None = None,
        details: Any = None,
        preserve_data: Any = None,
        from_extension: bool | None = None,
        tokens_before: int | None = None,
        settings: t.CompactionChoice | None = None,
        instructions: str | None = None,
        expected_leaf: str | UnsetType | None = UNSET,
        progress: OnProgress | None = None,
        command_id: str | None = None,
    ) -> t.CompactResult:
        with self._link.watching(progress) as token:
            params = t.CompactParams(
                session_id=session_id,
                summary=summary,
                first_kept_entry_id=first_kept_entry_id,
                short_summary=short_summary,
                details=encoded(details),
                preserve_data=encoded(preserve_data),
                from_extension=from_extension,
                tokens_before=tokens_before,
                settings=settings,
                instructions=instructions,
                expected_leaf=expected_leaf,
                work_done_token=token,
                command_id=command_id,
            )
            return await self.call(m.COMPACT, params)

    async def configure(
        self,
        session_id: str,
        *,
        auto_compact: t.CompactionChoice | UnsetType | None = UNSET,
        command_id: str | None = None,
    ) -> t.ConfigureResult:
        return await self.call(
            m.CONFIGURE,
            t.ConfigureParams(session_id=session_id, auto_compact=auto_compact, command_id=command_id),
        )

    async def prepare_branch(
        self,
        session_id: str,
        target_id: str | None,
        *,
        leaf_id: str | UnsetType | None = UNSET,
        max_tokens: int | None = None,
        instructions: str | None = None,
    ) -> t.PrepareBranchResult:
        params = t.PrepareBranchParams(
            session_id=session_id,
            target_id=target_id,
            leaf_id=leaf_id,
            max_tokens=max_tokens,
            instructions=instructions,
        )
        return await self.call(m.PREPARE_BRANCH, params)

    async def branch(
        self,
        session_id: str,
        target_id: str | None,
        *,
        summary: str | None = None,
        details: Any = None,
        from_extension: bool | None = None,
        expected_leaf: str | UnsetType | None = UNSET,
        summarize: bool = False,
        instructions: str | None = None,
        progress: OnProgress | None = None,
        command_id: str | None = None,
    ) -> t.BranchResult:
        with self._link.watching(progress) as token:
            params = t.BranchParams(
                session_id=session_id,
                target_id=target_id,
                summary=summary,
                details=encoded(details),
                from_extension=from_extension,
                expected_leaf=expected_leaf,
                summarize=summarize,
                instructions=instructions,
                work_done_token=token,
                command_id=command_id,
            )
            return await self.call(m.BRANCH, params)
