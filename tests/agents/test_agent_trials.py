"""The trials of `scripts/check-agents`: a long session of a real agent, its compaction, and a way to another agent.

Needs scripts/install-agents for the tests with the mark `agents`; `-m "not agents"` leaves them out.
"""

from pathlib import Path

import pytest

from support import agent_trials, native_messages, writing_opencode
from support.agent_desk import an_agent_desk
from support.dialect_files import SESSION
from support.real_agents import NAMES, NativeSession
from support.sized_sessions import WRITERS, texts_of


@pytest.mark.parametrize("name", NAMES)
def test_the_messages_in_the_own_store_of_an_agent_are_counted(name: str, tmp_path: Path) -> None:
    _, write = WRITERS[name]
    texts = texts_of(10_000)
    write(tmp_path, texts)
    [file] = [path for path in tmp_path.rglob("*") if path.suffix in (".jsonl", ".db")]
    data = b"" if file.suffix == ".db" else file.read_bytes()
    session_id = writing_opencode.SESSION if name == "opencode" else SESSION
    assert (
        native_messages.count(name, NativeSession(session_id, str(file), data))["assistant"]
        == len(texts) // 2
    )


@pytest.mark.agents
@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-code", "copilot", "gemini", "opencode", "qwen"])
def test_a_long_session_is_followed_whole_while_it_is_written_and_so_is_its_compaction(
    name: str, tmp_path: Path
) -> None:
    calls = 40 if name == "claude-code" else 15
    with an_agent_desk(tmp_path) as desk:
        long = agent_trials.followed_long_session(desk, name, calls)
        assert long.found == []
        assert len(long.session.data) > calls * 12_000
        assert agent_trials.compacted(desk, name).found == []


@pytest.mark.agents
@pytest.mark.slow
@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_a_session_goes_on_in_another_agent_and_comes_back_with_each_text_once(
    name: str, tmp_path: Path
) -> None:
    with an_agent_desk(tmp_path) as desk:
        trial = agent_trials.there_and_back(desk, name, "claude-code")
    assert (trial.done, trial.found) == ("through claude-code and back", [])
