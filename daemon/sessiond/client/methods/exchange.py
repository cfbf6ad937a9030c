"""Sessions of other programs: import and export."""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, UnsetType

from sessiond.client.methods.base import Methods
from sessiond.client.receiver import OnProgress
from sessiond.protocol import methods as m, types as t


class ExchangeMethods(Methods):
    """What comes in from other programs and goes out to them. Paths are absolute."""

    async def import_sessions(
        self,
        paths: Sequence[str],
        *,
        format: t.Dialect | None = None,
        cwd: str | None = None,
        progress: OnProgress | None = None,
    ) -> t.ImportResult:
        with self._link.watching(progress) as token:
            params = t.ImportParams(paths=list(paths), format=format, cwd=cwd, work_done_token=token)
            return await self.call(m.IMPORT, params)

    async def export_session(
        self,
        session_id: str,
        format: Literal["jsonl", "markdown", "operator", "go", "nova"],
        *,
        leaf_id: str | UnsetType | None = UNSET,
        path: str | None = None,
        overwrite: bool = False,
    ) -> t.ExportResult:
        params = t.ExportParams(
            session_id=session_id, format=format, leaf_id=leaf_id, path=path, overwrite=overwrite
        )
        return await self.call(m.EXPORT, params)
