"""The doctor: problems of sessions, of the daemon and of the machine, and repairs."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Params, ProgressToken, Wire


class DoctorParams(Params, frozen=True):
    """Examine sessions, blobs, databases, folders and the machine, and return each problem with advice.

    With `paths`, only these session files or folders are examined. With `fix`, the server repairs what can be repaired
    safely. It does not delete what a repair removes; `kept` names its new place. Files that are sound or cannot be
    repaired are unchanged.
    """

    fix: bool = False  # repair what can be repaired safely
    paths: Annotated[list[str], Meta(max_length=10_000)] = msgspec.field(default_factory=list)  # absolute
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class Place(Wire, frozen=True):
    """The place of a finding, as far as it has one."""

    path: str | None = None
    session_id: str | None = None
    line: int | None = None  # physical line, 1-based
    byte_offset: int | None = None
    blob: str | None = None  # the hash of the blob


class Finding(Wire, frozen=True):
    """One finding. An `error` is damage or prevents work; a `note` is information only."""

    kind: Annotated[str, opened("FindingKind")]  # see the table of findings
    severity: Annotated[str, opened("FindingSeverity")]
    what: str
    where: Place
    advice: str  # the next action
    fixable: bool  # whether `fix` can repair it
    fixed: bool | None = None  # with `fix`: whether it was repaired
    kept: str | None = None  # the new place of what the repair removed
    fix_error: str | None = None  # the reason why the repair failed this time


class Examined(Wire, frozen=True):
    """The amount of data that was examined."""

    sessions: int
    session_bytes: int
    blobs: int
    blob_bytes: int


class DoctorResult(Wire, frozen=True):
    """All findings. `sound` is true if all findings are notes or were repaired."""

    findings: list[Finding]
    examined: Examined
    sound: bool
