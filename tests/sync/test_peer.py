"""The other side of a sync: a command that speaks the protocol, and everything else that a command may do."""

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client import connect
from sessiond.client.daemon import Daemon
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.session.union.comparable import lines_in
from sessiond.sync.folders import FolderMap, InvalidPairError, pair_of
from sessiond.sync.options import SyncOptions
from sessiond.sync.peer import PeerLostError, connect_through
from sessiond.sync.peer_process import PeerUnavailableError, ssh_command
from sessiond.sync.run import synchronize
from support.commands import Shell
from support.cut import CUT
from support.daemons import assistant, user
from support.homes import a_home
from support.patience import BOUND
from support.waiting import until


@pytest.fixture
def homes() -> Iterator[tuple[Locations, Locations]]:
    with a_home() as here, a_home() as there:
        yield here, there


def attach(home: Locations) -> list[str]:
    return ["env", f"SESSIOND_HOME={home.home}", sys.executable, "-m", "sessiond", "attach", "--stdio"]


async def reach(*command: str) -> None:
    async with connect_through(command, "there"):
        pytest.fail("something answered")


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("sh", "-c", "exit 127"), "PATH"),
        (("sh", "-c", "echo 'Host key verification failed.' >&2; exit 255"), "Host key verification failed"),
        (("sh", "-c", "echo first >&2; echo last >&2; exit 3"), "status 3: last"),
        (("echo", "Welcome to this machine!"), "wrote 'Welcome to this machine!'"),
        (("sh", "-c", "echo Welcome; cat"), "startup files"),
        (("/nonexistent/command",), "cannot be run"),
    ],
)
async def test_a_command_that_reaches_no_daemon_is_explained(command: tuple[str, ...], word: str) -> None:
    with pytest.raises(PeerUnavailableError) as refused:
        await reach(*command)
    assert word in str(refused.value)


async def test_a_daemon_of_another_version_is_explained() -> None:
    reply = (
        '{"jsonrpc":"2.0","id":1,"error":{"code":1400,"message":"This daemon speaks version 9.",'
        '"data":{"kind":"unsupportedVersion","retryable":false,"details":null}}}'
    )
    script = (
        "import sys,re\nhead=b''\n"
        "while not head.endswith(b'\\r\\n\\r\\n'): head+=sys.stdin.buffer.read(1)\n"
        "body=sys.stdin.buffer.read(int(re.search(rb'(\\d+)',head)[1]))\n"
        "id=re.search(rb'\"id\":([^,]+)',body)[1]\n"
        f"reply={reply!r}.encode().replace(b'\"id\":1,',b'\"id\":'+id+b',')\n"
        "sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n'%len(reply)+reply)\n"
        "sys.stdout.flush();sys.stdin.read()"
    )
    with pytest.raises(PeerUnavailableError, match="version 9"):
        await reach(sys.executable, "-c", script)


def test_a_host_is_no_option_of_ssh() -> None:
    assert ssh_command("-oProxyCommand=x")[:3] == ["ssh", "-T", "--"]


async def test_a_cut_in_mid_stream_is_completed_by_the_next_sync(homes: tuple[Locations, Locations]) -> None:
    here, there = homes
    async with connect(locations=here) as mine:
        for number in range(12):
            session = (await mine.create("/work/p")).session
            await mine.append(session.session_id, [user(f"{number} {'x' * 200_000}"), assistant("yes")])
        cut = [sys.executable, "-c", CUT, "1000000", *attach(there)]
        with pytest.raises((PeerLostError, PeerUnavailableError)):
            async with asyncio.timeout(60), connect_through(cut, "there") as theirs:
                await synchronize(mine, theirs, SyncOptions())
        async with connect_through(attach(there), "there") as theirs:
            report = await synchronize(mine, theirs, SyncOptions())
            assert not report.problems
            again = await synchronize(mine, theirs, SyncOptions())
    assert (again.has_changes, again.unchanged_count) == (False, 12)


def test_the_command_prints_what_was_done_and_what_is_wrong(
    homes: tuple[Locations, Locations], tmp_path: Path
) -> None:
    here, there = (Shell(home, tmp_path) for home in homes)
    here("new", "--id", "session-one")
    here("append", "session-one", "--user", "hello", "--assistant", "hi")
    via = " ".join(attach(homes[1]))
    done = here("sync", "--via", via)
    assert done.out.startswith("Sent 2 lines, 1 new session")
    assert here("sync", "--via", via, "--json").json["unchangedCount"] == 1
    assert there("tree", "session-one").out == here("tree", "session-one").out
    failed = here.run("sync", "--via", "sh -c 'exit 127'")
    assert (failed.code, failed.out) == (69, "")
    assert "PATH" in failed.err
    assert (
        here.run("sync").code
        == here.run("sync", "-x").code
        == here.run("sync", "a", "--map", "x=y").code
        == 2
    )


