"""`serve` and `attach --stdio`: the ways in which this command becomes the daemon, or a pipe to it.

`serve --stdio` serves one client on standard input and output, and is the daemon while that lasts: it holds
the lock and listens like any other, so that sessions never have two owners. Its life is that client's,
which is what a container or a test wants; an editor wants `attach --stdio`. When a daemon runs already, it
says so and attaches.
"""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def serve(*, stdio: bool, detach: bool, ready_fd: int | None) -> int:
    """Run `sessiond serve` and return its exit status (see `server/process/main.py`; 75: another daemon runs).

    `ready_fd` is how a client starts the daemon: the process leaves its parent, and that descriptor carries
    one line, `READY` or `FAIL <status> <reason>`.
    """
    if detach:
        return _in_the_background()
    if ready_fd is not None:
        return _for_a_client(ready_fd)
    if stdio:
        return _on_stdio()
    return _in_the_foreground()


def attach_stdio() -> int:
    """Run `sessiond attach --stdio`; exit status 1: it could not go on. Raises `CannotConnect`."""
    from sessiond.client import attach
    from sessiond.client.conversation import GreetingRefused

    def say(words: str) -> None:
        with contextlib.suppress(OSError):  # an editor may have closed its end of it
            print(f"sessiond: {words}", file=sys.stderr, flush=True)

    try:
        attach.attach(0, 1, say)
    except (attach.DaemonWentAway, attach.NotMessages, GreetingRefused) as error:
        say(str(error))
        return 1
    return 0


def _in_the_background() -> int:
    from sessiond.client.daemon_socket import read_endpoint
    from sessiond.client.dial import connect
    from sessiond.paths import places

    where = places()
    connect(where).close()
    told = read_endpoint(where)
    print(f"sessiond runs (process {told.get('pid')}) and listens at {told.get('socket')}")
    return 0


def _in_the_foreground() -> int:
    from sessiond.server.process import main

    try:
        return main.run(_nobody_waits)
    except main.CannotServe as error:
        print(f"sessiond: {error}", file=sys.stderr)
        return error.status


def _nobody_waits(stop: Callable[[], None]) -> None:
    """Say nothing: the log does, and goes to standard error in the foreground."""


def _for_a_client(ready_fd: int) -> int:
    # The client is not to be the daemon's parent: it would have to wait for it, and hold it as a zombie
    # until it does.
    if os.fork():
        os._exit(0)
    os.set_inheritable(ready_fd, False)

    from sessiond.server.process import main

    try:
        return main.run(lambda stop: _tell(ready_fd, "READY"))
    except main.CannotServe as error:
        _tell(ready_fd, f"FAIL {error.status} {error}")
        return error.status


def _tell(ready_fd: int, word: str) -> None:
    line = " ".join(word.split()) + "\n"
    with contextlib.suppress(BrokenPipeError):  # the client is gone, but a daemon is there for all of them
        os.write(ready_fd, line.encode(errors="replace"))
    os.close(ready_fd)


def _on_stdio() -> int:
    import socket
    import threading

    from sessiond.client import forward
    from sessiond.server.process import main

    ours, theirs = socket.socketpair()
    pumps: list[threading.Thread] = []

    def ready(stop: Callable[[], None]) -> None:
        def pump() -> None:
            with ours:
                forward.pump(0, 1, ours)
            stop()

        # Not before this, since what is read from standard input cannot be put back for another way to
        # serve it.
        pumps.append(threading.Thread(target=pump, name="stdio", daemon=True))
        pumps[0].start()

    try:
        status = main.run(ready, first_client=theirs)
    except main.CannotServe as error:
        ours.close()
        theirs.close()
        print(f"sessiond: {error}", file=sys.stderr)
        if error.status != main.ANOTHER_RUNS:
            return error.status
        print("sessiond: attaching to it", file=sys.stderr)
        return attach_stdio()
    # What was said to the client last is on its way out.
    pumps[0].join(timeout=2.0)
    return status
