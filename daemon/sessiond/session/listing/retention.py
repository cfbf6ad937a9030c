"""Selects the sessions that are too old or too many by a policy.

The result does not consider whether a session is open, labeled or read-only; the caller does. The options are NOVA's
`max_age_hours` and `max_concurrent_sessions`, both off by default (decision 0029).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Ground: TypeAlias = Literal["age", "count"]


@dataclass(frozen=True, slots=True)
class Policy:
    """`max_age`: seconds since something was written; `max_sessions`: how many may stay; None: as many as there are.

    With `tags` only sessions with one of them are looked at, and counted.
    """

    max_age: float | None = None
    max_sessions: int | None = None
    tags: frozenset[str] = frozenset()

    @property
    def asks_for_nothing(self) -> bool:
        """Whether no session can ever be due."""
        return self.max_age is None and self.max_sessions is None


class RetentionCandidate(NamedTuple):
    """What is known of a session: a name for it, when it was last written to (seconds since 1970), its tags."""

    name: str
    written_at: float
    tags: Iterable[str]


class Due(NamedTuple):
    """A session that should go, and on what ground; age comes before count."""

    name: str
    ground: Ground


def concerned(sessions: Iterable[RetentionCandidate], policy: Policy) -> list[RetentionCandidate]:
    """The sessions that a policy is about."""
    return [it for it in sessions if not policy.tags or policy.tags.intersection(it.tags)]


def due(sessions: Iterable[RetentionCandidate], policy: Policy, now: float) -> list[Due]:
    """The sessions that should go, the one written to longest ago first."""
    newest_first = sorted(concerned(sessions, policy), key=lambda it: (it.written_at, it.name), reverse=True)
    found: list[Due] = []
    for place, it in enumerate(newest_first):
        if policy.max_age is not None and now - it.written_at > policy.max_age:
            found.append(Due(it.name, "age"))
        elif policy.max_sessions is not None and place >= policy.max_sessions:
            found.append(Due(it.name, "count"))
    return found[::-1]
