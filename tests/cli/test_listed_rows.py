"""The rows that `sessiond list` prints."""

from typing import Any

import pytest

from sessiond.cli.commands import sessions

ROW: dict[str, Any] = {
    "sessionId": "5e55104d-0000-4000-8000-000000000001", "title": None, "firstPrompt": "the first prompt", "tags": [],
    "cwd": "/work", "updatedAt": "2026-01-01T00:00:00.000Z", "sizeBytes": 3_000_000, "isDraft": False,
    "readOnly": False, "ephemeral": False,
}  # fmt: skip
COMPLETE = ROW | {"provisional": False, "messageCount": 21, "problemCount": 2}
PROVISIONAL = ROW | {"provisional": True, "messageCount": None, "problemCount": None}


def test_a_provisional_row_has_an_ellipsis_in_place_of_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    sessions._print_list([COMPLETE, PROVISIONAL], with_folders=False)
    complete, provisional = capsys.readouterr().out.splitlines()
    assert "  21 messages  " in complete
    assert complete.endswith("the first prompt (2 problems)")
    assert "messages" not in provisional
    assert "  …  " in provisional
    assert provisional.endswith("the first prompt")


def test_a_list_with_a_session_of_an_agent_has_a_column_with_its_short_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    origin = {"agent": "claude-code", "sessionId": "x", "path": None, "version": None, "gone": True}
    unknown = origin | {"agent": "an-agent-of-the-future", "gone": False}
    rows = [
        COMPLETE,
        COMPLETE | {"sessionId": "of-claude", "origin": origin},
        COMPLETE | {"sessionId": "of-another", "origin": unknown},
    ]
    sessions._print_list(rows, with_folders=False)
    own, claude, other = capsys.readouterr().out.splitlines()
    assert "claude" not in own
    assert "  claude  " in claude
    assert "(deleted" in claude
    assert "  an-agent  " in other
