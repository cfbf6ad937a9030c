"""Resumes sessions in agents, and loads the code for it on first use: most daemons never need it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.transfer.exchange import Exchange
from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.native.resuming import AgentResume
    from sessiond.hub.transfer.source_records import SourceRecords

_FOLDER: Final = "for-agents"
"""The folder beside the records of imports for files that agents import."""


class NativeSessions:
    """Resumes the sessions of one hub in agents.

    Args:
        beside: A file of the folder for documents, or None.
        exchange: Has the records of imported files, which show the versions of agents.
    """

    def __init__(self, beside: str | None, exchange: Exchange) -> None:
        self._beside = beside
        self._exchange = exchange
        self._resume: AgentResume | None = None

    async def resume(self, live: LiveSession, moment: Moment, params: t.ResumeParams) -> t.ResumeResult:
        """See `resuming.AgentResume.run`."""
        if self._resume is None:
            records = (await self._exchange.imports()).records
            self._resume = await asyncio.to_thread(self._load, records)
        return await self._resume.run(live, moment, params)

    def _load(self, records: "SourceRecords") -> "AgentResume":
        import tempfile

        from sessiond.hub.following.agent_list import newest_version
        from sessiond.hub.native.resuming import AgentResume

        above = tempfile.mkdtemp(prefix="sessiond-") if self._beside is None else Path(self._beside).parent
        return AgentResume(
            str(Path(above) / _FOLDER),
            lambda agent, environ: newest_version(records.below(agent.folders(environ)).values()),
        )
