"""A subscription whose connection ends while it asks lets the link notice that, and does not hold the event loop."""

import asyncio
from typing import Any, cast

import pytest

from sessiond.client.subscription import Subscription
from sessiond.client.wire import DisconnectedError


class ClosingLink:
    """A link whose connection is closed, which it notices in a later turn of the event loop."""

    def __init__(self) -> None:
        self.observers: set[object] = set()
        self.is_closed = False

    async def wait_connected(self) -> None:
        """Return at once, as a link does that still has its connection."""

    async def request_connected(self, method: str, params: object) -> bytes:
        raise DisconnectedError

    def notice(self) -> None:
        self.is_closed = True


async def test_an_iteration_over_a_closed_connection_ends() -> None:
    link = ClosingLink()
    subscription = Subscription(cast("Any", link), "some-session", 0)
    asyncio.get_running_loop().call_soon(link.notice)
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)


async def test_a_page_that_a_closed_connection_does_not_return_is_not_asked_for_without_end() -> None:
    link = ClosingLink()
    subscription = Subscription(cast("Any", link), "some-session", 0)
    subscription._subscribed, subscription._read_up_to = True, 5
    asyncio.get_running_loop().call_soon(link.notice)
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)
