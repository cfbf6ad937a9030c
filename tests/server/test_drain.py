"""`server/drain` and the versions of the protocol, as any client sees them."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sessiond.protocol import versions
from support.daemons import joined, refusal, running, spawn, user
from support.patience import BOUND


async def test_a_daemon_that_makes_room_refuses_writes_and_still_reads(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        ada, bob = await daemon.attach(), await daemon.attach()
        await ada.call("session/create", cwd="/w", id="atlas-one")
        await ada.append("atlas-one", user("before"))
        told = await bob.call("server/drain", note="an update")
        assert told["epoch"] == (await bob.call("server/status"))["epoch"]
        for write in (
            ada.append("atlas-one", user("after")),
            ada.call("session/create", cwd="/w"),
            ada.call("session/rename", sessionId="atlas-one", title="No"),
            ada.call("history/add", prompt="no"),
            ada.call("session/delete", sessionId="atlas-one"),
        ):
            refused = await refusal(write)
            assert (refused.kind, refused.data["retryable"]) == ("draining", True)
            assert refused.details["retryAfterMs"] > 0
        assert (await ada.call("session/info", sessionId="atlas-one"))["session"]["lastSeq"] == 1


async def test_a_daemon_process_that_made_room_is_gone_with_everything_on_disk(tmp_path: Path) -> None:
    process = await spawn(tmp_path)
    daemon = joined(tmp_path)
    peer = await daemon.attach()
    await peer.call("session/create", cwd="/w", id="atlas-one")
    # Asked before, answered before the end: appends that are on their way when the daemon is asked to go.
    appends = [asyncio.ensure_future(peer.append("atlas-one", user(f"{n}"))) for n in range(50)]
    await asyncio.sleep(0)
    told = await peer.call("server/drain")
    assert told["pid"] == process.pid
    seqs = [(await append)["lastSeq"] for append in appends]
    assert seqs == list(range(1, 51))
    async with asyncio.timeout(30):
        await peer.is_closed.wait()
        assert await process.wait() == 0
    assert daemon.files("drafts")[0].read_bytes().count(b"\n") == 51


async def test_every_client_is_told_of_the_end_before_it_comes(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        ada, bob = await daemon.attach(), await daemon.attach()
        await ada.call("server/hello")
        before = datetime.now(UTC)
        await bob.call("server/drain", note="an update", timeoutMs=60_000)
        for peer in (ada, bob):
            await peer.until(lambda client: bool(client.told("server/draining")))
            [told] = peer.told("server/draining")
            assert told["note"] == "an update"
            assert timedelta(seconds=59) < datetime.fromisoformat(told["deadlineAt"]) - before
        assert bob.order == ["reply", "server/draining"]


async def test_a_daemon_that_is_stopped_tells_its_clients_too(tmp_path: Path) -> None:
    process = await spawn(tmp_path)
    daemon = joined(tmp_path)
    ada, bob = await daemon.attach(), await daemon.attach()
    await ada.call("server/hello")
    await bob.call("server/stop")
    async with asyncio.timeout(BOUND):
        await ada.is_closed.wait()
        await process.wait()
    assert [notification["note"] for notification in ada.told("server/draining")] == [None]


async def test_a_second_drain_is_answered_like_the_first(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert await peer.call("server/drain") == await peer.call("server/drain")


async def test_the_newest_version_that_both_speak_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "OLDEST", 2)
    monkeypatch.setattr(versions, "NEWEST", 4)
    async with running(tmp_path) as daemon:
        for theirs, spoken in (([1, 2], 2), ([2, 3], 3), ([3, 9, 4], 4), ([4], 4)):
            peer = await daemon.attach()
            hello = await peer.call(
                "initialize", initializationOptions={"sessiond": {"protocolVersions": theirs}}
            )
            assert hello["capabilities"]["experimental"]["sessiond"]["protocolVersion"] == spoken


@pytest.mark.parametrize("theirs", [[], [1], [5], [1, 5, 6]])
async def test_without_a_common_version_both_sides_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: list[int]
) -> None:
    monkeypatch.setattr(versions, "OLDEST", 2)
    monkeypatch.setattr(versions, "NEWEST", 4)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        refused = await refusal(
            peer.call("initialize", initializationOptions={"sessiond": {"protocolVersions": theirs}})
        )
        assert (refused.kind, refused.details["supportedVersions"]) == ("unsupportedVersion", [2, 3, 4])
        assert versions.named([2, 3, 4]) in refused.message
        assert versions.named(theirs) in refused.message
