"""What an import reports while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from sessiond.protocol import types as t


@dataclass(frozen=True, slots=True)
class Reporting:
    """Who hears of an import: how far it is, and each new session."""

    told: Callable[[t.Progress], None]
    created: Callable[[t.SessionInfo], None]
    origin: t.Origin
