"""The server of `sessiond view`, with requests like those of its page, and requests of other programs."""

import http.client
import json  # noqa: TID251 - read as a browser reads it
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.commands import Shell, a_shell

PATIENCE = 120.0


@dataclass(frozen=True)
class Got:
    """A complete answer."""

    status: int
    headers: Message
    body: bytes


@dataclass(frozen=True)
class Asker:
    """Sends requests to a server that printed an address."""

    address: str

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).fragment)["token"][0]

    @contextmanager
    def asking(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """A request. The names of headers have `_` in place of `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            with connection.getresponse() as response:
                yield response

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Got:
        with self.asking(method, path, body, **headers) as response:
            return Got(response.status, response.headers, response.read())

    def asking_for_rows(self, **message: Any) -> "Any":
        """A request of the script of the page; its message has the token, or the key of the page."""
        origin = f"http://127.0.0.1:{self.port}"
        return self.asking(
            "POST", "/events", json.dumps(message).encode(), Origin=origin, Sec_Fetch_Site="same-origin"
        )

    def refusal(self, **message: Any) -> int:
        """The status of the answer to a message that does not open the page."""
        with self.asking_for_rows(**message) as response:
            status: int = response.status
            assert response.headers["Set-Cookie"] is None
            return status

    @contextmanager
    def reading(self, **message: Any) -> "Iterator[Lines]":
        """The messages of the server to a page that it accepts."""
        with self.asking_for_rows(**message) as response:
            assert response.status == 200, response.read()
            lines = Lines(response)
            lines.keys = lines.next()
            yield lines


class Lines:
    """The messages of a server; the first one has the keys."""

    keys: dict[str, str]

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._response.readline())
        return found

    def previews(self) -> list[str]:
        """The rows of the next message, as the tree shows them."""
        return [row["preview"] for row in self.next()["rows"]]


@dataclass(frozen=True)
class Viewed(Asker):
    """A running viewer, and its session."""

    shell: Shell
    session: str
    process: Any

    def say(self, role: str, text: str) -> str:
        return self.shell("append", self.session, f"--{role}", text).lines[-1]


@contextmanager
def a_view(folder: Path, *words: str, **more: str) -> Iterator[Viewed]:
    with a_shell(folder) as shell:
        session = shell("new", "--title", "Live").lines[0]
        shell("append", session, "--user", "Why?", "--assistant", "A race.")
        with viewing(shell, session, *(words or ("--no-open",)), **more) as viewed:
            yield viewed


@contextmanager
def viewing(shell: Shell, session: str, *words: str, **more: str) -> Iterator[Viewed]:
    """A viewer of a session that exists."""
    with shell.start("view", session, *words, **more) as process:
        try:
            assert process.stdout is not None
            yield Viewed(process.stdout.readline().strip(), shell, session, process)
        finally:
            process.terminate()
            process.communicate(timeout=60)
