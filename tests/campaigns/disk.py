"""Disks that are full, read-only, gone or closed to us, and a system without descriptors: told, survived, over.

Each scene is a daemon in a mount namespace of its own, with its own small disks, which end with it: nothing stays
mounted, whoever is killed.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, until
from campaigns.log_on_disk import read_log
from campaigns.victims import assistant, user
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import RpcError
from support.columns import entries_of

_OURS = "on-the-small-disk"
_OTHER = "on-another-disk"
_LATE = "opened-later"
_LINE = '{"type":"session","version":3,"id":"%s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}\n'
_TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "prlimit": "util-linux", "chattr": "e2fsprogs"}
_NAMESPACE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-Urm")


@dataclass
class Scene:
    """A daemon, its disks as it sees them, and two sessions: one on the disk that is in trouble, one elsewhere."""

    home: Home
    pid: int
    daemon: BlockingDaemon
    acknowledged: list[str]
    checks: int = 0

    def seen(self, path: str) -> Path:
        """A path below the home, as the daemon sees it: what is mounted there nobody else does."""
        return Path(f"/proc/{self.pid}/root{self.home.folder}/{path}")

    def ours(self) -> Path:
        (path,) = self.seen("data").rglob(f"*_{_OURS}.jsonl")
        return path

    def mount(self, *words: str) -> None:
        """Run a command in the daemon's namespace."""
        into = ["-m"] if os.geteuid() == 0 else ["-U", "--preserve-credentials", "-m"]
        command = ["nsenter", "-t", str(self.pid), *into, *words]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        hold(done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}")

    def append(self, session_id: str = _OURS, text: str = "more") -> None:
        name = f"n{len(self.acknowledged)}"
        self.daemon.call("session/append", {"sessionId": session_id, "entries": [user(name, text)]})
        if session_id == _OURS:
            self.acknowledged.append(name)

    def refused(self, method: str, kinds: Sequence[str], **params: Any) -> None:
        """It is refused, with one of these kinds."""
        try:
            answer = self.daemon.call(method, params)
        except RpcError as error:
            hold(error.kind in kinds, f"{method} is told {error.kind}: {error.message}")
            self.checks += 1
            return
        hold(False, f"{method} is not refused: {str(answer)[:200]}")

    def refuses(self) -> dict[str, str]:
        told = self.daemon.call("server/status").get("blockedSessions", [])
        return {session["sessionId"]: session["writeBlock"]["reason"] for session in told}

    def others_are_unharmed(self) -> None:
        """The session elsewhere takes writes, and everything can be read."""
        self.append(_OTHER)
        shown = entries_of(self.daemon.call("session/entries", {"sessionId": _OURS, "limit": 10_000}))
        hold(
            [entry["id"] for entry in shown] == self.acknowledged,
            "what is shown is not what was acknowledged",
        )
        listed = {session["sessionId"] for session in self.daemon.call("session/list", {})["sessions"]}
        hold(_OURS in listed, f"the list has {listed}")
        self.daemon.call("session/search", {"query": "more"})
        self.checks += 3

    def is_over(self) -> None:
        """The cause is gone: without a restart everything is as before, and nothing was lost."""
        self.append()
        # Without a commandId: the journal of commands needs more room than the smallest of these disks has.
        self.daemon.call_unchanged("session/create", {"cwd": "/work/new"})
        hold(_OURS not in self.refuses(), f"the session is still said to refuse writes: {self.refuses()}")
        log = read_log(self.ours())
        there = list(log.seqs)
        hold(there == self.acknowledged, f"the file has {there[-3:]}, {self.acknowledged[-3:]} is due")
        hold(not log.tail, "the file ends in half a line")
        self.others_are_unharmed()


