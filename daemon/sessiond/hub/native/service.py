"""Resumes sessions in agents, and loads the code for it on first use: most daemons never need it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.native.resuming import AgentResume

_FOLDER: Final = "for-agents"
"""The folder beside the records of imports for files that agents import."""


class NativeSessions:
    """Resumes the sessions of one hub in agents. `beside` is a file of the folder for documents, or None."""

    def __init__(self, beside: str | None) -> None:
        self._beside = beside
        self._resume: AgentResume | None = None

    async def resume(self, live: LiveSession, moment: Moment, params: t.ResumeParams) -> t.ResumeResult:
        """See `resuming.AgentResume.run`."""
        if self._resume is None:
            self._resume = await asyncio.to_thread(self._load)
        return await self._resume.run(live, moment, params)

    def _load(self) -> "AgentResume":
        import tempfile

        from sessiond.hub.native.resuming import AgentResume

        above = tempfile.mkdtemp(prefix="sessiond-") if self._beside is None else Path(self._beside).parent
        return AgentResume(str(Path(above) / _FOLDER))
