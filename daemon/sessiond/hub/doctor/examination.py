"""The examination: runs all checks, one after the other, and collects their findings.

It only reads, needs no hub, and blocks. In the daemon it runs in a thread, in a command on the main thread.
"""

from collections.abc import Iterable, Iterator, Sequence

from sessiond.hub.doctor.agent_files import check_agent_files
from sessiond.hub.doctor.blobs import check_blobs
from sessiond.hub.doctor.daemon_log import check_daemon_log
from sessiond.hub.doctor.databases import check_databases
from sessiond.hub.doctor.folders import check_folders
from sessiond.hub.doctor.growth import check_growth
from sessiond.hub.doctor.logs import Logs, check_logs
from sessiond.hub.doctor.machine import check_machine
from sessiond.hub.doctor.originals import check_originals
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.doctor.writers import check_writers
from sessiond.protocol import types as t


def examine(scope: Scope) -> Iterator[None]:
    """Run all checks in steps. Afterwards the findings are in `scope.found`."""
    if not scope.only:
        for check in (
            check_folders, check_machine, check_daemon_log, check_databases, check_agent_files, check_growth,
            check_originals,
        ):  # fmt: skip
            yield from check(scope)
    logs = Logs()
    yield from check_logs(scope, logs)
    yield from check_blobs(scope, logs)
    scope.progress = "Checking for other programs", 95
    yield from check_writers(scope, set(logs.named))


def result_of(scope: Scope, findings: Sequence[t.Finding], per_kind: int) -> t.DoctorResult:
    """Return the result of an examination.

    Args:
        scope: The scope after the examination.
        findings: The findings of the scope, with the outcome of their fixes, and others.
        per_kind: The most findings of one kind and severity to list. Those that were not fixed come first.
    """
    groups: dict[tuple[str, str], list[t.Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.severity), []).append(finding)
    counts = [
        t.FindingCount(
            kind=kind, severity=severity, count=len(group) + scope.unlisted[kind, severity],
            fixed_count=sum(finding.fixed is True for finding in group),
        )
        for (kind, severity), group in groups.items()
    ]  # fmt: skip
    examined = t.Examined(
        session_count=scope.sessions, session_bytes=scope.session_bytes, blob_count=scope.blobs,
        blob_bytes=scope.blob_bytes,
    )  # fmt: skip
    return t.DoctorResult(
        findings=[finding for group in groups.values() for finding in sorted(group, key=_is_fixed)[:per_kind]],
        counts=counts, examined=examined, healthy=is_healthy(counts),
    )  # fmt: skip


def is_healthy(counts: Iterable[t.FindingCount]) -> bool:
    """Return whether all findings are notes or were fixed."""
    return all(count.severity == "note" or count.fixed_count == count.count for count in counts)


def _is_fixed(finding: t.Finding) -> bool:
    return finding.fixed is True
