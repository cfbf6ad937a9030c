"""A sync with a program that is no sessiond, or a wrong one: it ends with a sentence, and nothing wrong is stored."""

import asyncio
import contextlib
import hashlib
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import random
import shlex
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.sync.options import SyncOptions
from sessiond.sync.peer import connect_to_peer
from sessiond.sync.peer_process import PeerError, PeerProcess
from sessiond.sync.report import SyncReport
from sessiond.sync.run import synchronize
from support.commands import Shell
from support.daemons import Refused
from support.homes import a_home
from support.two_machines import Machine, Machines, two_machines
from support.wrong_answers import DRIP_SECONDS, HARMLESS, KINDS, METHODS, End, Silence, frame, spoiled

TESTS = Path(__file__).parents[1]
REF_HERE = f"blob:sha256:{hashlib.sha256(b'here').hexdigest()}"
SECONDS = 0.3
"""The patience of a sync with a program that may keep silent."""


class Inside(PeerProcess):
    """A wrong peer in this process, before a daemon in this process."""

    def __init__(self, machine: Machine, kind: str, method: str, seed: int) -> None:
        self.name = "there"
        self.connection, self._theirs = socket.socketpair()
        self.connection.setblocking(False)
        self._struck = kind, method, seed
        self._task = asyncio.ensure_future(self._serve(machine))

    async def _serve(self, machine: Machine) -> None:
        kind, method, seed = self._struck
        reader, writer = await asyncio.open_connection(sock=self._theirs, limit=2**26)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, End):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    request = json.loads(await reader.readexactly(int(head.split(b":")[1])))
                    if "id" not in request or "method" not in request:
                        continue
                    body = await _answer(machine, request)
                    for data in spoiled(kind, body, seed) if request["method"] == method else [frame(body)]:
                        writer.write(data)
                        await writer.drain()
                        if kind == "slow_drip" and request["method"] == method:
                            await asyncio.sleep(DRIP_SECONDS)  # it is what the program is for
        except Silence:
            await asyncio.Event().wait()
        finally:
            writer.transport.abort()

    def wait(self) -> int | None:
        return 0 if self._task.done() else None

    def said(self) -> str:
        return ""

    def end(self) -> None:
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)


async def _answer(machine: Machine, request: dict[str, Any]) -> bytes:
    try:
        body = json.loads(await machine.peer.raw(request["method"], **request.get("params", {})))
    except Refused as refused:
        error = {"code": refused.code, "message": refused.message, "data": refused.data}
        body = {"jsonrpc": "2.0", "error": error}
    return json.dumps(body | {"id": request["id"]}).encode()


@contextlib.asynccontextmanager
async def different_machines(folder: Path) -> AsyncIterator[tuple[Machines, list[str]]]:
    """Two machines with a session on each alone, one that both have extended, and an image. Returns all ids."""
    async with two_machines(folder) as machines:
        both = await machines.here.talk()
        await machines.sync()
        await machines.here.say(both, "said here")
        await machines.there.say(both, "said there")
        ref = (await machines.there.peer.call("blob/put", data="aGVsbG8="))["ref"]
        theirs, mine = await machines.there.talk(), await machines.here.talk()
        await machines.here.peer.call("blob/put", data="aGVyZQ==")
        for machine, name, digest in ((machines.there, theirs, ref), (machines.here, mine, REF_HERE)):
            image = {"type": "image", "data": digest, "mimeType": "image/png"}
            message = {"role": "user", "content": [image]}
            await machine.peer.append(name, {"type": "message", "message": message})
        yield machines, [both, theirs, mine]


def stored_lines(machine: Machine) -> set[bytes]:
    return {line for path in machine.running.files() for line in path.read_bytes().splitlines()}


