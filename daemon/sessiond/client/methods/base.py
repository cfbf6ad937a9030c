"""Calls a method: encodes its params, decodes its result, and repeats the request if that is safe."""

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from sessiond.client.commands import new_command_id
from sessiond.client.link import DaemonLink
from sessiond.protocol import methods as m, types as t

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
S = TypeVar("S", bound=msgspec.Struct)

ONCE: Final = 1
TWICE: Final = 2

IDEMPOTENT = frozenset(
    method.name
    for method in (
        m.LIST, m.RESOLVE, m.SEARCH, m.RECALL, m.INFO, m.STATS, m.COMPARE, m.ENTRIES, m.PATH, m.TREE, m.LABELS,
        m.CONTEXT, m.PREPARE_COMPACTION, m.PREPARE_BRANCH, m.STATE_GET, m.FLUSH, m.VIEW_PAGE, m.VIEW_ENTRY,
        m.HISTORY_LIST, m.BLOB_PUT, m.BLOB_GET, m.TRASH_LIST, m.STATUS, m.CLIENTS,
        m.AGENT_LIST, m.AGENT_WAKE, m.REDACT, m.SYNC_POSITIONS, m.SYNC_IDS, m.SYNC_LINES, m.SYNC_PUT, m.BLOB_MISSING,
    )
)  # fmt: skip
"""Requests that have no effect, or no further effect when repeated. They are repeated after a lost response."""


def with_command_id(params: P) -> P:
    """Return the params with a `commandId`, if they take one and nothing else makes the request repeatable.

    Each repetition of the request has the same one.
    """
    if "command_id" not in params.__struct_fields__ or getattr(params, "command_id", None) is not None:
        return params
    if isinstance(params, t.StateUpdateParams | t.StateBeginTaskParams) and params.id is not None:
        return params
    named: Any = {"command_id": new_command_id()}
    return msgspec.structs.replace(params, **named)


class Methods:
    """The base of the topics: sends a request and decodes its result."""

    _link: DaemonLink

    async def call(
        self, method: m.Method[P, R], params: P, *, timeout: float | None = None, attempts: int | None = None
    ) -> R:
        """Call any method of the table.

        A request that writes gets a `commandId`, unless `params` has one. If the connection ends before the response,
        the request is sent again over a new one.

        Args:
            method: The method, one of `sessiond.protocol.methods`.
            params: Its params.
            timeout: Seconds until the request is canceled; None waits without a limit.
            attempts: How often the request is sent at most. Default: twice if a repeat has no further effect, else
                once.

        Returns:
            The decoded result.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in the last attempt.
            InvalidResponseError: The result is not of the method's type.
            TimeoutError: There was no response in `timeout` seconds.
        """
        result = await self._request(method, params, timeout, attempts)
        return self._link.decode(method.name, result, method.result)

    async def _decoded(self, method: m.Method[P, R], params: P, into: type[S]) -> S:
        return self._link.decode(method.name, await self._request(method, params), into)

    async def _request(
        self, method: m.Method[P, R], params: P, timeout: float | None = None, attempts: int | None = None
    ) -> Raw:
        params = with_command_id(params)
        is_safe = method.name in IDEMPOTENT or "command_id" in params.__struct_fields__
        attempts = attempts or (TWICE if is_safe else ONCE)
        return await self._link.request(method.name, params, timeout=timeout, attempts=attempts)
