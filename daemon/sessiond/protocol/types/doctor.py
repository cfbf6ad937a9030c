"""The doctor: what is wrong with sessions and with what is around them, and what was fixed."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sessiond.protocol.types.shared import Params, ProgressToken, Wire

FindingSeverity = Literal["error", "warning", "note"]


class DoctorParams(Params, frozen=True):
    """Look through sessions, blobs, databases, folders and the machine, and say what is wrong and what helps.

    With `paths`, only at these session files or folders of them. `fix` fixes what can be fixed without a doubt;
    whatever it takes away it keeps, and says where. What is sound, and what cannot be fixed, stays as it is.
    """

    fix: bool = False  # repair what can be repaired without doubt
    paths: Annotated[list[str], Meta(max_length=10_000)] = msgspec.field(default_factory=list)  # absolute
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class Place(Wire, frozen=True):
    """Where something was found, as far as it has a place."""

    path: str | None = None
    session_id: str | None = None
    line: int | None = None  # 1-based physical line
    byte_offset: int | None = None
    blob: str | None = None  # its hash


class Finding(Wire, frozen=True):
    """One thing that was found. An `error` is damage or stops work, a `note` is only worth knowing."""

    kind: str  # see the table of findings
    severity: FindingSeverity
    what: str
    where: Place
    advice: str  # what to do next
    fixable: bool  # `fix` can do it
    fixed: bool | None = None  # with `fix`: whether it did
    kept: str | None = None  # where what was taken away lies now
    fix_error: str | None = None  # why `fix` could not do it this time


class Examined(Wire, frozen=True):
    """How much was looked at."""

    sessions: int
    session_bytes: int
    blobs: int
    blob_bytes: int


class DoctorResult(Wire, frozen=True):
    """What was found. `sound` when there is nothing but notes and what was fixed."""

    findings: list[Finding]
    examined: Examined
    sound: bool
