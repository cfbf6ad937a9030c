"""Daemons by the hundred: one process loads the product once, and each daemon is a fork of it.

A fork runs the product's own `server.main.run`, under its own home, as a process of its own. Before
that, faults of `mutations` may be put into it by name; the product knows nothing of them.
"""

import contextlib
import json  # noqa: TID251  (small messages of our own)
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaigns.campaign import Broken
from campaigns.daemons import Home, kill_the_same, start_time

_TESTS = Path(__file__).resolve().parents[1]
"""Where Python finds this package."""


class Nursery:
    """Starts daemons; ends those that still run when it is closed."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def start(self, home: Home, faults: Sequence[str] = ()) -> int:
        """A daemon in this home, ready; its process id. Raises `Broken` with its reason when it did not start."""
        asked = {"home": str(home.folder), "faults": list(faults)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or b'["the nursery has ended"]')
        if not isinstance(answer, int):
            raise Broken(f"no daemon in {home.folder}: {answer[0]}{_last_words(home)}")
        return answer


def _last_words(home: Home) -> str:
    """The end of what daemons there said on standard error, on lines of its own."""
    try:
        said = (Path(home.locations.state) / "stderr").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"\n{error}"
    return "".join(f"\n{line}" for line in said.splitlines()[-15:])


@contextlib.contextmanager
def nursery() -> Iterator[Nursery]:
    """The nursery as a child of ours. Its daemons end with it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SESSIOND_")}
    with subprocess.Popen(
        [sys.executable, "-m", "campaigns.nursery"],
        cwd=_TESTS,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield Nursery(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def load_the_product() -> None:
    """Import all that a daemon imports in its life, so that a fork has nothing left to import."""
    import campaigns.mutations  # noqa: F401
    import sessiond.hub.hub
    import sessiond.hub.idempotency.journal
    import sessiond.hub.index.worker
    import sessiond.server.process.main
    import sessiond.server.server
    import sessiond.store.files.store
    import sessiond.store.memory  # noqa: F401


def _serve() -> None:
    """Fork a daemon for each line of standard input, and answer with its process id or with what is wrong."""
    import gc

    load_the_product()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to bury them
    children: dict[int, int | None] = {}  # when they began, since ids are given again
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        told, telling = os.pipe()
        child = os.fork()
        if not child:
            os.close(told)
            _be_a_daemon(asked["home"], asked["faults"], telling)
        os.close(telling)
        children = {pid: began for pid, began in children.items() if start_time(pid) == began}
        children[child] = start_time(child)
        with open(told, "rb") as word:
            answer = word.read().decode(errors="replace")
        print(json.dumps(child if answer == "READY" else [answer or "it ended without a word"]), flush=True)
    for child, began in children.items():
        kill_the_same(child, began)


def _be_a_daemon(home: str, faults: list[str], telling: int) -> None:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.environ["SESSIOND_HOME"] = home
        Path(home, "state").mkdir(mode=0o700, parents=True, exist_ok=True)
        null = os.open(os.devnull, os.O_RDONLY)
        log = os.open(f"{home}/state/stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number, descriptor in enumerate((null, log, log)):
            os.dup2(descriptor, number)

        from campaigns import mutations
        from sessiond.server.process import main
        from support import image_blob_daemon

        image_blob_daemon.be()
        for fault in faults:
            mutations.put_in(fault)

        def ready(_stop: object) -> None:
            os.write(telling, b"READY")
            os.close(telling)

        try:
            status = main.run(ready)
        except main.CannotServe as error:
            os.write(telling, f"{error.status} {error}".encode())
            status = error.status
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
