"""Which sessions are old or too many."""

from hypothesis import given, strategies as st

from sessiond.session.listing.path_patterns import PathPatterns
from sessiond.session.listing.retention import Due, Policy, RetentionCandidate, due

NOW = 1_000_000.0
SESSIONS = [
    RetentionCandidate("old", NOW - 900, ()),
    RetentionCandidate("new", NOW - 10, ("a",)),
    RetentionCandidate("middle", NOW - 500, ("a", "b")),
]


def test_a_policy_that_says_nothing_asks_for_nothing() -> None:
    assert Policy().is_unlimited
    assert due(SESSIONS, Policy(), NOW) == []


def test_sessions_without_writes_for_too_long_are_due_the_oldest_first() -> None:
    assert due(SESSIONS, Policy(max_age=400), NOW) == [Due("old", "age"), Due("middle", "age")]
    assert due(SESSIONS, Policy(max_age=900), NOW) == []


def test_of_too_many_the_newest_stay() -> None:
    assert due(SESSIONS, Policy(max_sessions=1), NOW) == [Due("old", "count"), Due("middle", "count")]
    assert due(SESSIONS, Policy(max_sessions=3), NOW) == []


def test_tags_say_which_sessions_are_looked_at_and_counted() -> None:
    assert due(SESSIONS, Policy(max_sessions=1, tags=frozenset({"a"})), NOW) == [Due("middle", "count")]
    assert due(SESSIONS, Policy(max_age=1, tags=frozenset({"b", "c"})), NOW) == [Due("middle", "age")]


@given(
    st.lists(st.floats(0, NOW), max_size=20),
    st.none() | st.floats(0, NOW),
    st.none() | st.integers(0, 20),
)
def test_kept_sessions_are_newer_than_deleted_ones_and_as_many_as_allowed(
    times: list[float], max_age: float | None, max_sessions: int | None
) -> None:
    known = [RetentionCandidate(str(number), time, ()) for number, time in enumerate(times)]
    gone = {int(due.name) for due in due(known, Policy(max_age, max_sessions), NOW)}
    stays = [time for number, time in enumerate(times) if number not in gone]
    assert all(times[number] <= min(stays, default=NOW) for number in gone)
    assert max_sessions is None or len(stays) <= max_sessions
    assert max_age is None or all(NOW - stay <= max_age for stay in stays)


OF_AGENTS = [
    RetentionCandidate("claude", NOW - 10, (), "claude-code", "/work/app", 100),
    RetentionCandidate("gemini", NOW - 20, (), "gemini", "/work/scratch/a", 60),
    RetentionCandidate("codex", NOW - 30, (), "codex", "/home/scratch", 50),
    RetentionCandidate("own", NOW - 40, (), None, "/work/scratch", 40),
]


def test_a_policy_for_an_agent_leaves_the_others_alone() -> None:
    policy = Policy(max_age=5, agents=frozenset({"gemini", "codex"}))
    assert due(OF_AGENTS, policy, NOW) == [Due("codex", "age"), Due("gemini", "age")]


def test_a_policy_for_a_project_selects_by_the_folder() -> None:
    policy = Policy(max_age=5, projects=PathPatterns(["/work/scratch"]))
    assert due(OF_AGENTS, policy, NOW) == [Due("own", "age"), Due("gemini", "age")]


def test_a_session_above_the_size_is_due() -> None:
    assert due(OF_AGENTS, Policy(max_size=60), NOW) == [Due("claude", "size")]


def test_the_newest_sessions_stay_within_the_total() -> None:
    assert due(OF_AGENTS, Policy(max_total=210), NOW) == [Due("own", "size")]
    assert due(OF_AGENTS, Policy(max_total=200), NOW) == [Due("codex", "size")]
    assert due(OF_AGENTS, Policy(max_total=250), NOW) == []


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(0, 300))
def test_the_sessions_that_stay_have_at_most_the_total(sizes: list[int], limit: int) -> None:
    sessions = [RetentionCandidate(str(at), NOW - at, (), size=size) for at, size in enumerate(sizes)]
    gone = {each.name for each in due(sessions, Policy(max_total=limit), NOW)}
    assert sum(session.size for session in sessions if session.name not in gone) <= limit
