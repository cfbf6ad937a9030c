"""Answers `usage/report`: asks the index for sums, and prices those whose agent recorded no cost."""

import asyncio

from sessiond.hub.execution.child_process import run_in_child_process
from sessiond.hub.index.index import Index
from sessiond.hub.index.period import time_of
from sessiond.hub.index.worker import Worker
from sessiond.hub.usage import report
from sessiond.hub.usage.price_lookup import look_up
from sessiond.hub.usage.prices import PriceBook
from sessiond.protocol import types as t


class UsageReports:
    """Makes reports of usage.

    Prices are looked up in a child process, once for each model.

    Args:
        index: The index of the sessions.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._book = PriceBook()

    async def report(self, params: t.UsageReportParams) -> t.UsageReportResult:
        """Return a report.

        Raises:
            IncompatibleParams: A time or the time zone cannot be read.
            StorageFailed: The index cannot be read.
            ChildFailed: The prices cannot be looked up.
        """
        book = self._book
        since = None if params.since is None else time_of(params.since)
        until = None if params.until is None else time_of(params.until)

        def read(worker: Worker) -> report.Sums:
            return report.read(worker.database.connection, worker.resolved(params), since, until, book)

        while True:
            sums, uncounted, _ = await self._index.ask_indexed(read, params.wait_ms)
            unpriced = sums.unpriced()
            if not unpriced:
                return await asyncio.to_thread(report.made, sums, params, book, uncounted)
            # Prices that another report has looked up meanwhile are only read.
            if unknown := [model for model in unpriced if not book.has(model)]:
                book.add(await run_in_child_process(look_up, unknown))
