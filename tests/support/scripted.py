"""A daemon with one session and switchable faults: it loses connections and answers, lags, and answers with snapshots.

It simulates events that are rare in the real daemon. It keeps a log and gives the n-th entry the seq n.
"""

import asyncio
from typing import Any

import msgspec
from msgspec import UNSET

from sessiond.client.daemon import Daemon
from sessiond.client.daemon_socket import DaemonNotRunningError
from sessiond.protocol import types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.handler import Handler
from sessiond.rpc.memory import memory_pair
from sessiond.rpc.message import Head
from sessiond.server.connection.handshake import capabilities, limits
from support.rpc_peers import Recorder

SESSION = "the-session"
LOG = "the-log"
_LIMITS = limits(max_frame=1, max_clients=1)


class Scripted(Recorder):
    """Serves `client()`; the public attributes are its faults."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.away = False
        self.leaving = False
        self.dialled = 0
        self.snapshots = False
        self.loses_answer_to: str | None = None
        self.before_ack: list[tuple[str, dict[str, Any]]] = []
        self.connection: Connection | None = None

    def client(self) -> Daemon:
        return Daemon(self._dial, self._dial)

    async def _dial(self, handler: Handler[Connection]) -> Connection:
        if self.away:
            raise DaemonNotRunningError
        theirs, self.connection = memory_pair(handler, self)
        self.dialled += 1
        if self.leaving:
            self.crash()
        return theirs

    def add(self, count: int, *, tell: bool = True) -> None:
        """Append entries as another client."""
        for _ in range(count):
            seq = len(self.log) + 1
            self.log.append({"type": "custom", "id": f"e{seq}"})
            if tell:
                self.tell([seq])

    def tell(self, seqs: list[int], **more: Any) -> None:
        self.send("session/appended", self.note(seqs, **more))

    def _items(self, seqs: list[int]) -> list[dict[str, Any]]:
        return [{"seq": seq, "entry": self.log[seq - 1]} for seq in seqs]

    def note(self, seqs: list[int], **more: Any) -> dict[str, Any]:
        items = self._items(seqs)
        return {
            "sessionId": SESSION,
            "logId": LOG,
            "items": items,
            "fromSeq": seqs[0],
            "toSeq": seqs[-1],
            "leafId": None,
            **more,
        }

    def send(self, method: str, params: dict[str, Any]) -> None:
        if self.connection is not None:
            self.connection.notify(method, params)

    def crash(self) -> None:
        """End the connection without a message."""
        assert self.connection is not None
        self.connection.abort()
        self.connection = None

    def count(self, method: str) -> int:
        """The number of requests of this method."""
        return sum(name == method for name, _ in self.asked)

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        method = str(head.method)
        if not isinstance(head.id, int | str):
            return
        params = msgspec.json.decode(b"{}" if head.params is UNSET else head.params)
        self.asked.append((method, params))
        result = getattr(self, "_" + method.replace("/", "_"))(params)
        if self.loses_answer_to == method:
            self.loses_answer_to = None
            self.crash()
            return
        for note in self.before_ack if method == "session/subscribe" else ():
            connection.notify(*note)
        connection.reply(head.id, result)
        if method == "session/subscribe" and result["mode"] == "replay":
            seqs = list(range(result["fromSeq"], len(self.log) + 1))
            if seqs:
                connection.notify("session/appended", self.note(seqs, replay=True))

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        if connection is self.connection:
            self.connection = None

    def _server_hello(self, params: dict[str, Any]) -> t.HelloResult:
        return t.HelloResult(
            protocol_version=1, server_id="s", epoch="e", client_id="c", methods=[], notifications=[],
            experimental=[], capabilities=capabilities(has_command=False), access=["read", "write", "admin"],
            position_encoding="utf-32", limits=_LIMITS,
        )  # fmt: skip

    def _session_subscribe(self, params: dict[str, Any]) -> dict[str, Any]:
        to = len(self.log)
        position = params.get("after")
        known = position is not None and position["logId"] == LOG
        after = position["seq"] if position is not None and known else to
        mode = "replay" if known and not (self.snapshots and after < to) else "snapshot"
        return {
            "mode": mode,
            "logId": LOG,
            "fromSeq": after + 1,
            "toSeq": to,
            "session": _info(to),
            "reason": None,
            "message": None,
        }

    def _session_unsubscribe(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"wasSubscribed": True}

    def _session_entries(self, params: dict[str, Any]) -> dict[str, Any]:
        after = params["after"]["seq"]
        seqs = list(range(after + 1, min(after + 3, len(self.log)) + 1))
        return {"logId": LOG, "items": self._items(seqs)}

    def _session_append(self, params: dict[str, Any]) -> dict[str, Any]:
        known = {entry["id"] for entry in self.log}
        self.log += [draft for draft in params["entries"] if draft["id"] not in known]
        statuses = ["duplicate" if draft["id"] in known else "created" for draft in params["entries"]]
        entries = [
            {"id": draft["id"], "seq": 1, "status": status}
            for draft, status in zip(params["entries"], statuses, strict=True)
        ]
        return {"leafId": None, "logId": LOG, "lastSeq": len(self.log), "entries": entries, "branched": False}

    def _session_close(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"clientCount": 0, "trashId": None, "trashPath": None}

    def _session_rename(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"recordId": "x", "logId": LOG, "seq": 1, "session": _info(1)}


async def taken(entries: Any, count: int) -> list[str]:
    """The ids of the next `count` entries of a subscription."""
    async with asyncio.timeout(5):
        return [(await anext(entries))["id"] for _ in range(count)]


def _info(seq: int) -> dict[str, Any]:
    unknown = dict.fromkeys(["path", "title", "firstPrompt", "leafId", "parentSessionId", "parentPath"])
    counts = {"messageCount": 0, "entryCount": 0, "sizeBytes": 0, "lastSeq": seq}
    kind = {"tags": [], "isDraft": False, "readOnly": False}
    return {"sessionId": SESSION, "cwd": "/", "createdAt": "", "updatedAt": "", **unknown, **counts, **kind}
