"""The asynchronous and the blocking client against the real daemon."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client import DaemonConnectionError, RpcError, connect, connect_blocking
from sessiond.paths import Locations
from sessiond.protocol import types as t
from support.attached import a_scripted_daemon
from support.columns import seqs_of
from support.homes import a_home
from support.scripted import taken


@pytest.fixture
def locations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Locations]:
    with a_home() as locations:
        monkeypatch.setenv("SESSIOND_HOME", str(locations.home))
        monkeypatch.setenv("SESSIOND_TERMINAL", "one")
        yield locations


def said(role: str, text: str) -> dict[str, object]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}


async def test_a_script_writes_reads_and_branches(locations: Locations, tmp_path: Path) -> None:
    async with connect(locations=locations) as daemon:
        session = (await daemon.create(str(tmp_path), title="t", tags=["x"])).session.session_id
        done = await daemon.append(session, [said("user", "1"), said("assistant", "2")])
        first, second = (entry.id for entry in done.entries)
        assert [entry["id"] for entry in (await daemon.path(session)).entries][1:] == [first, second]
        assert [
            entry.seq
            for entry in (await daemon.entries(session, after=t.After(log_id=done.log_id, seq=2))).items
        ] == [3]
        assert [message["role"] for message in (await daemon.context(session)).messages] == [
            "user",
            "assistant",
        ]
        assert (await daemon.branch(session, first)).leaf_id == first
        await daemon.append(session, [said("user", "3")], expected_leaf_id=first)
        await daemon.label(session, second, "here")
        tree = await daemon.tree(session)
        assert [(node.depth, node.label) for node in tree.nodes] == [(0, None), (1, "here"), (1, None)]
        fork = (await daemon.fork(session, leaf_id=second)).session
        assert fork.parent_session_id is not None
        assert (await daemon.rename(session, "new")).session.title == "new"
        assert (await daemon.tag(session, add=["y"])).session.tags == ["x", "y"]
        assert {found.session_id for found in (await daemon.list_sessions(str(tmp_path))).sessions} >= {
            session
        }
        assert (await daemon.continue_session(str(tmp_path))).session.session_id in (session, fork.session_id)
        assert (await daemon.info(session)).session.session_id == session
        assert (await daemon.open(session)).session.session_id == session
        await daemon.flush()
        assert (await daemon.status()).open_session_count >= 1
        me = next(client for client in (await daemon.clients()).clients if client.name == "python")
        assert me.terminal is not None
        assert me.terminal.id == "one"
        assert (await daemon.close(fork.session_id)).client_count == 0


async def test_a_refusal_has_its_kind(locations: Locations) -> None:
    async with connect(locations=locations) as daemon:
        with pytest.raises(RpcError) as raised:
            await daemon.info("no-such-session")
    assert raised.value.kind == "sessionNotFound"


async def test_a_subscription_and_a_script_survive_the_death_of_the_daemon(
    locations: Locations, tmp_path: Path
) -> None:
    async with connect(locations=locations) as reader, connect(locations=locations) as writer:
        session = (await writer.create(str(tmp_path))).session.session_id
        wanted: list[str] = []
        async with reader.subscribe(session) as entries:
            for number in range(4):
                done = await writer.append(
                    session, [said("user", str(number)), said("assistant", str(number))]
                )
                wanted += [entry.id for entry in done.entries]
                if number in (0, 2):  # whoever appends next starts another
                    os.kill((await writer.status()).pid, signal.SIGKILL)
            assert await taken(entries, len(wanted)) == wanted


async def test_none_is_started_when_that_is_not_wanted(locations: Locations) -> None:
    with pytest.raises(DaemonConnectionError):
        async with connect(locations=locations, autostart=False):
            pass
    with pytest.raises(DaemonConnectionError):
        connect_blocking(locations=locations, autostart=False)


async def test_a_caller_that_gives_up_on_a_silent_daemon_leaves_no_connection(
    locations: Locations,
) -> None:
    async def wait() -> None:
        async with connect(locations=locations):
            pass

    with a_scripted_daemon(locations) as daemon:
        waiting = asyncio.create_task(wait())
        met = await asyncio.to_thread(daemon.meet)
        assert (await asyncio.to_thread(met.hear))["method"] == "server/hello"
        waiting.cancel()
        assert (await asyncio.to_thread(met.hear))["method"] == "$/cancelRequest"
        assert await asyncio.to_thread(met.hear) is None
        await asyncio.wait([waiting])
        assert waiting.cancelled()


def test_the_blocking_client_hears_of_what_another_does(locations: Locations, tmp_path: Path) -> None:
    with connect_blocking(locations=locations) as subscriber, connect_blocking(locations=locations) as writer:
        session = writer.call("session/create", {"cwd": str(tmp_path)})["session"]["sessionId"]
        subscriber.call("session/subscribe", {"sessionId": session})
        entries = [{"type": "message", "message": {"role": "user", "content": "hi"}}]
        added = writer.call("session/append", {"sessionId": session, "entries": entries})
        heard = next(params for method, params in subscriber.notifications() if method == "session/appended")
        assert seqs_of(heard) == [added["lastSeq"]]
