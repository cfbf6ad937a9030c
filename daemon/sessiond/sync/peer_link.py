"""The connection to the other side of a sync: nothing that it answers is taken on trust, and it may not keep silent."""

import asyncio
from typing import Final, TypeVar

from msgspec import Raw

from sessiond.client.daemon import Daemon
from sessiond.client.link import DaemonLink, Dial
from sessiond.client.wire import DisconnectedError, InvalidResponseError, RpcError
from sessiond.error_text import TemplatedError
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.session.content.blobs import PREFIX, hash_of
from sessiond.sync.answers import fault_of

R = TypeVar("R")
P = TypeVar("P", bound=t.Wire)
S = TypeVar("S", bound=t.Wire)

ANSWER_SECONDS: Final = 30.0
"""Seconds without a sign of life after which the other side is given up."""
_LONGEST: Final = 20
"""How many times as long the other side may give signs of life, and no answer."""
_LEAST_BYTES: Final = 16 * 1024
"""Bytes in half of the seconds that are a sign of life: large answers over slow lines arrive in pieces."""

_FIRST_BYTES: Final = 80


class WrongAnswerError(InvalidResponseError):
    """Raised when the other side of a sync answers what no sessiond answers. `reason` says what."""


class SilentPeerError(TemplatedError):
    """The reason of a connection that this end closed, because the other side did not answer."""

    sentence = "it has not answered {method} for {seconds:.3g} seconds"

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(method=method, seconds=seconds)


class CountedConnection(Connection):
    """A connection that counts the bytes which move over it. `first_bytes` are the first of those received."""

    first_bytes = b""
    _sent = 0
    _received = 0

    def data_received(self, data: bytes) -> None:
        """Count the bytes, and deliver them."""
        if not self._received:
            self.first_bytes = data[:_FIRST_BYTES]
        self._received += len(data)
        super().data_received(data)

    def send_body(self, body: bytes) -> None:
        """Count the bytes, and send them."""
        self._sent += len(body)
        super().send_body(body)

    @property
    def moved_bytes(self) -> int:
        """The bytes that were received, and those sent that the command has taken."""
        return self._received + self._sent - self.queued_bytes


class PeerLink(DaemonLink):
    """A link to the other side.

    Args:
        dial: Makes the connection.
        hello: The params of the handshake.
        name: The name of the other side, which precedes its errors.
        seconds: Seconds without a sign of life after which the connection is closed with a `SilentPeerError`.
    """

    handshake_seconds = None  # a person may have to type a password before it

    def __init__(self, dial: Dial, hello: t.HelloParams, name: str, seconds: float) -> None:
        super().__init__(dial, dial, hello, {})
        self._name = name
        self._seconds = seconds
        self._answer_count = 0

    async def request(self, method: str, params: object, *, timeout: float | None, attempts: int) -> Raw:
        """Return the result of a request, as `DaemonLink.request` does.

        Raises:
            RpcError: The other side refused the request. The message begins with its name.
            WrongAnswerError: It answered with an error that is not of sessiond.
            DisconnectedError: The connection was lost, or closed because the other side was silent.
        """
        asking = asyncio.ensure_future(super().request(method, params, timeout=timeout, attempts=attempts))
        try:
            await self._until_answered(asking, method)
            result = await asking
        except RpcError as error:
            if not error.kind:
                raise WrongAnswerError(
                    f"the error of {method} is wrong: {error.message.rstrip('.'):.200}"
                ) from None
            raise RpcError(error.code, f"{self._name}: {error.message}", error.data) from None
        finally:
            asking.cancel()
        self._answer_count += 1
        return result

    def decode(self, method: str, result: Raw, into: type[R]) -> R:
        """Decode the result of a method. Raises `WrongAnswerError`."""
        try:
            return super().decode(method, result, into)
        except InvalidResponseError as error:
            raise WrongAnswerError(error.reason) from None

    async def _until_answered(self, asking: asyncio.Future[Raw], method: str) -> None:
        """Wait for the end of a request. If the other side shows no sign of life, close the connection."""
        clock = asyncio.get_running_loop().time
        half, count, answered_at = self._seconds / 2, self._answer_count, clock()
        while True:
            moved = self._moved_bytes()
            done, _ = await asyncio.wait([asking], timeout=half)
            if done:
                return
            if self._answer_count != count:
                count, answered_at = self._answer_count, clock()
                continue
            if clock() - answered_at < _LONGEST * self._seconds and (
                self._moved_bytes() - moved >= _LEAST_BYTES or await self._responds(half)
            ):
                continue
            if not asking.done() and isinstance(self._connection, Connection):
                self._connection.abort(SilentPeerError(method, clock() - answered_at))
            return

    async def _responds(self, seconds: float) -> bool:
        """Return whether the other side answers the smallest request: it may be busy with a large one."""
        try:
            await super().request(m.STATUS.name, t.StatusParams(), timeout=seconds, attempts=1)
        except RpcError:
            return True
        except (TimeoutError, DisconnectedError):
            return False
        return True

    def _moved_bytes(self) -> int:
        return self._connection.moved_bytes if isinstance(self._connection, CountedConnection) else 0


class PeerDaemon(Daemon):
    """The daemon of the other side. Each answer is checked against its request.

    All methods raise `WrongAnswerError` for an answer that does not fit its request, and as `PeerLink.request` does.
    """

    def __init__(self, dial: Dial, hello: t.HelloParams, name: str, seconds: float) -> None:
        self._link = PeerLink(dial, hello, name, seconds)

    async def call(
        self, method: m.Method[P, S], params: P, *, timeout: float | None = None, attempts: int | None = None
    ) -> S:
        """Call a method, and check that its result fits."""
        answer = await super().call(method, params, timeout=timeout, attempts=attempts)
        fault = fault_of(params, answer)
        if fault is not None:
            raise WrongAnswerError(f"the result of {method.name} is wrong: {fault}")
        return answer

    async def get_blob(self, name: str) -> bytes:
        """Return a whole blob, and check that it is the one with this hash."""
        data = await super().get_blob(name)
        if hash_of(data) != name.removeprefix(PREFIX):
            raise WrongAnswerError(f"the blob {name:.80} has other bytes than its hash says")
        return data
