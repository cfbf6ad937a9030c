"""The means of an attacker who is the user himself, or speaks through one of his programs."""

import json  # noqa: TID251  (an attacker has no msgspec)
import os
import pty
import socket
import subprocess
import sys
from typing import Any

from campaigns.campaign import Broken, hold
from campaigns.daemons import PATIENCE, Home
from sessiond.client.wire import RpcError

COMMAND = [sys.executable, "-P", "-m", "sessiond"]


def command(home: Home, *words: str, stdin: str = "", **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of this home, its output in pipes. Bytes that are no text become escapes."""
    return subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        env={**home.environment, "PYTHONUTF8": "1", **more},
        cwd=home.folder.parent,
        timeout=PATIENCE * 2,
        check=False,
    )


def on_a_terminal(home: Home, *words: str) -> bytes:
    """Return the output of a command on a terminal, both streams together, through a pager that changes nothing."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [*COMMAND, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**home.environment, "PYTHONUTF8": "1", "TERM": "xterm-256color", "SESSIOND_PAGER": "cat -u"},
            cwd=home.folder.parent,
        ) as process:
            os.close(theirs)
            theirs = -1
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 65_536)
                except OSError:  # EIO: nobody has the other end any more
                    piece = b""
                if not piece:
                    break
                shown += piece
            process.wait(PATIENCE)
            return shown
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)


def raw(home: Home, *bodies: bytes) -> bytes:
    """Return the response of the daemon to these bytes, until it is silent or ends the connection."""
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.connect(home.locations.socket)
        knocking.settimeout(PATIENCE)
        try:
            for body in bodies:
                knocking.sendall(body)
            knocking.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        heard = b""
        try:
            while piece := knocking.recv(65_536):
                heard += piece
        except OSError:
            pass
        return heard


def line(method: str, params: dict[str, Any], number: int = 1) -> bytes:
    """A request as a line of JSON."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def refused(home: Home, method: str, **params: Any) -> str:
    """The kind of error that a request is refused with; `Broken` when it is answered."""
    try:
        answer = home.call(method, **params)
    except RpcError as error:
        return error.kind
    raise Broken(f"{method} {params} was answered: {answer!r:.200}")


def is_well(home: Home) -> None:
    """`Broken` unless the daemon answers."""
    hold(home.call("server/status")["pid"] == home.pid(), "the daemon does not answer any more")
