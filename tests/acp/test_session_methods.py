"""Listing, loading, resuming, forking and closing sessions: by the agent if it can, else from what is stored."""

from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.acp_editors import Editor, Refused, an_editor, scripted_agent, spoken, stored
from support.homes import wait_until

ALL = "load,list,resume,fork,close"


def start(home: Locations, tmp_path: Path, can: str = "", *more: str) -> list[str]:
    """The words that start the scripted agent, which remembers its sessions in a folder."""
    (tmp_path / "memory").mkdir(exist_ok=True)
    log = str(tmp_path / "log")
    agent = scripted_agent("--can", can, "--memory", str(tmp_path / "memory"), "--log", log, *more)
    return ["--agent", "scripted", "--", *agent]


def begin(editor: Editor) -> None:
    editor.call("initialize", protocolVersion=1, clientCapabilities={})


def a_stored_session(home: Locations, tmp_path: Path, can: str = "") -> str:
    """The id of a session with one turn, whose proxy has ended."""
    with an_editor(home, *start(home, tmp_path, can)) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, "say The heron \nsay stands.\ncall c1 look\nsay It flies.")
        assert editor.close() == 0
    return session


def test_an_agent_without_a_list_has_its_sessions_listed_from_what_is_stored(
    home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path)
    with an_editor(home, *start(home, tmp_path)) as editor:
        begin(editor)
        [row] = editor.call("session/list", cwd=str(tmp_path))["sessions"]
        assert (row["sessionId"], row["cwd"]) == (session, str(tmp_path))
        assert editor.call("session/list", cwd="/nowhere")["sessions"] == []


def test_the_list_of_an_agent_that_has_one_is_its_own(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, *start(home, tmp_path, ALL)) as editor:
        editor.start(tmp_path)
        assert [session["title"] for session in editor.call("session/list")["sessions"]] == [
            "the agent's own"
        ]


def test_a_load_by_the_agent_is_forwarded_and_its_replay_is_not_stored_again(
    home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path, ALL)
    before = stored(home, session)
    with an_editor(home, *start(home, tmp_path, ALL)) as editor:
        begin(editor)
        editor.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert editor.said() == "The heron stands.It flies."
        assert stored(home, session) == before
        editor.prompt(session, "say Again.")
    entries = stored(home, session)
    assert entries[: len(before)] == before
    assert spoken(entries)[-1] == ("assistant text", "Again.")


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_replay_that_goes_on_after_the_response_is_not_stored_as_an_answer(
    method: str, home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path, "load")
    before = stored(home, session)
    with an_editor(home, *start(home, tmp_path, "load", "--late-replay")) as editor:
        begin(editor)
        editor.call(method, sessionId=session, cwd=str(tmp_path), mcpServers=[])
        editor.prompt(session, "say Again.")
        assert editor.said().endswith("It flies.Again." if method == "session/load" else "Again.")
    entries = stored(home, session)
    assert entries[: len(before)] == before
    assert [text for _, text in spoken(entries[len(before) :])] == ["say Again.", "Again."]


def test_an_agent_that_cannot_load_is_given_the_conversation_and_the_editor_sees_it(
    home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path)
    with an_editor(home, *start(home, tmp_path)) as editor:
        begin(editor)
        editor.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert [update["sessionUpdate"] for update in editor.updates()] == [
            "user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk",
        ]  # fmt: skip
        assert editor.said() == "The heron stands.It flies."
        editor.prompt(session, "say Once more.")
        assert {message["params"]["sessionId"] for message in editor.messages() if "params" in message} == {
            session
        }
        editor.prompt(session, "say And again.")
    assert [text for _, text in spoken(stored(home, session))][-4:] == [
        "say Once more.", "Once more.", "say And again.", "And again.",
    ]  # fmt: skip
    [first, second] = [
        line for line in (tmp_path / "log").read_bytes().splitlines() if b"gain." in line or b"more." in line
    ]
    assert b"<transcript>" in first
    assert b"It flies." in first
    assert b"<transcript>" not in second


