"""Answers `usage/report`: asks the index for sums, and prices those whose agent recorded no cost."""

import asyncio
from typing import TYPE_CHECKING

from sessiond.hub.index.index import Index
from sessiond.hub.index.period import time_of
from sessiond.protocol import types as t

if TYPE_CHECKING:
    import sqlite3

    from sessiond.hub.index.usage_table import Model
    from sessiond.hub.usage.prices import PriceBook, PriceList
    from sessiond.hub.usage.report import Sums


class UsageReports:
    """Makes reports of usage.

    Prices are looked up in a child process, once for each model. Its modules are loaded with the first report.

    Args:
        index: The index of the sessions.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._book: PriceBook | None = None

    async def report(self, params: t.UsageReportParams) -> t.UsageReportResult:
        """Return a report.

        Raises:
            IncompatibleParams: A time or the time zone cannot be read.
            StorageFailed: The index cannot be read.
            ChildFailed: The prices cannot be looked up.
        """
        if self._book is None:
            self._book = await asyncio.to_thread(_new_book)
        from sessiond.hub.usage import report  # loaded in the thread by now

        book = self._book
        since = None if params.since is None else time_of(params.since)
        until = None if params.until is None else time_of(params.until)

        def read(connection: "sqlite3.Connection", asked: t.UsageReportParams) -> "Sums":
            return report.read(connection, asked, since, until, book)

        while True:
            sums, uncounted = await self._index.usage(params, read)
            unpriced = sums.unpriced()
            if not unpriced:
                return await asyncio.to_thread(report.made, sums, params, book, uncounted)
            # Prices that another report looked up meanwhile need only be read.
            if unknown := [it for it in unpriced if not book.has(it)]:
                book.add(await _looked_up(unknown))


def _new_book() -> "PriceBook":
    from sessiond.hub.usage import report  # noqa: F401 - loaded here, in a thread
    from sessiond.hub.usage.prices import PriceBook

    return PriceBook()


async def _looked_up(models: "list[Model]") -> "PriceList":
    from sessiond.hub.execution.child_process import run_in_child_process
    from sessiond.hub.usage.price_lookup import look_up

    return await run_in_child_process(look_up, models)