async def wrong_sync(
    machines: Machines, kind: str, method: str, seed: int, seconds: float
) -> SyncReport | PeerError:
    try:
        async with connect_to_peer(Inside(machines.there, kind, method, seed), seconds=seconds) as there:
            return await synchronize(machines.here.daemon, there, SyncOptions())
    except PeerError as error:
        return error


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(sorted(KINDS)), method=st.sampled_from(METHODS), seed=st.integers(0, 2**20))
def test_a_wrong_peer_ends_a_sync_with_a_sentence_and_stores_nothing_wrong(
    kind: str, method: str, seed: int
) -> None:
    async def try_it(folder: Path) -> None:
        async with different_machines(folder) as (machines, ids):
            before = stored_lines(machines.here)
            is_harmless = kind in HARMLESS
            async with asyncio.timeout(30):
                outcome = await wrong_sync(machines, kind, method, seed, 20 if is_harmless else SECONDS)
            assert not is_harmless or isinstance(outcome, SyncReport), outcome
            after = stored_lines(machines.here)
            assert before <= after
            for line in after:
                json.loads(line)
            await machines.sync()  # whatever was spoiled, the next sync with the right program completes
            assert await machines.here.ids() == await machines.there.ids() == set(ids)
            for session_id in ids:
                assert await machines.are_same(session_id)

    with TemporaryDirectory() as folder:
        asyncio.run(try_it(Path(folder)))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(HARMLESS)))
async def test_each_kind_of_wrong_answer_is_said_to_be_wrong(kind: str, tmp_path: Path) -> None:
    method = {"other_lines": "sync/lines", "endless_pages": "sync/lines", "other_bytes": "blob/get"}.get(
        kind, "sync/ids"
    )
    async with different_machines(tmp_path) as (machines, _):
        outcome = await wrong_sync(machines, kind, method, random.randrange(1000), SECONDS)
    assert isinstance(outcome, PeerError)
    assert "there" in str(outcome)


@pytest.mark.parametrize(
    ("kind", "method", "word"),
    [
        ("wrong_type", "sync/positions", "sync/positions"),
        ("no_result", "server/hello", "server/hello"),
        ("silence", "sync/ids", "lost"),
        ("banner", "server/hello", "wrote"),
    ],
)
def test_the_command_says_what_a_wrong_peer_did(kind: str, method: str, word: str, tmp_path: Path) -> None:
    with a_home() as here, a_home() as there:
        for home in (here, there):
            shell = Shell(home, tmp_path)
            shell("new", "--id", "session-one")
            shell("append", "session-one", "--user", f"hello {home.home}", "--assistant", "hi")
        peer = [
            "env", f"SESSIOND_HOME={there.home}", f"PYTHONPATH={TESTS}", sys.executable, "-m",
            "support.wrong_answers", kind, method, "3", sys.executable, "-m", "sessiond", "attach", "--stdio",
        ]  # fmt: skip
        done = Shell(here, tmp_path).run("sync", "--timeout", "3", "--via", shlex.join(peer))
    assert (done.code, done.out, len(done.err.splitlines())) == (69, "", 1)
    assert word in done.err


async def test_a_line_that_is_not_json_is_refused_and_the_others_are_stored(tmp_path: Path) -> None:
    bad = b"no line of JSON\n" + b"\0" * 30 + b"\n"
    async with two_machines(tmp_path) as machines:
        mine = await machines.here.talk()
        page = await machines.here.daemon.sync_lines(mine)
        for _ in range(2):  # the first creates the session, the second adds to it
            put = await machines.there.daemon.sync_put(mine, page.lines + bad, head=page.head)
            assert (put.refused_count, len(put.refused)) == (2, 2)
        assert await machines.are_same(mine)
        assert not (await machines.sync()).has_changes


async def test_a_damaged_line_of_a_store_stays_there_and_is_named(tmp_path: Path) -> None:
    async with two_machines(tmp_path) as machines:
        mine = await machines.here.talk()
        await machines.sync()
        await machines.here.peer.call("session/close", sessionId=mine)
        [path] = machines.here.running.home.rglob(f"*_{mine}.jsonl")
        with path.open("ab") as log:
            log.write(b"torn by another program\n")
        await machines.there.say(mine, "said there")
        for _ in range(2):
            report = await machines.sync()
            assert [problem.session_id for problem in report.problems] == [mine]
        assert not report.has_changes
        [theirs] = machines.there.running.home.rglob(f"*_{mine}.jsonl")
        assert b"torn" not in theirs.read_bytes()
        assert b"said there" in path.read_bytes()