def test_a_load_that_the_agent_refuses_is_answered_from_what_is_stored(
    home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path, ALL)
    (tmp_path / "memory" / session).unlink()
    with an_editor(home, *start(home, tmp_path, ALL)) as editor:
        begin(editor)
        editor.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert editor.said() == "The heron stands.It flies."
        assert editor.prompt(session, "say Here.")["stopReason"] == "end_turn"


@pytest.mark.parametrize("can", ["", "load", "resume"])
def test_a_resume_replays_nothing(can: str, home: Locations, tmp_path: Path) -> None:
    session = a_stored_session(home, tmp_path, can)
    with an_editor(home, *start(home, tmp_path, can)) as editor:
        begin(editor)
        editor.call("session/resume", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert editor.updates() == []
        editor.prompt(session, "say Resumed.")
        assert editor.said() == "Resumed."
    assert spoken(stored(home, session))[-1] == ("assistant text", "Resumed.")


@pytest.mark.parametrize("can", ["", ALL])
def test_a_fork_begins_with_the_conversation_and_leaves_the_other_session_alone(
    can: str, home: Locations, tmp_path: Path
) -> None:
    session = a_stored_session(home, tmp_path, can)
    before = stored(home, session)
    with an_editor(home, *start(home, tmp_path, can)) as editor:
        begin(editor)
        fork = editor.call("session/fork", sessionId=session, cwd=str(tmp_path), mcpServers=[])["sessionId"]
        assert fork != session
        editor.prompt(fork, "say Elsewhere.")
    texts = [text for _, text in spoken(stored(home, fork))]
    assert texts[:2] == [text for _, text in spoken(before)][:2]
    assert texts[-1] == "Elsewhere."
    assert stored(home, session) == before


def test_a_fork_of_a_session_in_which_nothing_was_said_is_a_new_session(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, *start(home, tmp_path)) as editor:
        session = editor.start(tmp_path)
        fork = editor.call("session/fork", sessionId=session, cwd=str(tmp_path), mcpServers=[])["sessionId"]
        assert fork != session
        assert editor.prompt(fork, "say Hi.")["stopReason"] == "end_turn"
    assert [text for _, text in spoken(stored(home, fork))] == ["say Hi.", "Hi."]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_session_that_runs_already_is_not_started_again(
    method: str, home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, *start(home, tmp_path)) as editor:
        session = editor.start(tmp_path)
        editor.call(method, sessionId=session, cwd=str(tmp_path), mcpServers=[])
        editor.prompt(session, "say Hi.")
        editor.call(method, sessionId=session, cwd=str(tmp_path), mcpServers=[])
        editor.prompt(session, "say Ho.")
    assert (tmp_path / "log").read_bytes().count(b'"session/new"') == 1
    assert b"<transcript>" not in (tmp_path / "log").read_bytes()


@pytest.mark.parametrize("can", ["", ALL])
def test_a_closed_session_ends_its_turn_and_can_be_loaded_again(
    can: str, home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, *start(home, tmp_path, can)) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, "say Before.")
        assert editor.call("session/close", sessionId=session) == {}
        editor.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        editor.prompt(session, "say After.")
    assert [text for kind, text in spoken(stored(home, session)) if kind == "assistant text"] == [
        "Before.",
        "After.",
    ]


def test_a_session_that_nobody_has_is_refused_by_name(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, *start(home, tmp_path)) as editor:
        begin(editor)
        for method in ("session/load", "session/resume", "session/fork"):
            with pytest.raises(Refused) as refusal:
                editor.call(method, sessionId="no-such-session", cwd=str(tmp_path), mcpServers=[])
            assert "no-such-session" in refusal.value.message
            assert refusal.value.code == -32002


def test_a_title_of_the_agent_becomes_the_title_of_the_session(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, *start(home, tmp_path)) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, 'say Hi.\nupdate {"sessionUpdate": "session_info_update", "title": "Herons"}')
        wait_until(lambda: editor.call("session/list", cwd=str(tmp_path))["sessions"][0]["title"] == "Herons")
