"""What the doctor looks at, and what he has found: one value for the whole of an examination."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sessiond.config import Config
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.protocol.findings import finding

MAX_FINDINGS_PER_KIND: Final = 10_000
"""Findings of one kind that are kept: the same in every file of a large store helps nobody."""


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding, and the very path that it is about: the one of the finding may have lost what is no text."""

    finding: t.Finding
    path: str


@dataclass(slots=True)
class Scope:
    """Where to look. `only`: real paths of files or folders, and nothing but them; empty: everywhere.

    `doing` says what is being done, and how many of a hundred parts are.
    """

    places: Locations
    chosen: Config
    only: Sequence[str] = ()
    doing: tuple[str, int] = ("Looking at folders", 0)
    found: list[LocatedFinding] = field(default_factory=list)
    sessions: int = 0
    session_bytes: int = 0
    blobs: int = 0
    blob_bytes: int = 0
    _counts: dict[str, int] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """The data folder, as the store names it."""
        return Path(os.path.realpath(self.places.data))

    @property
    def drafts(self) -> Path:
        return self.data / "drafts"

    @property
    def sessions_folder(self) -> Path:
        return self.data / "sessions"

    @property
    def trash(self) -> Path:
        return self.data / "trash"

    @property
    def blobs_folder(self) -> Path:
        return self.data / "blobs"

    def add(
        self,
        kind: str,
        what: str,
        path: str,
        *,
        severity: t.FindingSeverity | None = None,
        session_id: str | None = None,
        line: int | None = None,
        byte_offset: int | None = None,
        blob: str | None = None,
        fixable: bool | None = None,
    ) -> None:
        """Note a finding about what lies at `path`."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] <= MAX_FINDINGS_PER_KIND:
            told = finding(
                kind, what, path, severity=severity, session_id=session_id, line=line,
                byte_offset=byte_offset, blob=blob, fixable=fixable,
            )  # fmt: skip
            self.found.append(LocatedFinding(told, path))
