"""The real agents behind `sessiond acp`: recorded while they run, listed, loaded, resumed, and shared by two editors.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.client import connect_blocking
from sessiond.paths import Locations
from support.acp_editors import Editor, Refused, an_editor, spoken, stored
from support.columns import entries_of
from support.homes import a_home, wait_until
from support.real_agents import ADAPTERS, RealAgents, read_call, version
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.agents, pytest.mark.slow]

FIRST, SECOND, THIRD = "Look there.", "And the reeds?", "And the mill?"
ANSWERS = {FIRST: "There is a heron.", SECOND: "The reeds are green.", THIRD: "The mill is old."}

REQUESTS, TOKENS = 4, 18
"""The requests of the conversation, one for each answer and one for the call, and the tokens of each."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def home() -> Iterator[Locations]:
    with a_home() as locations:
        yield locations


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "reeds.txt").write_text("a heron\n", encoding="utf-8")
    return folder


@pytest.fixture
def agents(agents_home: Path, model: ScriptedModel) -> RealAgents:
    for name in ADAPTERS:
        version(name)
    return RealAgents(agents_home, model.url)


def words(name: str) -> list[str]:
    """The words after `sessiond acp`. Without a model, Gemini CLI asks one which model is best."""
    return ["--", "gemini", "--acp", "-m", "gemini-2.5-flash"] if name == "gemini" else [name]


def follow(home: Locations, name: str) -> None:
    """Have the daemon read the files of an agent, as it will find them."""
    file = Path(home.config_file)
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_text(f'[agents]\nfollow = ["{name}"]\n', encoding="utf-8")
    file.chmod(0o600)


def initialize(editor: Editor) -> None:
    assert editor.call("initialize", protocolVersion=1, clientCapabilities={})["protocolVersion"] == 1


def on(session: str, project: Path) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(project), "mcpServers": []}


def texts(home: Locations, session: str) -> list[str]:
    """The prompts and answers that are stored; adapters put warnings in front of answers."""
    known = [text for pair in ANSWERS.items() for text in pair]
    return [it for _, text in spoken(stored(home, session)) for it in known if text.endswith(it)]


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini"])
def test_a_session_is_recorded_while_it_runs_and_goes_on_in_later_processes_and_counts_once(
    name: str, home: Locations, project: Path, agents: RealAgents, model: ScriptedModel
) -> None:
    gate = threading.Event()
    tool, arguments = read_call(name, project / "reeds.txt")
    model.when(FIRST).calls(tool, **arguments).waits_for(gate).says(ANSWERS[FIRST])
    model.when(SECOND).says(ANSWERS[SECOND])
    model.when(THIRD).says(ANSWERS[THIRD])
    env = agents.environment(project)
    follow(home, name)
    with an_editor(home, *words(name), **env) as editor:
        initialize(editor)
        session = str(editor.call("session/new", cwd=str(project), mcpServers=[])["sessionId"])
        turn = editor.begin_prompt(session, FIRST)
        # The adapter of Codex does not always tell of a command that ends at once.
        last = "user text" if name == "codex" else "toolResult text"
        wait_until(lambda: last in [kind for kind, _ in spoken(stored(home, session))])
        assert ("user text", FIRST) in spoken(stored(home, session))
        gate.set()
        assert editor.answer(turn)["stopReason"] == "end_turn"
        # A turn ends at the latest five seconds after the agent has answered, even if the daemon is slower.
        wait_until(lambda: texts(home, session) == [FIRST, ANSWERS[FIRST]])

    with an_editor(home, *words(name), **env) as editor:
        initialize(editor)
        assert session in [
            it["sessionId"] for it in editor.call("session/list", cwd=str(project))["sessions"]
        ]
        editor.call("session/load", **on(session, project))
        wait_until(lambda: editor.said().endswith(ANSWERS[FIRST]))
        assert FIRST in editor.said("user_message_chunk")
        editor.prompt(session, SECOND)
        assert ANSWERS[FIRST] in model.request_with(SECOND).texts("assistant")
        editor.call("session/close", sessionId=session)
        editor.call("session/resume", **on(session, project))
        editor.prompt(session, THIRD)
        heard = model.request_with(THIRD).texts("assistant")
        assert {ANSWERS[FIRST], ANSWERS[SECOND]} <= set(heard)
    assert texts(home, session) == [it for pair in ANSWERS.items() for it in pair]
    with connect_blocking(locations=home) as daemon:

        def counted() -> tuple[int, int]:
            """The requests of turns, and their tokens. Claude Code may add sums of its requests for titles."""
            total = daemon.call("usage/report", {"agent": name, "waitMs": 60_000})["total"]
            (own,) = daemon.call("session/list", {"agent": name})["sessions"]
            page = daemon.call("session/entries", {"sessionId": own["sessionId"]})
            others = [
                entry["usage"]["totalTokens"]
                for entry in entries_of(page)
                if entry["type"] == "model_usage" and entry["purpose"] == "other"
            ]
            return total["requestCount"] - len(others), total["tokens"]["total"] - sum(others)

        wait_until(lambda: counted() == (REQUESTS, REQUESTS * TOKENS))
        hits = daemon.call("session/search", {"query": f'"{ANSWERS[SECOND]}"'})["hits"]
        assert len(hits) == 1
    if name == "gemini":
        assert any(
            all(it in file.read_text("utf-8") for it in ANSWERS) for file in agents.session_files(name)
        )


def test_two_editors_have_one_session_of_opencode_and_one_is_killed_in_the_middle_of_an_answer(
    home: Locations, project: Path, agents: RealAgents, model: ScriptedModel
) -> None:
    gate = threading.Event()
    tool, arguments = read_call("opencode", project / "reeds.txt")
    model.when(FIRST).says(ANSWERS[FIRST])
    model.when(SECOND).calls(tool, **arguments).waits_for(gate).says("Nobody hears this.")
    model.when(THIRD).says(ANSWERS[THIRD])
    env = agents.environment(project)
    with contextlib.ExitStack() as editors:
        first = editors.enter_context(an_editor(home, "opencode", **env))
        initialize(first)
        session = str(first.call("session/new", cwd=str(project), mcpServers=[])["sessionId"])
        first.prompt(session, FIRST)
        assert [it["sessionId"] for it in first.call("session/list", cwd=str(project))["sessions"]] == [
            session
        ]
        # Only now: two of OpenCode that make its database at the same time may fail.
        second = editors.enter_context(an_editor(home, "opencode", **env))
        initialize(second)
        second.call("session/load", **on(session, project))
        assert second.said() == ANSWERS[FIRST]
        first.begin_prompt(session, SECOND)
        wait_until(lambda: any(it.get("status") == "completed" for it in second.updates("tool_call_update")))
        first.kill()
        gate.set()
        assert second.said("user_message_chunk") == FIRST + SECOND

        def goes_on() -> bool:
            try:
                return bool(second.prompt(session, THIRD)["stopReason"] == "end_turn")
            except Refused:  # the end of the other process is not known yet
                return False

        wait_until(goes_on)
        assert second.said().endswith(ANSWERS[THIRD])
    told = spoken(stored(home, session))
    assert [text for kind, text in told if kind == "user text"] == [FIRST, SECOND, THIRD]
    assert "toolResult text" in [kind for kind, _ in told]
    with connect_blocking(locations=home) as daemon:
        assert len(daemon.call("session/list", {})["sessions"]) == 1
