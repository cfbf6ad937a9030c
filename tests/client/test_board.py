"""The states of a board, by the last entry and the time since it."""

from datetime import UTC, datetime

import pytest

from sessiond.client.board import WORKING_SECONDS, State, state_of
from sessiond.protocol import types as t

NOW = datetime(2026, 2, 16, 12, tzinfo=UTC).timestamp()


def session(lifecycle: str, age: float) -> t.ListedSession:
    at = datetime.fromtimestamp(NOW - age, UTC).isoformat()
    return t.ListedSession(
        session_id="abc", path=None, cwd="/w", title=None, tags=[], created_at=at, updated_at=at, first_prompt=None,
        leaf_id="a", size_bytes=1, parent_session_id=None, parent_path=None, is_draft=False, read_only=False,
        message_count=1, entry_count=1, last_seq=1, problem_count=0, lifecycle=lifecycle, model=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lifecycle", "age", "state"),
    [
        ("interrupted", 0, "working"),
        ("interrupted", WORKING_SECONDS - 1, "working"),
        ("interrupted", WORKING_SECONDS + 1, "stopped"),
        ("complete", 0, "waiting"),
        ("complete", 10 * WORKING_SECONDS, "waiting"),
        ("empty", 0, "waiting"),
        ("aborted", 0, "stopped"),
        ("error", 10 * WORKING_SECONDS, "failed"),
    ],
)
def test_the_state_follows_from_the_last_turn_and_its_age(lifecycle: str, age: float, state: State) -> None:
    assert state_of(session(lifecycle, age), NOW) == state
