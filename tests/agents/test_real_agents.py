"""Each real agent makes turns against the scripted model, and its session is where and as we read it.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.session.dialects.import_builder import Imported
from support import dialects, real_agents
from support.real_agents import NAMES, RealAgents
from support.scripted_model import ScriptedModel

pytestmark = pytest.mark.agents


@dataclass
class Desk:
    """A person's agents, the model behind them and a project folder."""

    agents: RealAgents
    model: ScriptedModel
    project: Path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    project = tmp_path / "project"
    project.mkdir()
    with ScriptedModel() as model:
        yield Desk(RealAgents(tmp_path / "home", model.url), model, project)


@pytest.mark.parametrize("name", NAMES)
def test_the_version_that_the_table_names_is_the_one_that_runs_here(name: str) -> None:
    assert AGENTS[name].checked_version == real_agents.version(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_turn_prints_the_answer_and_leaves_one_session_where_the_table_says(name: str, desk: Desk) -> None:
    desk.model.when("Where is the heron?").says("The heron stands in the reeds.")
    assert "The heron stands in the reeds." in desk.agents.turn(name, desk.project, "Where is the heron?")
    assert len(desk.agents.session_files(name)) == 1


def typed(name: str, prompt: str) -> str:
    """The prompt as the agent stores it.

    `opencode run` joins the words of its command line to one text, and puts each word that has a space into quotation
    marks. The text with the marks is what the model is sent and what the database has, so the reader keeps them: it
    cannot tell them from marks that a person typed, and a resumed session must say what the model was told.
    """
    return f'"{prompt}"' if name == "opencode" else prompt


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_of_a_turn_are_read_and_its_resumption_is_a_continuation(name: str, desk: Desk) -> None:
    desk.model.when("Where is the heron?").says("The heron stands in the reeds.")
    desk.model.when("And the owl?").says("The owl sleeps in the barn.")
    desk.agents.turn(name, desk.project, "Where is the heron?")
    [session] = desk.agents.sessions(name)
    first = dialects.imported(session.data, name=session.name)
    assert spoken(first) == [
        ("user", typed(name, "Where is the heron?")),
        ("assistant", "The heron stands in the reeds."),
    ]

    desk.agents.resume(name, desk.project, first.source_id, "And the owl?")

    request = desk.model.request_with("And the owl?")
    assert "The heron stands in the reeds." in request.texts("assistant")
    # In another minute, Gemini CLI leaves a file with nothing but a header beside that of the session.
    [session] = [listed for listed in desk.agents.sessions(name) if b"And the owl?" in listed.data]
    second = dialects.imported(session.data, name=session.name)
    assert spoken(second) == [
        *spoken(first),
        ("user", typed(name, "And the owl?")),
        ("assistant", "The owl sleeps in the barn."),
    ]


def spoken(session: Imported) -> list[tuple[str, str]]:
    """Role and text of the messages on the path that a person and the model exchanged."""
    said = []
    for entry_id in dialects.path(session):
        message = dialects.entry(session, entry_id).get("message", {})
        content = message.get("content", [])
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        if message.get("role") in ("user", "assistant") and text:
            said.append((message["role"], text))
    return said
