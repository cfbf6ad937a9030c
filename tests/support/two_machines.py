"""Two daemons in this process with separate homes, and clients of both: `here` and `there`."""

import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sessiond.client.daemon import Daemon
from sessiond.rpc.connection import Connection
from sessiond.rpc.handler import Handler
from sessiond.rpc.memory import memory_pair
from sessiond.server.connection.client import Client
from sessiond.session.union.comparable import lines_in
from sessiond.sync.options import SyncOptions
from sessiond.sync.report import SyncReport
from sessiond.sync.run import synchronize
from support.daemons import Peer, Running, assistant, running, user
from support.disk import Disk


@dataclass
class Machine:
    """A daemon, and two kinds of clients."""

    running: Running
    daemon: Daemon
    peer: Peer

    async def talk(self, cwd: str = "/work/p", *texts: str, **params: Any) -> str:
        """A new session with an answer. Returns its id."""
        made = await self.peer.call("session/create", cwd=cwd, **params)
        session_id: str = made["session"]["sessionId"]
        await self.peer.append(session_id, user("hello"), assistant("hi"), *map(user, texts))
        return session_id

    async def say(self, session_id: str, *texts: str) -> list[str]:
        made = await self.peer.append(session_id, *map(user, texts))
        return [entry["id"] for entry in made["entries"]]

    async def info(self, session_id: str) -> dict[str, Any]:
        found = await self.peer.call("session/info", sessionId=session_id)
        return dict(found["session"])

    async def lines(self, session_id: str) -> frozenset[bytes]:
        page = await self.peer.call("sync/lines", sessionId=session_id)
        return frozenset(lines_in(base64.b64decode(page["lines"])))

    async def ids(self, **params: Any) -> set[str]:
        found = await self.peer.call("session/list", **params)
        return {session["sessionId"] for session in found["sessions"]}

    async def delete(self, session_id: str) -> str:
        gone = await self.peer.call("session/delete", sessionId=session_id)
        return str(gone["trashId"])


@dataclass
class Machines:
    """Two machines with a daemon each."""

    here: Machine
    there: Machine

    async def sync(self, **options: Any) -> SyncReport:
        return await synchronize(
            self.here.daemon, self.there.daemon, replace(SyncOptions(name="there"), **options)
        )

    async def are_same(self, session_id: str) -> bool:
        """Whether both machines have the same lines and return the same information about the session."""
        mine, theirs = await self.here.info(session_id), await self.there.info(session_id)
        same = [
            name
            for name in ("leafId", "title", "tags", "isDraft", "messageCount")
            if mine[name] != theirs[name]
        ]
        return not same and await self.here.lines(session_id) == await self.there.lines(session_id)


@contextlib.asynccontextmanager
async def two_machines(folder: Path, *, disk_there: Disk | None = None) -> AsyncIterator[Machines]:
    """Two machines without sessions; `disk_there` is the disk of the second machine."""
    calls = None if disk_there is None else disk_there.calls
    async with running(folder / "here") as here, running(folder / "there", calls=calls) as there:
        machines = Machines(await _machine(here), await _machine(there))
        try:
            yield machines
        finally:
            for machine in (machines.here, machines.there):
                await machine.daemon.aclose()


async def _machine(daemon: Running) -> Machine:
    async def dial(handler: Handler[Connection]) -> Connection:
        return memory_pair(handler, Client(daemon.inside, framing="memory"))[0]

    return Machine(daemon, Daemon(dial, dial), await daemon.attach())
