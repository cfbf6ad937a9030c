"""Runs imports and exports, and loads their code on first use.

The code is forty modules and 3 MB, which most daemons never need. It is loaded in a thread.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer.reporting import Reporting
from sessiond.protocol import types as t
from sessiond.store.base import Store

if TYPE_CHECKING:
    from sessiond.hub.redaction.provider_keys import ProviderKeys
    from sessiond.hub.transfer.exporting import Exports
    from sessiond.hub.transfer.importing import Imports


class Exchange:
    """Imports into, and exports from, one store. See `Hub` for the paths."""

    def __init__(
        self,
        sessions: OpenSessions,
        files: Store,
        secret_rules_folder: str | None,
        records_path: str | None,
        forgotten: ForgottenSessions,
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._secret_rules_folder = secret_rules_folder
        self._records_path = records_path
        self._forgotten = forgotten
        self._keys: ProviderKeys | None = None
        self._both: tuple[Imports, Exports] | None = None

    async def import_(self, params: t.ImportParams, reporting: Reporting) -> t.ImportResult:
        """See `importing.Imports.run`."""
        imports, _ = await self._loaded()
        return await imports.run(params, reporting)

    async def is_forgotten(self, session_id: str) -> bool:
        """Return whether a session was forgotten, so that its deletion needs no attention."""
        return await asyncio.to_thread(self._forgotten.is_forgotten, [session_id])

    @property
    def is_importing(self) -> bool:
        """Whether files of other programs are read at present."""
        return self._both is not None and self._both[0].is_importing

    async def imports(self) -> "Imports":
        """Return the part that imports. It is loaded first if necessary."""
        imports, _ = await self._loaded()
        return imports

    async def export(
        self, live: LiveSession, moment: Moment, params: t.ExportParams, state: t.WorkingState | None,
        report: ReportPercentage,
    ) -> t.ExportResult:  # fmt: skip
        """See `exporting.Exports.run`."""
        _, exports = await self._loaded()
        return await exports.run(live, moment, params, state, report)

    async def provider_keys(self) -> "ProviderKeys":
        """Return the finder of provider keys that exports use."""
        if self._keys is None:
            await asyncio.to_thread(import_module, "sessiond.hub.redaction.provider_keys")
            from sessiond.hub.redaction.provider_keys import ProviderKeys

            if self._keys is None:  # another request may have made it meanwhile
                self._keys = ProviderKeys(self._secret_rules_folder)
        return self._keys

    async def close(self) -> None:
        """Close the files of the parts that were loaded."""
        if self._both is not None:
            await asyncio.to_thread(self._both[0].close)

    async def _loaded(self) -> "tuple[Imports, Exports]":
        if self._both is None:
            self._both = await asyncio.to_thread(self._load, await self.provider_keys())
        return self._both

    def _load(self, keys: "ProviderKeys") -> "tuple[Imports, Exports]":
        from sessiond.hub.transfer.exporting import Exports
        from sessiond.hub.transfer.importing import Imports

        exports = Exports(self._files, keys)
        return Imports(self._sessions, self._files, self._records_path, self._forgotten), exports
