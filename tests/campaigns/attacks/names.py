"""Names that lead elsewhere: links in the place of files, and ids that are paths."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from campaigns.attacks.asking import command, is_well, refused
from campaigns.campaign import Ground, hold
from campaigns.daemons import Home, end_all_in

SESSION: Final = "the-only-session"


@contextmanager
def _untouched(home: Home) -> Iterator[Path]:
    """A file beside the home that must be as it was at the end, and a folder that must be empty; gives the folder."""
    beside = home.folder.parent / f"{home.folder.name}-victim"
    beside.mkdir()
    (beside / "file").write_bytes(b"what it was")
    (beside / "empty").write_bytes(b"")
    (beside / "folder").mkdir()
    yield beside
    names = sorted(path.name for path in beside.rglob("*"))
    hold(names == ["empty", "file", "folder"], f"something was made or removed where a link led: {names}")
    hold((beside / "file").read_bytes() == b"what it was", "a file that a link led to was changed")
    hold((beside / "empty").read_bytes() == b"", "an empty file that a link led to was written to")


def _a_session(home: Home) -> Path:
    home.call("session/create", cwd="/w", id=SESSION)
    message = {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
    }
    home.call("session/append", sessionId=SESSION, entries=[message])
    return Path(home.call("session/info", sessionId=SESSION)["session"]["path"])


def links_in_the_place_of_folders(_ground: Ground, home: Home) -> None:
    """A folder that is a link is refused with a sentence that says what to do."""
    with _untouched(home) as victim:
        for name in ("state", "data", "run"):
            (home.folder / name).symlink_to(victim / "folder")
            done = command(home, "list")
            hold(done.returncode == 69, f"{name} is a link, and the command ended with {done.returncode}")
            hold(str(home.folder / name) in done.stderr, f"it does not name the folder: {done.stderr}")
            (home.folder / name).unlink()


def folders_that_others_may_write_to(_ground: Ground, home: Home) -> None:
    """A file in its place may belong to another program: it is refused, with the command that helps."""
    for name in ("state", "data", "run"):
        folder = home.folder / name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        done = command(home, "list")
        hold(done.returncode == 69, f"{name} is open to all, and the command ended with {done.returncode}")
        hold("chmod 700" in done.stderr, f"it does not say what helps: {done.stderr}")
        folder.chmod(0o700)


def links_in_the_place_of_files(ground: Ground, home: Home) -> None:
    """Files of the daemon that are links, to a file, an empty one, or none: where they lead nothing is written."""
    told = (
        "state/endpoint.json", "state/endpoint.json.new", "state/index.db", "data/history.db",
        "run/.binding", "run/sessiond.sock",
    )  # fmt: skip
    refused = (
        ("state/daemon.lock",),
        ("state/start.lock",),
        ("state/sessiond.log",),
        ("state/index.db-wal",),
    )
    targets = ("file", "empty", "nothing")
    with _untouched(home) as victim:
        for target in targets:
            _plant(home, told, victim / target)
            command(home, "append", command(home, "new").stdout.strip(), "--user", "x")
            command(home, "history", "x")
            _pull_up(home, told)
        for names in refused:
            for target in targets if ground.long else [ground.dice.choice(targets)]:
                _plant(home, names, victim / target)
                command(home, "list")
                _pull_up(home, names)


def _plant(home: Home, names: Sequence[str], target: Path) -> None:
    for name in names:
        path = home.folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def _pull_up(home: Home, names: Sequence[str]) -> None:
    end_all_in(home.folder)  # by way of a link nothing tells which process it is
    for name in names:
        if (home.folder / name).is_symlink():
            (home.folder / name).unlink()


def a_second_name_of_the_lock(_ground: Ground, home: Home) -> None:
    """A program with a second name of the lock could keep the daemon out; the daemon says so."""
    state = Path(home.locations.state)
    state.mkdir(parents=True, mode=0o700)
    lock = Path(home.locations.daemon_lock)
    lock.touch(0o600)
    os.link(lock, home.folder / "a-second-name")
    done = command(home, "list")
    hold(done.returncode == 69, f"the lock has two names, and the command ended with {done.returncode}")
    hold("more than one name" in done.stderr, f"it does not say why: {done.stderr}")


def links_among_sessions_and_blobs(_ground: Ground, home: Home) -> None:
    """They are not followed: not listed, not opened by id, not read as a blob, not collected, not written to."""
    with _untouched(home) as victim:
        path = _a_session(home)
        secret = (victim / "file").read_bytes()
        digest = hashlib.sha256(secret).hexdigest()
        path.with_name("2026-01-01T00-00-00-000Z_linked-session.jsonl").symlink_to(victim / "file")
        blobs = Path(home.locations.data) / "blobs"
        blobs.mkdir(mode=0o700)
        (blobs / digest).symlink_to(victim / "file")
        crumbs = Path(home.locations.state) / "terminal-sessions"
        crumbs.mkdir(mode=0o700, exist_ok=True)
        (crumbs / "t1").symlink_to(victim / "file")
        listed = home.call("session/list")["sessions"]
        hold([session["sessionId"] for session in listed] == [SESSION], f"a link is listed: {listed}")
        hold(
            refused(home, "session/info", sessionId="linked-session") == "sessionNotFound",
            "a link was opened",
        )
        hold(refused(home, "blob/get", hash=digest) == "blobNotFound", "a link was read as a blob")
        home.call("blob/collect", dryRun=False, graceMs=0)
        command(home, "continue", "--cwd", "/w", SESSIOND_TERMINAL="t1")
        found = home.call("server/doctor", fix=True)["findings"]
        told = {finding["location"]["path"] for finding in found if finding["kind"] == "symbolicLink"}
        hold(str(blobs / digest) in told, "the doctor does not tell of a link among blobs")


def ids_that_are_paths(_ground: Ground, home: Home) -> None:
    """No id leads out of its folder, of whichever method."""
    _a_session(home)
    outside = sorted(str(path) for path in home.folder.parent.glob("*"))
    ids = (
        "../../escaped-one",
        "..",
        "/etc/passwd",
        "a/b/c/d/e/f",
        ".hidden-id",
        "nul\0in-the-id",
        "x" * 129,
        "new\nline-id",
    )
    for name in ids:
        hold(refused(home, "session/create", cwd="/w", id=name) == "invalidParams", f"{name!r} became an id")
        kind = refused(home, "session/info", sessionId=name)
        hold(kind in ("sessionNotFound", "invalidParams"), f"{name!r}: {kind}")
        entry = {"type": "custom", "customType": "x", "id": name}
        kind = refused(home, "session/append", sessionId=SESSION, entries=[entry])
        hold(kind == "invalidEntry", f"{name!r} became the id of an entry: {kind}")
        hold(refused(home, "blob/get", hash=name) == "invalidParams", f"{name!r} was looked for as a blob")
        kind = refused(home, "trash/restore", trashId=f"../{name}")
        hold(kind in ("sessionNotFound", "invalidParams"), f"{name!r} was restored: {kind}")
        if not name.startswith("."):  # as the name of a terminal's file that is written in another way
            kind = refused(home, "session/continue", cwd="/w", terminal={"id": name, "kind": "tty"})
            hold(kind == "invalidParams", f"{name!r} was a terminal: {kind}")
    for terminal_id in ("..", ".", "...", "%2e%2e"):
        home.call("session/continue", cwd="/w", terminal={"id": terminal_id, "kind": "tty"}, create=False)
    hold(
        refused(home, "trash/purge", sessionIds=[SESSION], dryRun=False) != "",
        "a session outside the trash was purged",
    )
    hold(sorted(str(path) for path in home.folder.parent.glob("*")) == outside, "something was made outside")
    is_well(home)


def exports_over_our_own_files(_ground: Ground, home: Home) -> None:
    """No client can be talked into writing a transcript over the daemon's files."""
    path = _a_session(home)
    targets = (
        path, path.with_name("another.jsonl"), home.locations.daemon_lock, home.locations.index, home.locations.history,
        home.locations.endpoint, Path(home.locations.data) / "blobs" / ("0" * 64),
        Path(home.locations.data) / "trash" / "x.jsonl",
    )  # fmt: skip
    before = path.read_bytes()
    for target in targets:
        kind = refused(
            home, "session/export", sessionId=SESSION, format="jsonl", path=str(target), overwrite=True
        )
        hold(kind == "invalidParams", f"{target} could be exported to: {kind}")
    linked = home.folder.parent / f"{home.folder.name}-way-in"
    linked.symlink_to(path)
    kind = refused(
        home, "session/export", sessionId=SESSION, format="jsonl", path=str(linked), overwrite=True
    )
    hold(kind == "invalidParams", f"a link to a session could be exported to: {kind}")
    hold(path.read_bytes() == before, "the session was changed")


def imports_of_what_is_no_file(_ground: Ground, home: Home) -> None:
    """Devices, pipes and loops of folders neither hang nor fill the daemon."""
    folder = home.folder.parent / f"{home.folder.name}-imports"
    folder.mkdir()
    os.mkfifo(folder / "a-pipe.jsonl")
    (folder / "round").symlink_to(folder)
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    with open(folder / "sparse.jsonl", "wb") as file:
        file.truncate(1 << 40)
    imported = home.call("session/import", path=str(folder))
    hold(imported["sessions"] == [], "something was imported")
    for name in ("a-pipe.jsonl", "zero.jsonl"):
        refused(home, "session/open", path=str(folder / name))
    is_well(home)
