"""The states of a board, by the last entry and the time since it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from sessiond.client.board import WAITING_SECONDS, WORKING_SECONDS, State, state_of
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


@pytest.mark.parametrize(
    ("age", "origin", "state"),
    [
        (WAITING_SECONDS - 1, {}, "waiting"),
        (WAITING_SECONDS + 1, {}, "stopped"),
        (0, {"gone": True}, "stopped"),
        (0, {"automated": True}, "stopped"),
        (0, {"path": "/p/s/subagents/agent-1.jsonl"}, "stopped"),
        (0, {"ended": True}, "stopped"),
    ],
)
def test_a_followed_agent_that_has_ended_or_is_answered_by_a_program_waits_for_no_person(
    age: float, origin: dict[str, Any], state: State
) -> None:
    usual = {"agent": "claude-code", "session_id": "x", "path": "/p/s.jsonl", "version": None, "gone": False}
    found = msgspec.structs.replace(session("complete", age), origin=t.SessionOrigin(**{**usual, **origin}))
    assert state_of(found, NOW) == state


def test_an_agent_that_has_ended_in_the_middle_of_a_turn_does_not_work() -> None:
    origin = t.SessionOrigin(agent="codex", session_id="x", path=None, version=None, gone=False, ended=True)
    assert state_of(msgspec.structs.replace(session("interrupted", 0), origin=origin), NOW) == "stopped"
    assert state_of(msgspec.structs.replace(session("error", 0), origin=origin), NOW) == "failed"
