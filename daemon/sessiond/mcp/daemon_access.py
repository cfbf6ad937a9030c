"""The connection to the daemon that tools use: made with the first call, and made again after the daemon restarted."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

from sessiond.mcp.errors import DaemonError

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.mcp.quoting import CleanText

_LONGEST: Final = 200_000
"""Characters of a text beyond which the rest is left out. An entry of that length has its own tool calls for parts."""


class DaemonAccess:
    """Connects to the daemon of this user on the first use. The client is imported then, since most agents never call.

    Args:
        name: The name of this program in `sessiond clients`.
    """

    def __init__(self, name: str = "mcp") -> None:
        self.name = name
        self._stack = contextlib.AsyncExitStack()
        self._connecting = asyncio.Lock()
        self._daemon: Daemon | None = None

    async def daemon(self) -> "Daemon":
        """Return the daemon. Raises `DaemonError` if it cannot be reached."""
        async with self._connecting:
            if self._daemon is None:
                from sessiond.client.daemon import connect

                with reported_errors():
                    self._daemon = await self._stack.enter_async_context(connect(name=self.name))
            return self._daemon

    async def cleaned(self, texts: Sequence[str | None]) -> "list[CleanText]":
        """Return texts of transcripts without secrets and without control characters, in their order.

        Pass whole texts: a part of a secret is not recognized. None becomes an empty text.
        """
        from sessiond.session.content.preview import clean

        whole = [clean((text or "")[:_LONGEST]) for text in texts]
        if not any(whole):
            return cast("list[CleanText]", whole)
        daemon = await self.daemon()
        with reported_errors():
            return cast("list[CleanText]", (await daemon.redact(whole)).texts)

    async def close(self) -> None:
        """End the connection. The daemon stays."""
        await self._stack.aclose()


@contextlib.contextmanager
def reported_errors() -> Iterator[None]:
    """Raise `DaemonError` for a request that the daemon refuses, and for a daemon that cannot be reached."""
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.wire import DisconnectedError, InvalidResponseError, RpcError

    try:
        yield
    except (RpcError, DaemonConnectionError, DisconnectedError, InvalidResponseError) as error:
        raise DaemonError(str(error)) from error


ReportProgress = Callable[[int, int, str], Awaitable[None]]
"""Reports the progress of a call: steps done, steps in all, and a sentence."""
