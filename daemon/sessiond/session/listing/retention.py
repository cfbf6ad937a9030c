"""Selects the sessions that are too old or too many by a policy.

The result does not consider whether a session is open, labeled or read-only; the caller does. The first two limits are
NOVA's `max_age_hours` and `max_concurrent_sessions`. All are off by default (decision 0029).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from sessiond.session.listing.path_patterns import PathPatterns

Limit: TypeAlias = Literal["age", "count", "size"]
"""The limit that a session exceeds."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A retention policy. Without limits, no session is ever due.

    Attributes:
        max_age: Limit of the seconds since the last write; None for no limit.
        max_sessions: Limit of the number of sessions; None for no limit.
        tags: If not empty, only sessions with one of these tags are selected and counted.
        agents: If not empty, only sessions that were read from one of these agents.
        projects: If not empty, only sessions whose folder matches one of these patterns.
        max_size: Limit of the bytes of one session; None for no limit.
        max_total: Limit of the bytes of all of them together; None for no limit.

    """

    max_age: float | None = None
    max_sessions: int | None = None
    tags: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    projects: PathPatterns = field(default_factory=PathPatterns)
    max_size: int | None = None
    max_total: int | None = None

    @property
    def is_unlimited(self) -> bool:
        """Whether the policy has no limit."""
        limits = (self.max_age, self.max_sessions, self.max_size, self.max_total)
        return all(limit is None for limit in limits)

    def selects(self, session: "RetentionCandidate") -> bool:
        """Return whether the policy is about a session."""
        if self.tags and not self.tags.intersection(session.tags):
            return False
        if self.agents and session.agent not in self.agents:
            return False
        return not self.projects or self.projects.matches(session.cwd)


class RetentionCandidate(NamedTuple):
    """A session: its name, the time of its last write in seconds since 1970, its tags, and further facts.

    `agent` is the agent that it was read from, `cwd` its folder, and `size` the bytes of its file.
    """

    name: str
    written_at: float
    tags: Iterable[str]
    agent: str | None = None
    cwd: str = ""
    size: int = 0


class Due(NamedTuple):
    """A session that exceeds a limit, and the limit. If it exceeds several, this is the first of age, count, size."""

    name: str
    limit: Limit


def applicable(sessions: Iterable[RetentionCandidate], policy: Policy) -> list[RetentionCandidate]:
    """Return the sessions to which a policy applies."""
    return [session for session in sessions if policy.selects(session)]


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
    total = 0
    for rank, session in enumerate(newest_first):
        kept = total + session.size
        if policy.max_age is not None and now - session.written_at > policy.max_age:
            exceeding.append(Due(session.name, "age"))
        elif policy.max_sessions is not None and rank >= policy.max_sessions:
            exceeding.append(Due(session.name, "count"))
        elif _is_above(session.size, policy.max_size) or _is_above(kept, policy.max_total):
            exceeding.append(Due(session.name, "size"))
        else:
            total = kept
    return exceeding[::-1]


def _is_above(size: int, limit: int | None) -> bool:
    return limit is not None and size > limit