def _fill(path: Path) -> None:
    """Put as much into a file as its disk takes."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x")


def _full(scene: Scene) -> None:
    _fill(scene.seen("data/ballast"))
    for _ in range(10_000):  # what is left of the last page of the file
        try:
            scene.append()
        except RpcError as error:
            hold(error.kind == "storageFull", f"a full disk is told as {error.kind}: {error.message}")
            break
    hold(scene.refuses() == {_OURS: "diskFull"}, f"the status says {scene.refuses()}")
    scene.refused("session/append", ("storageFull",), sessionId=_OURS, entries=[user("too", "x" * 9000)])
    scene.refused("session/create", ("storageFull",), cwd="/work/full")
    scene.refused("blob/put", ("storageFull",), data="eHh4eHh4eHh4eHh4" * 1000)
    scene.others_are_unharmed()
    scene.seen("data/ballast").unlink()
    scene.is_over()


def _full_and_noticed(scene: Scene) -> None:
    _fill(scene.seen("data/ballast"))
    scene.refused("session/append", ("storageFull",), sessionId=_OURS, entries=[user("too", "x" * 9000)])
    scene.seen("data/ballast").unlink()
    until(lambda: not scene.refuses(), "room on the disk is not noticed")
    scene.is_over()


def _state_is_full(scene: Scene) -> None:
    _fill(scene.seen("state/ballast"))
    scene.others_are_unharmed()
    terminal = {"id": "tty-1"}
    scene.daemon.call("session/open", {"sessionId": _OURS, "terminal": terminal})
    scene.is_over()


def _late_comer(scene: Scene) -> str:
    """A session that nobody has opened yet; its path from the home."""
    ours = scene.ours()
    path = ours.with_name(ours.name.replace(_OURS, _LATE))
    path.write_bytes(ours.read_bytes().replace(_OURS.encode(), _LATE.encode()))
    return str(path.relative_to(scene.seen(".")))


def _may_not_be_written(scene: Scene, reason: str) -> None:
    opened = scene.daemon.call("session/open", {"sessionId": _LATE})["session"]
    hold(opened["readOnly"] and opened["writeBlock"]["reason"] == reason, f"it is opened as {opened}")
    scene.refused("session/append", ("readOnly",), sessionId=_LATE, entries=[assistant("no")])
    scene.others_are_unharmed()


def _may_be_written_again(scene: Scene) -> None:
    done = scene.daemon.call("session/append", {"sessionId": _LATE, "entries": [user("yes")]})
    hold(done["lastSeq"] == 3, f"it goes on at {done['lastSeq']}")
    scene.is_over()


def _read_only(scene: Scene) -> None:
    _late_comer(scene)
    sessions = str(scene.home.folder / "data/sessions")
    scene.mount("mount", "--bind", sessions, sessions)
    scene.mount("mount", "-o", "remount,bind,ro", sessions)
    _may_not_be_written(scene, "readOnlyDisk")
    scene.refused("session/move", ("storageFailed", "readOnly"), sessionId=_OURS, cwd="/work/other")
    scene.refused("session/delete", ("storageFailed", "readOnly"), sessionId=_LATE)
    scene.mount("umount", sessions)
    _may_be_written_again(scene)


def _lost_rights(scene: Scene) -> None:
    path = f"{scene.home.folder}/{_late_comer(scene)}"
    scene.mount("chattr", "+i", path)
    _may_not_be_written(scene, "permissionDenied")
    scene.mount("chattr", "-i", path)
    _may_be_written_again(scene)


def _vanished(scene: Scene) -> None:
    away = scene.seen("data/elsewhere")
    scene.seen("data/sessions").rename(away)
    scene.refused("session/append", ("foreignWriter",), sessionId=_OURS, entries=[user("no")])
    hold(scene.refuses() == {_OURS: "replaced"}, f"the status says {scene.refuses()}")
    scene.append(_OTHER)
    shutil.rmtree(scene.seen("data/sessions"), ignore_errors=True)
    away.rename(scene.seen("data/sessions"))
    scene.is_over()


def _no_descriptors(scene: Scene) -> None:
    _limit(scene.pid, 3)  # below every number that may be free: more are in use, but some only for a moment
    scene.refused("session/create", ("overloaded",), cwd="/work/none")
    scene.refused("session/open", ("overloaded",), path=str(scene.home.folder / "third.jsonl"))
    scene.append()
    scene.append(_OTHER)
    _limit(scene.pid, 4096)
    scene.daemon.call("session/open", {"path": str(scene.home.folder / "third.jsonl")})
    scene.is_over()


def _limit(pid: int, number: int) -> None:
    subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={number}:4096"], check=True)


def _nothing_to_log_to(scene: Scene) -> None:
    scene.others_are_unharmed()
    scene.is_over()


SCENES: dict[str, tuple[Callable[[Scene], None], str]] = {
    "a disk that fills up": (_full, "mount -t tmpfs -o size=1m,mode=700 none data"),
    "a disk that has room again, with nobody writing": (
        _full_and_noticed,
        "mount -t tmpfs -o size=3m,mode=700 none data",
    ),
    "a state folder that fills up": (_state_is_full, "mount -t tmpfs -o size=256k,mode=700 none state"),
    "a state folder that is full at the start": (
        _state_is_full,
        "mount -t tmpfs -o size=64k,mode=700 none state && cat /dev/zero >state/ballast 2>/dev/null; true",
    ),
    "a read-only disk": (_read_only, "true"),
    "a folder that is moved away": (_vanished, "true"),
    "a file that may not be written any more": (_lost_rights, "mount -t tmpfs -o size=8m,mode=700 none data"),
    "no descriptors left": (_no_descriptors, "true"),
    "a log that cannot be written": (_nothing_to_log_to, "mkdir -p state/sessiond.log"),
}  # fmt: skip
"""A case: its name, and the changes to the home before the daemon starts in it."""


def run(ground: Ground) -> Figures:
    _try_namespaces(ground)
    names = list(SCENES)
    done = checks = acknowledged = 0
    for number in ground.each_round(short=len(names), long=len(names) * 20, seconds=60):
        name = names[number % len(names)]
        try:
            with _scene(Home(ground.folder / f"{number}"), SCENES[name][1]) as scene:
                SCENES[name][0](scene)
        except Exception as error:
            error.add_note(f"with {name}")
            raise
        done += 1
        checks += scene.checks
        acknowledged += len(scene.acknowledged)
    return Figures(
        rounds=done,
        faults=done,
        checked=checks + acknowledged,
        more=f"{min(done, len(names))} of {len(names)} kinds of trouble, {acknowledged:,} acknowledgements",
    )


def _try_namespaces(ground: Ground) -> None:
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            ground.leave_out(package)
    tried = subprocess.run(
        [*_NAMESPACE, "mount", "-t", "tmpfs", "-o", "size=64k", "none", str(ground.folder)],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if tried.returncode:
        ground.cannot(f"no disks of our own can be mounted: {tried.stderr.strip()}")


@contextlib.contextmanager
def _scene(home: Home, before: str) -> Iterator[Scene]:
    Path(home.locations.state).mkdir(mode=0o700, parents=True)
    Path(home.locations.data).mkdir(mode=0o700, parents=True)
    for name in (_OTHER, "third"):
        (home.folder / f"{name}.jsonl").write_text(_LINE % name, encoding="utf-8")
    script = f'cd "$SESSIOND_HOME" && {before} && exec "$0" "$@"'
    with (
        home.serving(under=[*_NAMESPACE, "sh", "-c", script]) as process,
        home.connect_blocking(autostart=False) as daemon,
    ):
        scene = Scene(home, process.pid, daemon, ["u1", "a1"])
        daemon.call_unchanged("session/create", {"cwd": "/work/a", "id": _OURS})
        daemon.call("session/append", {"sessionId": _OURS, "entries": [user("u1"), assistant("a1")]})
        daemon.call("session/open", {"path": str(home.folder / f"{_OTHER}.jsonl")})
        yield scene
    shutil.rmtree(home.folder)


CAMPAIGN = Campaign(
    name="disk",
    promise="Trouble with a disk is told as what it is, harms no other session, and is over without a restart.",
    how="real disks of a few kilobytes that fill up, are read-only, are moved away, may not be written, a process "
    "without descriptors, a state folder that is full at the start, a log that cannot be written",
    run=run,
)