def test_folders_are_mapped_by_the_configuration_and_by_the_option_before_it(
    homes: tuple[Locations, Locations], tmp_path: Path
) -> None:
    here, there = (Shell(home, tmp_path) for home in homes)
    Path(homes[0].config_file).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    Path(homes[0].config_file).write_text(
        '[sync.maps]\n"*" = ["/work=/srv/work", "/notes=/n"]\n', encoding="utf-8"
    )
    for name, folder in (("session-one", "/work/p"), ("session-two", "/notes")):
        here("new", "--id", name, "--cwd", folder)
        here("append", name, "--user", "hello", "--assistant", "hi")
    here("sync", "--via", " ".join(attach(homes[1])), "--map", "/notes=/mine")
    listed = there("list", "--all", "--json").json["sessions"]
    assert {session["sessionId"]: session["cwd"] for session in listed} == {
        "session-one": "/srv/work/p",
        "session-two": "/mine",
    }
    Path(homes[0].config_file).write_text('[sync.maps]\n"*" = ["work"]\n', encoding="utf-8")
    refused = here.run("sync", "--via", " ".join(attach(homes[1])))
    assert (refused.code, "sync.maps" in refused.err) == (78, True)


async def test_a_watch_keeps_both_sides_together(homes: tuple[Locations, Locations], tmp_path: Path) -> None:
    here, there = homes
    shell = Shell(here, tmp_path)
    async with connect(locations=here) as mine, connect(locations=there) as theirs:
        session_id = (await mine.create("/work/p")).session.session_id
        await mine.append(session_id, [user("hello"), assistant("hi")])
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sessiond", "sync", "--watch", "--via", " ".join(attach(there)),
            env=shell.environment(), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await until_last_seq(theirs, session_id, 2)
            await theirs.append(session_id, [user("more")])
            await until_last_seq(mine, session_id, 3)
        finally:
            process.terminate()
            await process.wait()


async def test_a_watch_connects_again_after_the_connection_was_lost(
    homes: tuple[Locations, Locations], tmp_path: Path
) -> None:
    here, there = homes
    pids = tmp_path / "pids"
    pids.touch()
    via = f"sh -c {shlex.quote(f'echo $$ >>{pids}; exec {shlex.join(attach(there))}')}"

    async def until_connected(times: int) -> None:
        await until(lambda: len(pids.read_text(encoding="ascii").split()) == times)

    async with connect(locations=here) as mine, connect(locations=there) as theirs:
        session_id = (await mine.create("/work/p")).session.session_id
        await mine.append(session_id, [user("hello"), assistant("hi")])
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sessiond", "sync", "--watch", "--via", via,
            env=Shell(here, tmp_path).environment(), stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            for number in (1, 2):
                await until_same(mine, theirs, session_id)
                os.kill(int(pids.read_text(encoding="ascii").split()[-1]), signal.SIGKILL)
                await mine.append(session_id, [user(f"said here {number}")])
                await theirs.append(session_id, [user(f"said there {number}")])
                await until_connected(number + 1)
            await until_same(mine, theirs, session_id)
        finally:
            process.terminate()
            await process.wait()
        lines = [(await daemon.sync_lines(session_id)).lines for daemon in (mine, theirs)]
    assert sorted(lines_in(lines[0])) == sorted(lines_in(lines[1]))
    assert all(
        f"said {place} {number}".encode() in lines[0] for place in ("here", "there") for number in (1, 2)
    )


async def until_same(mine: Daemon, theirs: Daemon, session_id: str) -> None:
    """Wait until both have the same lines, and at least one."""
    async with asyncio.timeout(BOUND):
        while True:
            found = [await daemon.sync_positions() for daemon in (mine, theirs)]
            if found[0].digest == found[1].digest and found[0].session_count:
                return
            await asyncio.sleep(0.01)


async def until_last_seq(daemon: Daemon, session_id: str, seq: int) -> None:
    """Wait until a session has a line with this seq."""
    async with daemon.watch_list() as changes, asyncio.timeout(BOUND):
        async for change in changes:
            if any(
                session.session_id == session_id and session.last_seq == seq for session in change.sessions
            ):
                return


@pytest.mark.parametrize("text", ["", "a=b", "/a", "/a=b", "=/a"])
def test_a_pair_of_folders_has_two_absolute_paths(text: str) -> None:
    with pytest.raises(InvalidPairError):
        pair_of(text)


def test_the_longest_pair_counts_and_only_whole_names_match() -> None:
    folders = FolderMap(
        [pair_of("/home/a=/Users/a"), pair_of("/home/a/w=/srv/w"), pair_of("/=/root/")], [], []
    )
    assert [folders.target_of(name) for name in ("/home/a/w/x", "/home/a/wx", "/home/ab", "/home/a")] == [
        "/srv/w/x", "/Users/a/wx", "/root/home/ab", "/Users/a",
    ]  # fmt: skip


def test_a_remote_that_two_folders_have_maps_nothing() -> None:
    mine = [t.SyncFolder(cwd="/p/x", root="/p", remote="h/p")]
    theirs = [t.SyncFolder(cwd=name, root=name, remote="h/p") for name in ("/q", "/r")]
    assert FolderMap([], mine, theirs[:1]).target_of("/p/x") == "/q/x"
    assert FolderMap([], mine, theirs).target_of("/p/x") == "/p/x"
