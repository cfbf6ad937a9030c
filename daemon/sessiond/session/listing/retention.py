"""Selects the sessions that are too old or too many by a policy.

The result does not consider whether a session is open, labeled or read-only; the caller does. The options are NOVA's
`max_age_hours` and `max_concurrent_sessions`, both off by default (decision 0029).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Limit: TypeAlias = Literal["age", "count"]
"""The limit that a session exceeds."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A retention policy. Without limits, no session is ever due.

    Attributes:
        max_age: Limit of the seconds since the last write; None for no limit.
        max_sessions: Limit of the number of sessions; None for no limit.
        tags: If not empty, only sessions with one of these tags are selected and counted.

    """

    max_age: float | None = None
    max_sessions: int | None = None
    tags: frozenset[str] = frozenset()

    @property
    def is_unlimited(self) -> bool:
        """Whether the policy has no limit."""
        return self.max_age is None and self.max_sessions is None


class RetentionCandidate(NamedTuple):
    """A session: its name, the time of its last write in seconds since 1970, and its tags."""

    name: str
    written_at: float
    tags: Iterable[str]


class Due(NamedTuple):
    """A session that exceeds a limit, and the limit. If it exceeds both limits, this is the age."""

    name: str
    limit: Limit


def applicable(sessions: Iterable[RetentionCandidate], policy: Policy) -> list[RetentionCandidate]:
    """Return the sessions to which a policy applies."""
    return [session for session in sessions if not policy.tags or policy.tags.intersection(session.tags)]


def _age_key(session: RetentionCandidate) -> tuple[float, str]:
    return session.written_at, session.name


def due(sessions: Iterable[RetentionCandidate], policy: Policy, now: float) -> list[Due]:
    """Return the sessions that exceed a limit, the one with the oldest last write first.

    Args:
        sessions: All sessions.
        policy: The limits.
        now: The current time in seconds since 1970.

    """
    newest_first = sorted(applicable(sessions, policy), key=_age_key, reverse=True)
    exceeding: list[Due] = []
    for rank, session in enumerate(newest_first):
        if policy.max_age is not None and now - session.written_at > policy.max_age:
            exceeding.append(Due(session.name, "age"))
        elif policy.max_sessions is not None and rank >= policy.max_sessions:
            exceeding.append(Due(session.name, "count"))
    return exceeding[::-1]
