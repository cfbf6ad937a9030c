"""The doctor: problems of sessions, of the daemon and of the machine, and repairs."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Params, ProgressToken, Wire


class DoctorParams(Params, frozen=True):
    """Examine sessions, blobs, databases, folders and the machine, and return each problem with advice.

    With `paths`, only these session files or folders are examined. With `fix`, the server repairs what can be repaired
    safely. It does not delete what a repair removes; `keptPath` names its new place. Files without problems, and
    those that cannot be repaired, are unchanged.

    With `secrets`, only the secrets that an export removes are looked for, in sessions of every store, drafts
    and the trash, in blobs, and in the history of prompts. Each is a finding `secretFound` with its session, its entry
    and its kind, never with the secret itself. `fix` is refused then.

    The result lists at most `findingsPerKind` findings of each kind and severity, and counts all of them. With `fix`,
    findings that were not repaired are listed first.
    """

    fix: bool = False  # repair what can be repaired safely
    paths: Annotated[list[str], Meta(max_length=10_000)] = msgspec.field(
        default_factory=list
    )  # absolute paths
    # maximum number of listed findings of one kind and severity
    findings_per_kind: Annotated[int, Meta(ge=1, le=1_000)] = 100
    secrets: bool = False  # look for secrets only
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class FindingLocation(Wire, frozen=True):
    """The location of a finding, as far as it has one."""

    path: str | None = None  # the absolute path of the file or folder
    session_id: str | None = None  # the session
    line: int | None = None  # physical line, 1-based
    byte_offset: int | None = None  # the offset of the line's first byte
    blob: str | None = None  # the hash of the blob
    entry_id: str | UnsetType = UNSET  # the entry, only for a secret


class Finding(Wire, frozen=True):
    """One finding. An `error` is damage or prevents work; a `note` is information only."""

    kind: Annotated[str, opened("FindingKind")]  # see the table of findings
    severity: Annotated[str, opened("FindingSeverity")]  # how serious it is
    message: str  # a sentence about this finding
    location: FindingLocation  # the file, line or blob that it concerns
    advice: str  # the next action
    fixable: bool  # whether `fix` can repair it
    fixed: bool | None = None  # with `fix`: whether it was repaired
    kept_path: str | None = None  # the new path of what the repair removed
    fix_error: str | None = None  # the reason why the repair failed this time


class FindingCount(Wire, frozen=True):
    """The number of findings of one kind and severity, listed or not."""

    kind: Annotated[str, opened("FindingKind")]  # the kind
    severity: Annotated[str, opened("FindingSeverity")]  # the severity
    count: int  # the number of findings
    fixed_count: int  # the number of repaired findings


class Examined(Wire, frozen=True):
    """The amount of data that was examined."""

    session_count: int  # the number of session files
    session_bytes: int  # their total size
    blob_count: int  # the number of blobs
    blob_bytes: int  # their total size


class DoctorResult(Wire, frozen=True):
    """The findings, and the amount of data that was examined."""

    findings: list[Finding]  # the findings, at most `findingsPerKind` of each kind and severity
    counts: list[FindingCount]  # the number of all findings, one row for each kind and severity
    examined: Examined  # the amount of data that was examined
    healthy: bool  # true if all findings are notes or were repaired
