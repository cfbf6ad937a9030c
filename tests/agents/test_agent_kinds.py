"""Kinds of lines of a newer agent that our reader does not know are reported by name."""

import json  # noqa: TID251 - lines as an agent writes them
from pathlib import Path

import pytest

from support import agent_kinds
from support.real_agents import NAMES, RealAgents
from support.scripted_model import ScriptedModel

TURNS = (
    ("user", agent_kinds.QUESTION),
    ("assistant", agent_kinds.ANSWER),
    ("user", agent_kinds.SECOND_QUESTION),
    ("assistant", agent_kinds.SECOND_ANSWER),
)


def of_claude(*more: dict[str, object]) -> bytes:
    """A file of Claude Code with the two turns, and further lines after them."""
    lines: list[dict[str, object]] = []
    for number, (role, text) in enumerate(TURNS):
        lines.append(
            {
                "type": role,
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "timestamp": f"2026-03-01T08:00:0{number}.000Z",
                "sessionId": "0fd630f1-f29d-4da9-953f-48f1a09f76b5",
                "message": {"role": role, "model": "m", "content": [{"type": "text", "text": text}]},
            }
        )
    return b"".join(json.dumps(item).encode() + b"\n" for item in (*lines, *more))


def news(data: bytes) -> list[str]:
    return list(agent_kinds.news("claude-code", "session.jsonl", data))


def test_a_session_of_known_lines_has_no_news() -> None:
    assert news(of_claude({"type": "queue-operation", "operation": "enqueue"})) == []


def test_a_line_of_an_unknown_kind_is_news_with_its_kind() -> None:
    assert news(of_claude({"type": "dream-record", "dream": "of fish"})) == [
        "unknown kind of line: dream-record"
    ]


def test_a_text_that_is_not_read_is_news() -> None:
    first_turn = b"".join(of_claude().splitlines(keepends=True)[:2])
    assert news(first_turn) == [
        f"not read: {agent_kinds.SECOND_QUESTION}",
        f"not read: {agent_kinds.SECOND_ANSWER}",
    ]


@pytest.mark.agents
@pytest.mark.parametrize("name", NAMES)
def test_a_tool_call_and_a_resume_of_the_installed_agent_have_no_news(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with ScriptedModel() as model:
        agents = RealAgents(tmp_path / "home", model.url)
        [session] = agent_kinds.two_turns(name, agents, model, project)[-1:]
        results = model.request_with(agent_kinds.SECOND_QUESTION).texts("result")
    assert any("a heron" in text for text in results)
    assert list(agent_kinds.news(name, session.name, session.data)) == []
