"""The commands `serve` and `attach --stdio`: run the daemon in this process, or connect standard I/O to it.

`serve --stdio` serves one client on standard input and output, and is the daemon meanwhile: it holds the lock and
listens like any other, so that sessions never have two owners. It ends with that client, as a container or a test
requires; editors use `attach --stdio`. If a daemon runs already, `serve --stdio` prints that and attaches.
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

    Args:
        stdio: Serve one client on standard input and output.
        detach: Start the daemon in the background.
        ready_fd: Set by a client that starts the daemon. The process leaves its parent, and this descriptor gets one
            line, `READY` or `FAIL <status> <reason>`.
    """
    if detach:
        return _in_the_background()
    if ready_fd is not None:
        return _for_a_client(ready_fd)
    if stdio:
        return _on_stdio()
    return _in_the_foreground()


def attach_stdio() -> int:
    """Run `sessiond attach --stdio`. Returns 1 if the connection cannot be restored. Raises `DaemonConnectionError`."""
    from sessiond.client import attach
    from sessiond.client.conversation import HandshakeRefusedError

    def report(message: str) -> None:
        with contextlib.suppress(OSError):  # an editor may have closed standard error
            print(f"sessiond: {message}", file=sys.stderr, flush=True)

    try:
        attach.attach(0, 1, report)
    except (attach.ConnectionLostError, attach.UnframedInputError, HandshakeRefusedError) as error:
        report(str(error))
        return 1
    return 0


def _in_the_background() -> int:
    from sessiond.client.blocking import connect

    with connect() as daemon:
        status = daemon.call("server/status")
    print(f"sessiond runs (process {status['pid']}) and listens at {status.get('socket')}")
    return 0


def _in_the_foreground() -> int:
    _prepare_imports()
    from sessiond.server.process import main

    try:
        return main.run(_ignore_ready)
    except main.CannotServe as error:
        print(f"sessiond: {error}", file=sys.stderr)
        return error.status


def _prepare_imports() -> None:
    """Import asyncio and hashlib without OpenSSL; it must happen before any other module imports them.

    A daemon of a database keeps OpenSSL, because asyncio needs it for TLS.
    """
    from sessiond import config, config_values, paths

    try:
        url = config.read(paths.find_locations().config_file).store.url
    except (config.InvalidConfigError, paths.UnsafeFolderError):
        url = config_values.FILES  # `run` reports it
    if not url.startswith(config_values.POSTGRES):
        from sessiond.lean_imports import import_without_openssl

        import_without_openssl()


def _ignore_ready(stop: Callable[[], None]) -> None:
    """Do nothing: in the foreground, the log on standard error reports readiness."""


def _for_a_client(ready_fd: int) -> int:
    # The daemon must not be a child of the client: if it ended, it would be a zombie until the client waits for it.
    if os.fork():
        os._exit(0)
    os.set_inheritable(ready_fd, False)
    _prepare_imports()
    from sessiond.server.process import main

    try:
        return main.run(lambda stop: _report_readiness(ready_fd, "READY"))
    except main.CannotServe as error:
        _report_readiness(ready_fd, f"FAIL {error.status} {error}")
        return error.status


def _report_readiness(ready_fd: int, word: str) -> None:
    line = " ".join(word.split()) + "\n"
    with contextlib.suppress(BrokenPipeError):  # the client has ended, but the daemon serves other clients
        os.write(ready_fd, line.encode(errors="replace"))
    os.close(ready_fd)


def _on_stdio() -> int:
    import socket
    import threading

    from sessiond.client import forward

    _prepare_imports()
    from sessiond.server.process import main

    ours, theirs = socket.socketpair()
    pumps: list[threading.Thread] = []

    def ready(stop: Callable[[], None]) -> None:
        def pump() -> None:
            with ours:
                forward.pump(0, 1, ours)
            stop()

        # Not earlier: bytes that were read from standard input could not be read again by `attach_stdio`.
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
    # The thread still writes the last responses.
    pumps[0].join(timeout=2.0)
    return status
