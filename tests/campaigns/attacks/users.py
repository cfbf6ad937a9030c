"""Another user of the same machine, who knows where everything lies."""

import json  # noqa: TID251  (an attacker has no msgspec)
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

from campaigns.attacks.asking import command
from campaigns.campaign import Ground, hold
from campaigns.daemons import Home

NOBODY: Final = 65534

_KNOCK: Final = """
import socket, sys
knocking = socket.socket(socket.AF_UNIX)
knocking.settimeout(20)
try:
    knocking.connect(sys.argv[1])
except OSError as error:
    print("refused", type(error).__name__)
    raise SystemExit
try:
    knocking.sendall(b'{"jsonrpc":"2.0","id":1,"method":"server/status"}\\n')
    print("heard", len(knocking.recv(100)))
except OSError:
    print("heard", 0)
"""
_READ: Final = """
import os, sys
read = []
for folder, folders, names in os.walk(sys.argv[1]):
    for name in names:
        try:
            open(os.path.join(folder, name), "rb").read(1)
            read.append(name)
        except OSError:
            pass
print(read)
"""
_LISTEN: Final = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
listening.listen(8)
print("listens", flush=True)
listening.settimeout(30)
client, _ = listening.accept()
client.settimeout(30)
print("heard", len(client.recv(100)), flush=True)
"""


def nobodys_python() -> str | None:
    """An interpreter that another user may run; None when there is none, or we may not be another user."""
    for python in (sys.executable, os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-I", "-S", "-c", "pass"],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                cwd="/",
                check=False,
            )
        except (OSError, ValueError):
            continue
        if done.returncode == 0:
            return python
    return None


def _as_nobody(python: str, program: str, *words: str) -> str:
    done = subprocess.run(
        [python, "-I", "-S", "-c", program, *words],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    hold(done.returncode == 0, f"the attacker's program ended with {done.returncode}: {done.stderr}")
    return done.stdout.strip()


def _open_the_way(ground: Ground, home: Home) -> None:
    """The folders above the daemon's own let everybody through, as home folders often do."""
    for folder in (ground.folder, home.folder):
        folder.chmod(0o755)


def knocks_at_the_socket(ground: Ground, home: Home) -> None:
    """The folder of the socket does not let him in; and if it did, the daemon asks who knocks."""
    python = nobodys_python()
    if python is None:
        ground.cannot_partly("acting as another user: not root, or no Python that `nobody` may run")
        return
    home.call("session/list")
    _open_the_way(ground, home)
    path = Path(home.locations.socket)
    said = _as_nobody(python, _KNOCK, str(path))
    hold(said == "refused PermissionError", f"another user got to the socket: {said}")
    path.parent.chmod(0o755)
    path.chmod(0o666)
    said = _as_nobody(python, _KNOCK, str(path))
    hold(said == "heard 0", f"the daemon answered another user: {said}")
    hold(home.call("server/status")["pid"] == home.pid(), "the daemon is not the same any more")


def reads_files(ground: Ground, home: Home) -> None:
    """He finds nothing to read, wherever he looks."""
    python = nobodys_python()
    if python is None:
        ground.cannot_partly("acting as another user: not root, or no Python that `nobody` may run")
        return
    session = home.call("session/create", cwd="/w")["session"]["sessionId"]
    message = {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "secret"}]},
    }
    home.call("session/append", sessionId=session, entries=[message])
    _open_the_way(ground, home)
    found = _as_nobody(python, _READ, str(home.folder))
    hold(found == "[]", f"another user could read {found}")


def listens_in_our_place(ground: Ground, home: Home) -> None:
    """A command finds his socket where the daemon's should be: it says so, and tells him nothing."""
    python = nobodys_python()
    if python is None:
        ground.cannot_partly("acting as another user: not root, or no Python that `nobody` may run")
        return
    _open_the_way(ground, home)
    run = Path(home.locations.runtime)
    run.mkdir()
    os.chown(run, NOBODY, NOBODY)
    with subprocess.Popen(
        [python, "-I", "-S", "-c", _LISTEN, home.locations.socket],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as listener:
        try:
            assert listener.stdout is not None
            hold(listener.stdout.readline() == "listens\n", "the attacker could not listen")
            done = command(home, "append", "--user", "a secret prompt")
            hold(done.returncode == 69, f"the command ended with {done.returncode}: {done.stderr}")
            hold("user id 65534" in done.stderr, f"it did not say whose socket that is: {done.stderr}")
            heard = listener.stdout.readline()
            hold(heard == "heard 0\n", f"somebody else was told something: {heard!r}")
        finally:
            listener.kill()


def everything_made_is_for_its_owner_only(_ground: Ground, home: Home) -> None:
    """With any umask of the starting program, other users may neither read nor write nor enter."""
    before = os.umask(0)
    try:
        command(home, "append", command(home, "new").stdout.strip(), "--user", "x", "--assistant", "y")
        command(home, "history")
        command(home, "search", "x", "--all")
        command(home, "continue", SESSIOND_TERMINAL="t1")
        home.call("blob/put", data="c2VjcmV0")
        command(
            home,
            "delete",
            json.loads(command(home, "list", "--all", "--json").stdout)["sessions"][0]["sessionId"],
        )
    finally:
        os.umask(before)
    count = 0
    for path in home.folder.rglob("*"):
        mode = path.lstat().st_mode
        hold(not stat.S_IMODE(mode) & 0o077, f"{path} has the rights {stat.filemode(mode)}")
        count += 1
    hold(count > 10, "there was hardly anything to look at")
