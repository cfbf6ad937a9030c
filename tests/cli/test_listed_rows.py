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
