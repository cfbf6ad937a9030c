"""The examination: runs all checks, one after the other, and collects their findings.

It only reads, needs no hub, and blocks. In the daemon it runs in a thread, in a command on the main thread.
"""

from collections.abc import Iterable, Iterator, Sequence

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


def result_of(scope: Scope, findings: Sequence[t.Finding], per_kind: int) -> t.DoctorResult:
    """Return the result of an examination.

    Args:
        scope: The scope after the examination.
        findings: The findings of the scope, with the outcome of their fixes, and others.
        per_kind: The most findings of one kind and severity to list. Those that were not fixed come first.
    """
    groups: dict[tuple[str, str], list[t.Finding]] = {}
    for it in findings:
        groups.setdefault((it.kind, it.severity), []).append(it)
    counts = [
        t.FindingCount(
            kind=kind, severity=severity, count=len(group) + scope.unlisted[kind, severity],
            fixed_count=sum(it.fixed is True for it in group),
        )
        for (kind, severity), group in groups.items()
    ]  # fmt: skip
    examined = t.Examined(
        session_count=scope.sessions, session_bytes=scope.session_bytes, blob_count=scope.blobs,
        blob_bytes=scope.blob_bytes,
    )  # fmt: skip
    return t.DoctorResult(
        findings=[it for group in groups.values() for it in sorted(group, key=_is_fixed)[:per_kind]],
        counts=counts, examined=examined, healthy=is_healthy(counts),
    )  # fmt: skip


def is_healthy(counts: Iterable[t.FindingCount]) -> bool:
    """Return whether all findings are notes or were fixed."""
    return all(it.severity == "note" or it.fixed_count == it.count for it in counts)


def _is_fixed(finding: t.Finding) -> bool:
    return finding.fixed is True
