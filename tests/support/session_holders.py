"""Processes that hold a session like an agent's process. After a test kills them, the session's files stay."""

import contextlib
import json  # noqa: TID251 - files of other programs are written as they write them
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sessiond.rpc.process import start_time
from support.homes import TESTS

_HOLD = """\
import fcntl, sys
if sys.argv[1] == "lock":
    file = open(sys.argv[2], "w")
    fcntl.flock(file, fcntl.LOCK_EX)
elif sys.argv[1] == "database":
    from pathlib import Path
    from support.writing_opencode import WritingOpenCode
    agent = WritingOpenCode(Path(sys.argv[2]))
    agent.begins()
    agent.asks("Where is the heron?")
    agent.says("In the reeds.")
elif sys.argv[1] == "hook":
    import subprocess
    subprocess.run(["/bin/sh", "-c", sys.argv[2] + "; true"], input=sys.argv[3].encode(),
                   stdout=subprocess.DEVNULL, check=True)
print("ready", flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that runs until it is killed or the test process ends.

    Args:
        words: Its first work: `lock FILE`, `database FILE` (a session of OpenCode begins, with a prompt), or
            `hook COMMAND EVENT` (a shell runs the command).
    """

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HOLD, *(words or ("nothing",))], cwd=TESTS,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self.pid = self._process.pid

    def kill(self) -> None:
        """Kill the process without waiting for it, so that it stays a zombie."""
        os.kill(self.pid, signal.SIGKILL)

    def bury(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def a_holder(*words: str) -> Iterator[Holder]:
    holder = Holder(*words)
    try:
        yield holder
    finally:
        holder.bury()


def register_claude(
    home: Path,
    session: str,
    pid: int,
    *,
    started: int | None = None,
    domain: str | None = None,
    name: str = "",
) -> Path:
    """Write the file by which a running Claude Code names its session."""
    machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    written = {
        "pid": pid, "sessionId": session, "procStart": str(start_time(pid) if started is None else started),
        "pidDomain": domain or f"linux:{machine}:{Path('/proc/self/ns/pid').readlink()}", "status": "busy",
    }  # fmt: skip
    file = home / f".claude/sessions/{name or pid}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(written), encoding="utf-8")
    return file
