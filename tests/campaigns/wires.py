"""A client as bytes: what load and soak attach by the hundred, and what behaves as no good client would.

It speaks the wire by itself, so that a fault of the product's own client hides nothing; answers are counted.
"""

import asyncio
import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import time
from collections import Counter
from typing import Any, Self

from campaigns.campaign import Broken, hold
from campaigns.daemons import PATIENCE, Home
from support.columns import seqs_of

_CHUNK = 1 << 18


class Refused(Exception):
    """The daemon answered with an error of this kind."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.kind: str = error["data"]["kind"]


class Gone(Exception):
    """The daemon ended the connection; what was not answered may have been done or not."""


class Wire:
    """One connection; `async with await Wire.to(home)`. It reads all the time, unless `reads` is cleared."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.seqs: list[int] = []
        """Of every line that this client was told of, in order of arrival."""
        self.lagged: dict[str, int] = {}
        self.complaints: list[str] = []
        """Kinds of errors that answered no request."""
        self.answers: Counter[int] = Counter()
        self.latencies: list[float] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self._something = asyncio.Event()
        self._reader = reader
        self._calls: dict[int, tuple[asyncio.Future[Any], float]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def to(cls, home: Home) -> Self:
        """Attach. The system may be busy with others who connect: they are asked again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return cls(*await asyncio.open_unix_connection(home.locations.socket, limit=_CHUNK))
            except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.01)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    def send(self, method: str, params: dict[str, Any]) -> "asyncio.Future[Any]":
        """A request; its answer comes when it does."""
        number = len(self.answers) + len(self._calls) + 1
        while number in self._calls or number in self.answers:
            number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._reading.done():
            answer.set_exception(Gone())
            return answer
        self._calls[number] = (answer, time.perf_counter())
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return answer

    async def call(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises `Refused`, `Gone`; `Broken` when nobody answers."""
        answer = self.send(method, params)
        try:
            async with asyncio.timeout(PATIENCE):
                await self.writer.drain()
                return await answer
        except ConnectionError as error:
            raise Gone from error
        except TimeoutError as error:
            raise Broken(f"{method} was not answered within {PATIENCE:.0f} s") from error

    @property
    def unanswered(self) -> int:
        return len(self._calls)

    async def leave(self) -> None:
        """Hang up."""
        self._reading.cancel()
        self.writer.transport.abort()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading

    async def told(self) -> None:
        """Return when something has come in, or nothing more will."""
        self._something.clear()
        waiting = asyncio.create_task(self._something.wait())
        await asyncio.wait([waiting, self._reading], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        hold(not self._reading.done(), "the daemon hung up")

    async def ended(self) -> None:
        """Return when the daemon has hung up."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([self._reading])

    async def _read(self) -> None:
        try:
            while True:
                await self.reads.wait()
                header = await self._reader.readuntil(b"\r\n\r\n")
                body = await self._reader.readexactly(int(header[16:-4]))
                self._take(json.loads(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for answer, _ in self._calls.values():
                if not answer.done():
                    answer.set_exception(Gone())
                    answer.exception()  # whoever does not wait for it any more need not hear of it

    def _take(self, message: dict[str, Any]) -> None:
        self._something.set()
        if message.get("method") == "session/appended":
            self.seqs += seqs_of(message["params"])
        elif message.get("method") == "session/lagged":
            self.lagged[message["params"]["sessionId"]] = message["params"]["lastSeq"]
        elif "method" in message:
            return
        elif message["id"] is None:
            self.complaints.append(message["error"]["data"]["kind"])
        else:
            self._settle(message)

    def _settle(self, message: dict[str, Any]) -> None:
        number = message["id"]
        self.answers[number] += 1
        hold(self.answers[number] == 1, f"request {number} was answered twice")
        answer, began = self._calls.pop(number)
        self.latencies.append(time.perf_counter() - began)
        if answer.done():
            return
        if "error" in message:
            answer.set_exception(Refused(message["error"]))
        else:
            answer.set_result(message["result"])


def message(text: str, entry_id: str) -> dict[str, Any]:
    """A draft of a user message."""
    return {"type": "message", "id": entry_id, "message": {"role": "user", "content": text}}


def reply(text: str, entry_id: str) -> dict[str, Any]:
    """A draft of an assistant message, which makes a session of a draft."""
    content = [{"type": "text", "text": text}]
    said = {"role": "assistant", "content": content, "provider": "x", "model": "y", "stopReason": "stop"}
    return {"type": "message", "id": entry_id, "message": said}
