"""The scope of an examination, and the findings that it has collected."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sessiond.config import Config
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.protocol.findings import KINDS, finding

MAX_FINDINGS_PER_KIND: Final = 10_000
"""Limit of findings of one kind and severity that are stored, and can be fixed. Further ones are only counted."""


RECENT_DAYS: Final = 30
"""The days within which a file counts as written lately."""


def device_of(folder: str) -> int | None:
    """Return the device that holds a folder; None if it does not exist."""
    try:
        return os.stat(folder).st_dev  # noqa: PTH116 - a text
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding with its exact path. In the path of the finding itself, bytes that are not UTF-8 are replaced."""

    finding: t.Finding
    path: str


@dataclass(slots=True)
class Scope:
    """The scope and the progress of an examination.

    Attributes:
        locations: The folders and files of sessiond.
        config: The configuration.
        only: The real paths of the files and folders to examine. Empty: everything is examined.
        progress: The progress: a message and a percentage.
        found: The findings.
        unlisted: The number of findings that are not in `found`, by kind and severity.
        sessions: The number of session files that were read, with `session_bytes` in total.
        recent_ns: The time since when a file counts as written lately, in nanoseconds since 1970.
        recent_bytes: The size of the files on the disk of the sessions that were written lately.
        blobs: The number of blobs that were read, with `blob_bytes` in total.
    """

    locations: Locations
    config: Config
    only: Sequence[str] = ()
    progress: tuple[str, int] = ("Checking folders", 0)
    found: list[LocatedFinding] = field(default_factory=list)
    sessions: int = 0
    session_bytes: int = 0
    blobs: int = 0
    blob_bytes: int = 0
    recent_ns: int = field(default_factory=lambda: time.time_ns() - RECENT_DAYS * 86_400_000_000_000)
    recent_bytes: int = 0
    unlisted: Counter[tuple[str, str]] = field(default_factory=Counter)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def data(self) -> Path:
        """The real path of the data folder, as in the refs of the store."""
        return Path(os.path.realpath(self.locations.data))

    @property
    def drafts(self) -> Path:
        """The folder of the draft sessions."""
        return self.data / "drafts"

    @property
    def sessions_folder(self) -> Path:
        """The folder of the sessions."""
        return self.data / "sessions"

    @property
    def trash(self) -> Path:
        """The folder of the trash."""
        return self.data / "trash"

    @property
    def blobs_folder(self) -> Path:
        """The folder of the blobs."""
        return self.data / "blobs"

    def add(
        self,
        kind: str,
        message: str,
        path: str | None,
        *,
        severity: t.FindingSeverity | None = None,
        session_id: str | None = None,
        line: int | None = None,
        byte_offset: int | None = None,
        blob: str | None = None,
        entry_id: str | None = None,
        fixable: bool | None = None,
    ) -> None:
        """Add a finding about the file or folder at `path`, or about none; see `protocol.findings.finding`."""
        group = kind, severity or KINDS[kind].severity
        self._counts[group] += 1
        if self._counts[group] > MAX_FINDINGS_PER_KIND:
            self.unlisted[group] += 1
            return
        found = finding(
            kind, message, path, severity=severity, session_id=session_id, line=line,
            byte_offset=byte_offset, blob=blob, entry_id=entry_id, fixable=fixable,
        )  # fmt: skip
        self.found.append(LocatedFinding(found, path or ""))
