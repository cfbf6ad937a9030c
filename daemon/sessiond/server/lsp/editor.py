"""One editor: its capabilities, its options, and how features are registered."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pygls.exceptions import JsonRpcException
from pygls.lsp._capabilities import get_capability
from pygls.lsp.server import LanguageServer

from sessiond.hub.hub import Hub
from sessiond.protocol import methods as m, types as t
from sessiond.server import errors
from sessiond.server.connection.client import Client
from sessiond.server.lsp.documents import Documents

P = TypeVar("P")
Q = TypeVar("Q", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)


class Refused(JsonRpcException):
    """Raised to fail a request with the daemon's error for `error`. `data` is an `ErrorData`."""

    def __init__(self, error: Exception) -> None:
        code, message, data = errors.explain(error)
        super().__init__(message=message, code=code, data=data)


class Editor:
    """The editor at the other end of a client's connection."""

    def __init__(self, server: LanguageServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.hub: Hub = client.hub
        self.documents = Documents(client.hub)
        self.options = client.lsp_options

    def declares(self, capability: str) -> Any:
        """Return the value that the editor declares for a capability, or None.

        Args:
            capability: The name of lsprotocol, with dots.

        """
        declared: Any = get_capability(self.server.client_capabilities, capability, None)
        return declared

    def can(self, capability: str) -> bool:
        """Return whether the editor declares a capability."""
        return bool(self.declares(capability))

    def offer(self, method: str, answer: Callable[[P], Awaitable[Any]], options: Any = None) -> None:
        """Register the handler of a method. Its exceptions become errors as everywhere (`server.errors`)."""

        async def answered(params: Any) -> Any:
            return await self.translating_errors(answer(params))

        self.server.feature(method, options)(answered)

    async def translating_errors(self, work: Awaitable[Any]) -> Any:
        """Return the result of some work. Raises `Refused` for its exceptions."""
        try:
            return await work
        except (asyncio.CancelledError, JsonRpcException):
            raise
        except Exception as error:
            raise Refused(error) from error

    async def ask(self, method: m.Method[Q, R], params: Q) -> R:
        """Call one of the daemon's own methods on behalf of the editor, and return its result."""
        answer: R = await self.client.dispatcher.ask(self.client.server.routes[method.name], params)
        return answer
