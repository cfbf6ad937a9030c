"""Variables and files that a daemon must not inherit, and sockets that it must not offer to others."""

import os
import re
import socket
import subprocess
import time
from pathlib import Path

from campaigns.attacks.asking import COMMAND, is_well, line
from campaigns.attacks.users import NOBODY, nobodys_python
from campaigns.campaign import Ground, hold
from campaigns.daemons import PATIENCE, Home


def variables_code_and_descriptors_of_the_starter(_ground: Ground, home: Home) -> None:
    """Secrets of its environment, modules in its folder, and its open files stay with it."""
    folder = home.folder.parent / f"{home.folder.name}-trap"
    folder.mkdir()
    sprung = folder / "sprung"
    trap = f"open({str(sprung)!r}, 'a').write('x')\n"
    for name in ("msgspec.py", "watchfiles.py", "logging.py", "sitecustomize.py"):
        (folder / name).write_text(trap, encoding="utf-8")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        done = subprocess.run(
            [COMMAND[0], "-I", *COMMAND[2:], "new"],
            env={
                **home.environment,
                "AWS_SECRET": "THE-SECRET",
                "PYTHONPATH": str(folder),
                "LD_DEBUG_OUTPUT": "x",
            },
            cwd=folder,
            capture_output=True,
            close_fds=False,
            encoding="utf-8",
            check=False,
        )
        hold(done.returncode == 0, f"the command failed: {done.stderr}")
        os.close(writing)
        writing = -1
        hold(os.read(reading, 1) == b"", "the daemon holds a descriptor of whoever started it")
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    pid = home.pid()
    told = Path(f"/proc/{pid}/environ").read_bytes()
    for variable in ("AWS_SECRET", "PYTHONPATH", "LD_DEBUG_OUTPUT", "THE-SECRET"):
        hold(variable.encode() not in told, f"{variable} came along")
    hold(Path(f"/proc/{pid}/cwd").readlink() == Path("/"), "the daemon stays in a folder")
    hold(not sprung.exists(), "code of the folder where it was started was run")
    is_well(home)


def knocks_at_the_tcp_listener(_ground: Ground, home: Home) -> None:
    """Where there is one, it opens to nobody without the token, and a web page is not even told that it is there."""
    port = _tcp_listener(home)
    ask = line("server/status", {})
    wrong = line("server/authenticate", {"token": "x" * 43})
    token = Path(home.locations.tcp_token).read_text(encoding="ascii").strip()
    greeting = line(
        "initialize", {"capabilities": {}, "initializationOptions": {"sessiond": {"token": token}}}
    )
    page = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(ask), ask)
    for said in (
        ask,
        wrong + ask,
        greeting + ask,
        page,
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01" + bytes(100),
        b"",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as knocking:
            heard = b""
            try:
                knocking.sendall(said)
                knocking.shutdown(socket.SHUT_WR)
                while piece := knocking.recv(65_536):
                    heard += piece
            except OSError:
                pass
        hold(b"result" not in heard, f"{said[:30]!r} was answered: {heard!r:.200}")
        hold(not said.startswith((b"POST", b"GET")) or heard == b"", f"a web page was told {heard!r:.200}")
    is_well(home)


_HALF_OPEN = """
import collections, socket, sys
held = collections.deque()
print("begun", flush=True)
while True:
    half = socket.socket()
    half.settimeout(5)
    try:
        half.connect(("127.0.0.1", int(sys.argv[1])))
        half.send(b"Content-Le")
    except OSError:
        half.close()
        continue
    held.append(half)
    if len(held) > 300:
        held.popleft().close()
"""
_LOGINS = 20


def half_open_connections_at_the_tcp_listener(ground: Ground, home: Home) -> None:
    """Another user opens connections without end and finishes none; each login of ours succeeds, even a slow one."""
    port = _tcp_listener(home)
    token = Path(home.locations.tcp_token).read_text(encoding="ascii").strip()
    python = nobodys_python()
    if python is None:
        ground.cannot_partly("acting as another user: not root, or no Python that `nobody` may run")
        return
    command = [python, "-I", "-S", "-c", _HALF_OPEN, str(port)]
    attacker = subprocess.Popen(
        command, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", stdout=subprocess.PIPE
    )
    try:
        assert attacker.stdout is not None
        hold(attacker.stdout.readline() == b"begun\n", "the attacker's program did not begin")
        for _ in range(_LOGINS):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as ours:
                time.sleep(0.1)  # as through a tunnel: the attacker opens hundreds of connections meanwhile
                ours.sendall(line("server/authenticate", {"token": token}))
                answer = ours.recv(65_536)
                hold(b'"result":{}' in answer, f"a login of ours was answered {answer!r:.200}")
    finally:
        attacker.kill()
        attacker.wait()
        if attacker.stdout is not None:
            attacker.stdout.close()
    is_well(home)


def _tcp_listener(home: Home) -> int:
    """The port of a TCP listener of this home's daemon."""
    Path(home.locations.config).mkdir(mode=0o700)
    Path(home.locations.config_file).write_text('[listen]\ntcp = "127.0.0.1:0"\n', encoding="utf-8")
    host, _, port = str(home.call("server/status")["tcp"]).rpartition(":")
    hold(host == "127.0.0.1", f"the listener is at {host}")
    return int(port)


def sockets_to_the_world(_ground: Ground, home: Home) -> None:
    """Nobody is offered a port, on any interface."""
    home.call("session/list")
    pid = home.pid()
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        found = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
        if found:
            sockets.add(found[1])
    for kind in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        table = Path(f"/proc/{pid}/net/{kind}")
        if table.exists():
            inodes = {
                fields[9]
                for row in table.read_text(encoding="ascii").splitlines()[1:]
                if (fields := row.split())
            }
            hold(not inodes & sockets, f"the daemon has a {kind} socket")
