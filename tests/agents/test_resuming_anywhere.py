"""A session goes on in each real agent, and the request that reaches the model holds what was said before.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import json  # noqa: TID251 - what the command prints, and lines as a client writes them
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent_desk import WRITTEN, AgentDesk, an_agent_desk
from support.formats import PNG
from support.logs import tool_call
from support.real_agents import NAMES, read_call
from support.scripted_model import Request

pytestmark = pytest.mark.agents


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[AgentDesk]:
    with an_agent_desk(tmp_path) as desk:
        (desk.project / "notes.txt").write_text("three herons", encoding="utf-8")
        yield desk


def texts(request: Request) -> str:
    return "\n".join(part.text for part in request.parts)


def assert_legal(request: Request) -> None:
    """Each call has an id that providers accept, and one result behind it, before anything else is said."""
    waiting: list[str] = []
    for part in request.parts:
        if part.kind == "call":
            waiting.append(part.call_id)
            assert re.fullmatch("[A-Za-z0-9_-]+", part.call_id)
        elif part.kind == "result":
            assert part.call_id in waiting
            waiting.remove(part.call_id)
        elif part.kind == "user":
            assert not waiting, f"{waiting} have no result before {part.text!r:.80}"
    assert not waiting


def told(desk: AgentDesk) -> str:
    """A session with a picture, two tool calls, one of which failed, one without a result, and thinking."""
    lines: list[dict[str, Any]] = [
        {"role": "user", "content": [
            {"type": "text", "text": "Look at the heron."}, {"type": "image", "data": PNG, "mimeType": "image/png"},
        ]},
        {"role": "assistant", "provider": "acme", "model": "one", "stopReason": "toolUse", "content": [
            {"type": "thinking", "thinking": "I am thinking."}, {"type": "text", "text": "I look."},
            tool_call("read", {"path": "notes.txt"}, call="call|1"), tool_call("bash", {"command": "false"}, call="2"),
        ]},
        {"role": "toolResult", "toolCallId": "call|1", "toolName": "read", "isError": False,
         "content": [{"type": "text", "text": "three herons"}]},
        {"role": "toolResult", "toolCallId": "2", "toolName": "bash", "isError": True,
         "content": [{"type": "text", "text": "Exit code 1"}]},
        {"role": "assistant", "provider": "acme", "model": "one", "stopReason": "stop",
         "content": [{"type": "text", "text": "It stands in the reeds."}]},
        {"role": "user", "content": "Try once more."},
        {"role": "assistant", "provider": "acme", "model": "one", "stopReason": "toolUse",
         "content": [tool_call("bash", {"command": "true"}, call="3")]},
        {"role": "user", "content": "Never mind."},
        {"role": "assistant", "provider": "acme", "model": "one", "stopReason": "stop",
         "content": [{"type": "text", "text": "Fine."}]},
    ]  # fmt: skip
    session_id = desk.shell("new", "--title", "Herons").lines[0]
    entries = "".join(json.dumps({"type": "message", "message": line}) + "\n" for line in lines)
    desk.shell("append", session_id, "--stdin", stdin=entries)
    return session_id


@pytest.mark.parametrize("agent", WRITTEN)
def test_the_agent_sends_what_was_said_in_legal_order(agent: str, desk: AgentDesk) -> None:
    request = desk.goes_on(told(desk), agent, "And the owl?")
    said = texts(request)
    wanted = [
        "Look at the heron.",
        "I look.",
        "three herons",
        "It stands in the reeds.",
        "Never mind.",
        "Fine.",
    ]
    places = [said.index(text) for text in [*wanted, "And the owl?"]]
    assert places == sorted(places)
    assert "I am thinking." not in said
    assert [part.name for part in request.parts if part.kind == "call"] == ["read", "bash", "bash"]
    assert_legal(request)


@pytest.mark.parametrize("agent", WRITTEN)
def test_the_agent_sends_a_summary_and_not_what_it_replaces(agent: str, desk: AgentDesk) -> None:
    session_id = told(desk)
    desk.shell("compact", session_id, "--summary", "They met a heron.", "--keep-recent", "1")
    said = texts(desk.goes_on(session_id, agent, "And the owl?"))
    assert said.index("They met a heron.") < said.index("Fine.") < said.index("And the owl?")
    assert "It stands in the reeds." not in said


@pytest.mark.parametrize("agent", WRITTEN)
def test_a_session_that_the_agent_has_continued_is_left_alone(agent: str, desk: AgentDesk) -> None:
    session_id = told(desk)
    first = desk.command("resume", session_id, "--in", agent)
    assert desk.command("resume", session_id, "--in", agent) == first
    desk.agents.resume(agent, desk.project, first["nativeSessionId"], "And the owl?")
    second = desk.command("resume", session_id, "--in", agent)
    assert second["nativeSessionId"] != first["nativeSessionId"]
    assert desk.command("resume", session_id, "--in", agent) == second


@pytest.mark.parametrize("source", NAMES)
def test_a_session_of_one_agent_goes_on_in_every_other_one(source: str, desk: AgentDesk) -> None:
    tool, arguments = read_call(source, desk.project / "notes.txt")
    desk.model.when("What is in the notes?").calls(tool, **arguments).says("Three herons are in it.")
    desk.agents.turn(source, desk.project, "What is in the notes?")
    [file] = desk.agents.session_files(source)
    before = file.read_bytes()
    [session] = desk.command("import", str(file))["sessions"]
    own = desk.command("resume", session["sessionId"])
    assert (own["agent"], own["path"], own["losses"]) == (source, str(file), [])
    for agent in WRITTEN:
        question = f"And the owl, {agent}?"
        request = desk.goes_on(session["sessionId"], agent, question) if agent != source else None
        if request is not None:
            said = texts(request)
            wanted = ["What is in the notes?", "three herons", "Three herons are in it.", question]
            places = [said.index(text) for text in wanted]
            assert places == sorted(places)
            assert [part.name for part in request.parts if part.kind == "call"] == [tool]
            assert_legal(request)
            asked = [
                row[1].strip('"') for row in desk.written if row[0] == "user"
            ]  # OpenCode quotes its argument
            assert asked == ["What is in the notes?"]
    assert file.read_bytes() == before
    desk.agents.resume(source, desk.project, own["nativeSessionId"], "And the owl here?")
    request = desk.model.request_with("And the owl here?")
    assert "Three herons are in it." in texts(request)
    if source != "gemini":  # Gemini CLI sends the results of a session that it resumes twice
        assert_legal(request)
