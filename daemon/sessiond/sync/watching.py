"""Keeps two daemons together: a sync at each change of either, until the connection ends."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from sessiond.client.daemon import Daemon
from sessiond.client.wire import DisconnectedError
from sessiond.sync.report import SyncReport

_SETTLE_SECONDS: Final = 0.1
_INTERVAL_MS: Final = 200


async def keep_together(
    here: Daemon,
    there: Daemon,
    synchronize: Callable[[], Awaitable[SyncReport]],
    report: Callable[[SyncReport], None],
    *,
    drafts: bool,
) -> None:
    """Synchronize now and at each change of a list of sessions. Returns only by an exception.

    Args:
        here: The daemon of this machine.
        there: The other one.
        synchronize: Makes one sync.
        report: Called after each sync that changed something.
        drafts: Whether draft sessions are watched, too.

    Raises:
        DisconnectedError: The connection to the other side ended.
        RpcError: A daemon refused a request that every session needs.
    """
    changed = asyncio.Event()

    async def watch(daemon: Daemon) -> None:
        async with daemon.watch_list(include_drafts=drafts, interval_ms=_INTERVAL_MS) as changes:
            async for _ in changes:
                changed.set()
        raise DisconnectedError

    async def sync_again() -> None:
        while True:
            changed.clear()
            done = await synchronize()
            if done.has_changes:
                report(done)
            await changed.wait()
            await asyncio.sleep(_SETTLE_SECONDS)

    tasks = [asyncio.ensure_future(coroutine) for coroutine in (watch(here), watch(there), sync_again())]
    try:
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in finished:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
