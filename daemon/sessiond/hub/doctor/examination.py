"""The examination: runs all checks, one after the other, and collects their findings.

It only reads, needs no hub, and blocks. In the daemon it runs in a thread, in a command on the main thread.
"""

from collections.abc import Iterator

from sessiond.hub.doctor.blobs import look_at_blobs
from sessiond.hub.doctor.daemon_log import look_at_daemon_log
from sessiond.hub.doctor.databases import look_at_databases
from sessiond.hub.doctor.folders import look_at_folders
from sessiond.hub.doctor.logs import Logs, look_at_logs
from sessiond.hub.doctor.machine import look_at_machine
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.doctor.writers import look_at_writers
from sessiond.protocol import types as t


def examine(scope: Scope) -> Iterator[None]:
    """Run all checks in steps. Afterwards the findings are in `scope.found`."""
    if not scope.only:
        for look in (look_at_folders, look_at_machine, look_at_daemon_log, look_at_databases):
            yield from look(scope)
    logs = Logs()
    yield from look_at_logs(scope, logs)
    yield from look_at_blobs(scope, logs)
    scope.doing = "Looking for other programs", 95
    yield from look_at_writers(scope, set(logs.named))


def examined(scope: Scope) -> t.Examined:
    """Return how much was examined."""
    return t.Examined(
        session_count=scope.sessions,
        session_bytes=scope.session_bytes,
        blob_count=scope.blobs,
        blob_bytes=scope.blob_bytes,
    )


def is_healthy(findings: list[t.Finding]) -> bool:
    """Return whether all findings are notes or were fixed."""
    return all(it.severity == "note" or it.fixed for it in findings)
