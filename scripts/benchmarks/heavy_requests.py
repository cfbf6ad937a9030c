"""Requests that cost the daemon much work, each kind by its name, and the sessions that they use."""

import itertools
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
from scripts.benchmarks.session_files import assistant_message, session_name, user_message, write_session

BATCH = 30_000_000
"""Bytes of a large append."""
_BIG, _DEEP = "bench-heavy-big", "bench-heavy-deep"
_FOREIGN_ID = "11111111-2222-4333-8444-555555555555"


class Asker:
    """A connection on which heavy requests are sent, one at a time. Responses are read and not decoded."""

    def __init__(self, path: str) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.connect(path)
        self._buffer = bytearray()

    def close(self) -> None:
        self._sock.close()

    def send(self, method: str, params: object, **id: int) -> None:
        body = msgspec.json.encode({"jsonrpc": "2.0", **id, "method": method, "params": params})
        self._sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, **params: object) -> bytes:
        """The body of the response. Raises RuntimeError if the daemon refuses."""
        self.send(method, params, id=1)
        while True:
            body = self._body()
            if b'"id":1,' in body[:60] and b'"method"' not in body[:60]:
                break
        if b'"error"' in body[:60]:
            raise RuntimeError(f"{method} was refused: {body!r:.300}")
        return body

    def _body(self) -> bytes:
        buffer = self._buffer
        while (head := buffer.find(b"\r\n\r\n")) < 0:
            self._receive()
        length = int(buffer[:head].split(b":")[1].split(b"\r")[0])
        while len(buffer) < head + 4 + length:
            self._receive()
        body = bytes(memoryview(buffer)[head + 4 : head + 4 + length])
        del buffer[: head + 4 + length]
        return body

    def _receive(self) -> None:
        piece = self._sock.recv(1 << 20)
        if not piece:
            raise ConnectionError("the daemon closed the connection")
        self._buffer += piece


Heavy: TypeAlias = Callable[[Asker], None]


class HeavyRequests:
    """Writes a session of many short entries with branches, one with a single deep path, and 200 small ones."""

    def __init__(self, home: Path, folder: Path, entries: int) -> None:
        self._folder = folder
        self._entries = entries
        self._numbers = itertools.count()
        sessions = home / "data/sessions/--tmp--"
        self._path = sessions / session_name(_BIG)
        write_session(self._path, _BIG, entries, mean_text=200)
        write_session(sessions / session_name(_DEEP), _DEEP, entries, mean_text=100, branch_every=0)
        for number in range(200):
            name = f"bench-heavy-{number:04}"
            write_session(sessions / session_name(name), name, 100)
        self._foreign = _claude_code(entries // 5)

    def kinds(self) -> dict[str, Heavy]:
        """The kinds of heavy requests; those that open sessions or fill indexes come first."""
        batch = [{"type": "custom", "customType": "bench", "data": "x" * 3_000}] * (BATCH // 3_060)
        large = [{"type": "custom", "customType": "bench", "data": ["x" * 300] * (BATCH // 304)}]
        left = f"{self._entries // 2:08x}"
        return {
            "first list (index)": asked("session/list", limit=1_000),
            "open": asked("session/open", path=str(self._path)),
            "pages of 10,000": self._pages,
            "context": asked("session/context", sessionId=_DEEP),
            "context for openai": asked("session/context", sessionId=_DEEP, format="openai"),
            "explained context": asked("session/context", sessionId=_DEEP, explain=True),
            "export html": partial(self._export, "html"),
            "export markdown": partial(self._export, "markdown"),
            "export jsonl": partial(self._export, "jsonl"),
            "batch of 30 MB": partial(self._append, batch),
            "entry of 30 MB": partial(self._append, large),
            "import": self._import,
            "fork": self._fork,
            "tree": self._tree,
            "stats": asked("session/stats", sessionId=_BIG),
            "compare": asked("session/compare", sessionId=_BIG, leftId=left),
            "prepareCompaction": asked("session/prepareCompaction", sessionId=_DEEP),
            "search": asked("session/search", query="code line"),
            "page": asked("view/page", sessionId=_BIG),
            "doctor": asked("server/doctor"),
            "documentSymbol": self._symbols,
        }

    def _pages(self, asker: Asker) -> None:
        cursor: str | None = None
        for _ in range(20):
            body = asker.ask("session/entries", sessionId=_BIG, limit=10_000, cursor=cursor)
            behind = body[-40:].rpartition(b'"nextCursor":')[2].partition(b",")[0]
            cursor = msgspec.json.decode(behind.rstrip(b"}"))
            if cursor is None:
                return

    def _export(self, format: str, asker: Asker) -> None:
        target = self._folder / f"export-{next(self._numbers)}"
        # Looking for secrets takes minutes, in the same process as the rest of the export.
        asker.ask("session/export", sessionId=_BIG, format=format, path=str(target), redact=False)
        target.unlink()

    def _append(self, drafts: Sequence[object], asker: Asker) -> None:
        name = f"bench-batch-{next(self._numbers)}"
        asker.ask("session/create", cwd="/tmp", id=name)
        asker.ask("session/append", sessionId=name, entries=drafts)
        asker.ask("session/delete", sessionId=name)

    def _import(self, asker: Asker) -> None:
        number = next(self._numbers)
        copy = self._folder / f"foreign-{number}.jsonl"
        session = f"11111111-2222-4333-8444-{number:012}"
        copy.write_bytes(self._foreign.replace(_FOREIGN_ID.encode(), session.encode()))
        asker.ask("session/import", path=str(copy))
        copy.unlink()

    def _fork(self, asker: Asker) -> None:
        body = asker.ask("session/fork", sessionId=_DEEP)
        forked = msgspec.json.decode(body)["result"]["session"]["sessionId"]
        asker.ask("session/delete", sessionId=forked)

    def _tree(self, asker: Asker) -> None:
        asker.ask("session/tree", sessionId=_BIG, limit=10_000)
        asker.ask("session/tree", sessionId=_BIG, limit=10_000, query="code")
        asker.ask("session/tree", sessionId=_DEEP, limit=10_000)

    def _symbols(self, asker: Asker) -> None:
        asker.ask("initialize", processId=None, rootUri=None, capabilities={})
        asker.send("initialized", {})
        asker.ask("textDocument/documentSymbol", textDocument={"uri": self._path.as_uri()})


def asked(method: str, **params: object) -> Heavy:
    """A heavy request that consists of one request, whose result is ignored."""

    def heavy(asker: Asker) -> None:
        asker.ask(method, **params)

    return heavy


def _claude_code(count: int) -> bytes:
    """A session file of Claude Code with this number of messages."""
    lines = []
    for number in range(count):
        is_user = number % 2 == 0
        text = f"{number} " + "a line of text " * 40
        said = assistant_message(text) | {"model": "x", "id": f"m{number}"}
        line = {
            "type": "user" if is_user else "assistant", "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None, "sessionId": _FOREIGN_ID, "cwd": "/tmp",
            "version": "2.1.0", "isSidechain": False, "timestamp": "2026-01-01T00:00:46.000Z",
            "message": user_message(text) if is_user else said,
        }  # fmt: skip
        lines.append(msgspec.json.encode(line) + b"\n")
    return b"".join(lines)
