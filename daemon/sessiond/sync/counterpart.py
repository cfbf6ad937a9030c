"""The calls of a sync to each of its two sides: a daemon, or a bundle in place of one."""

from typing import Protocol, TypeVar

from sessiond.protocol import methods as m, types as t

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)


class Counterpart(Protocol):
    """A store with the methods of a sync. A bundle has those of the direction in which it is used."""

    async def call(self, method: m.Method[P, R], params: P) -> R:
        """Return the result of a method. Raises `RpcError`."""

    async def get_blob(self, name: str) -> bytes:
        """Return a whole blob. Raises `RpcError`."""

    async def put_blob(self, data: bytes) -> t.BlobPutResult:
        """Store a blob."""
