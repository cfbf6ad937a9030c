"""The callbacks through which an import reports its progress."""

from collections.abc import Callable
from dataclasses import dataclass

from sessiond.protocol import types as t


@dataclass(frozen=True, slots=True)
class Reporting:
    """Receives the progress of an import and each new session. `origin` is that of the entries it appends."""

    report: Callable[[t.Progress], None]
    created: Callable[[t.SessionInfo], None]
    origin: t.Origin
