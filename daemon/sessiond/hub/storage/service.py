"""Answers `storage/report` and `storage/agents`: asks the index for the sizes of sessions, and measures other files."""

import asyncio
import os
import time
from typing import Final

from sessiond.hub import clock
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.execution.threads import step_through
from sessiond.hub.following.service import AgentFollowing
from sessiond.hub.index.columns import as_key
from sessiond.hub.index.index import Index
from sessiond.hub.index.worker import Worker
from sessiond.hub.storage import own_folders, session_sizes
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.store.base import Store

RECENT_SECONDS: Final = 30 * 86_400
"""The time for which a change of a session counts as recent."""


class StorageReports:
    """Makes reports of the space that sessions take.

    Args:
        index: The index of the sessions.
        files: The store of sessions on disk.
        following: The agents.
    """

    def __init__(self, index: Index, files: Store, following: AgentFollowing) -> None:
        self._index = index
        self._files = files
        self._following = following

    async def report(self, params: t.StorageReportParams, locations: Locations) -> t.StorageReportResult:
        """Return a report.

        Raises:
            StorageFailed: The index cannot be read.
        """
        recent = clock.iso(time.time_ns() - RECENT_SECONDS * 1_000_000_000)
        own = as_key(os.path.realpath(locations.data) + "/") if self._files.local else b""

        def read(worker: Worker) -> session_sizes.SessionSizes:
            return session_sizes.read(worker.database.connection, own=own, recent=recent, limit=params.limit)

        sizes = await self._index.ask_fresh(read)
        kinds = await asyncio.to_thread(own_folders.sizes, locations)
        if not self._files.local:
            for blob in await self._files.blobs.list():
                kinds.add("blobs", 1, blob.size)
            for trashed in await self._files.trashed():
                kinds.add("trash", 1, trashed.size)
        for key, count in sizes.kinds.counts.items():
            kinds.add(key, count, sizes.kinds.sizes[key])
        return t.StorageReportResult(
            kinds=kinds.largest(), total_bytes=sum(kinds.sizes.values()), agents=sizes.agents.largest(),
            projects=sizes.projects.largest(params.limit), project_count=len(sizes.projects.sizes),
            months=sizes.months.newest(), sessions=sizes.largest, recent_bytes=sizes.recent_bytes,
            free_bytes=await self._files.free_bytes(),
        )  # fmt: skip

    async def agents(self, report: ReportPercentage) -> t.StorageAgentsResult:
        """Return the sizes of the folders of agents, and what the agents will delete. `report` receives progress."""
        from sessiond.hub.storage.agent_folders import AgentFolders  # it needs the code of imports

        now_ns = time.time_ns()
        folders = AgentFolders(
            self._following.agents(), self._following.environ, self._following.followed,
            (await self._following.records()).below, now_ns=now_ns,
            recent_ns=now_ns - RECENT_SECONDS * 1_000_000_000,
        )  # fmt: skip
        await step_through(folders.measure(), lambda: report(*folders.progress))
        return t.StorageAgentsResult(agents=folders.found)
