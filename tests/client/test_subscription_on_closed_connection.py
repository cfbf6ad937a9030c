"""A subscription whose connection ends while it asks lets the link notice that, and does not hold the event loop."""

import asyncio
from collections import deque
from typing import Any, cast

import pytest

from sessiond.client.subscription import Subscription
from sessiond.client.wire import DisconnectedError
from sessiond.protocol import types as t


class ClosingLink:
    """A link whose connection ends after these responses, which it notices in a later turn of the event loop."""

    def __init__(self, *responses: object) -> None:
        self.observers: set[object] = set()
        self.is_closed = False
        self._responses = deque(responses)

    async def wait_connected(self) -> None:
        """Return at once, as a link does that still has its connection."""

    async def request_connected(self, method: str, params: object) -> object:
        if not self._responses:
            raise DisconnectedError
        return self._responses.popleft()

    def decode(self, method: str, response: object, kind: type) -> object:
        return response

    def notice(self) -> None:
        self.is_closed = True


LONG: Any = t.SubscribeResult(
    mode="snapshot",
    log_id="some-log",
    from_seq=1,
    to_seq=5,
    session=cast("Any", None),
    reason=None,
    message=None,
)
"""A subscription to a session with more lines than a daemon sends again; they are asked for page by page."""


@pytest.mark.parametrize("responses", [(), (LONG,)], ids=["subscribing", "reading a page"])
async def test_an_iteration_over_a_closed_connection_ends(responses: tuple[object, ...]) -> None:
    link = ClosingLink(*responses)
    subscription = Subscription(cast("Any", link), "some-session", 0)
    asyncio.get_running_loop().call_soon(link.notice)
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)
