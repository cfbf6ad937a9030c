"""The rows that `sessiond list` prints."""

from typing import Any

import pytest

from sessiond.cli.main import run
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import Style
from sessiond.distinctions import short_ids
from support.answering_daemons import a_daemon_that_answers

ROW: dict[str, Any] = {
    "sessionId": "5e55104d-0000-4000-8000-000000000001", "title": None, "firstPrompt": "the first prompt", "tags": [],
    "cwd": "/work", "updatedAt": "2026-01-01T00:00:00.000Z", "sizeBytes": 3_000_000, "isDraft": False,
    "readOnly": False, "ephemeral": False,
}  # fmt: skip
COMPLETE = ROW | {"provisional": False, "messageCount": 21, "problemCount": 2}
PROVISIONAL = ROW | {"provisional": True, "messageCount": None, "problemCount": None}


def listed(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that the command prints of a daemon with these sessions."""
    with a_daemon_that_answers({"session/list": lambda _: {"sessions": rows, "totalCount": 0}}):
        assert run(["list"]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_provisional_row_has_an_ellipsis_in_place_of_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    complete, provisional = listed([COMPLETE, PROVISIONAL], capsys)
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
    own, claude, other = listed(rows, capsys)
    assert "claude" not in own
    assert "  claude  " in claude
    assert "(deleted" in claude
    assert "  an-agent  " in other


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (90, "5e55104d  2 d ago  3 messages  2.9 kB  /work  Why does the parser skip the last line?"),
        (66, "5e55104d  2 d ago  3 messages  /work  Why does the parser skip th…"),
        (50, "5e55104d  2 d ago  /work  Why does the parser ski…"),
        (44, "5e55104d  2 d ago  Why does the parser skip…"),
        (40, "5e55104d  Why does the parser skip the…"),
        (20, "5e55104d  Why does…"),
    ],
)
def test_a_title_is_what_stays_in_a_narrow_terminal(columns: int, shown: str) -> None:
    row = ["5e55104d", "2 d ago", "3 messages", "2.9 kB", "/work", "Why does the parser skip the last line?"]
    style = Style(colors=False, columns=columns, boxes=True)
    assert list(aligned([row], style, (), (3, 2, 4, 1))) == [shown]


def test_ids_have_the_one_width_that_distinguishes_them() -> None:
    assert short_ids(["01a1f866-0d18-7b", "01a1f866-0d0d-7a", "5e55104d-0000"]) == {
        "01a1f866-0d18-7b": "01a1f866-0d1",
        "01a1f866-0d0d-7a": "01a1f866-0d0",
        "5e55104d-0000": "5e55104d-000",
    }
    assert short_ids(["5e55104d-0000", "5e55104e-0000"])["5e55104d-0000"] == "5e55104d"
