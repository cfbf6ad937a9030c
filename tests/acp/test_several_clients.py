"""Several editors on one running session, each with a `sessiond acp` of its own."""

from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.acp_editors import Refused, an_editor, scripted_agent, spoken, stored, two_editors
from support.homes import wait_until


def test_an_editor_that_attaches_sees_the_past_and_both_see_what_follows(
    home: Locations, tmp_path: Path
) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        assert second.said() == "One."
        assert second.said("user_message_chunk") == "say One."
        second.prompt(session, "say Two.")
        first.prompt(session, "say Three.")
        for editor in (first, second):
            wait_until(lambda item=editor: item.said() == "One.Two.Three.")  # type: ignore[misc]
        wait_until(lambda: second.said("user_message_chunk") == "say One.say Three.")
        assert first.said("user_message_chunk") == "say Two."
    texts = [text for kind, text in spoken(stored(home, session)) if kind == "assistant text"]
    assert texts == ["One.", "Two.", "Three."]


def test_an_editor_that_attaches_in_the_middle_of_a_text_sees_all_of_it(
    home: Locations, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    memory = tmp_path / "memory"
    memory.mkdir()
    words = ["--agent", "scripted", "--", *scripted_agent("--can", "load", "--memory", str(memory))]
    with an_editor(home, *words) as first, an_editor(home, *words) as second:
        session = first.start(tmp_path)
        prompt = first.begin_prompt(session, f"say a\ncall c look\nsay b\npause {go}\nsay c")
        wait_until(lambda: first.said() == "ab")
        second.call("initialize", protocolVersion=1, clientCapabilities={})
        second.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert second.said() == "ab"
        go.touch()
        first.answer(prompt)
        wait_until(lambda: second.said() == "abc")
        assert len(second.updates("tool_call")) == 1


def test_when_the_first_is_killed_the_other_has_seen_all_and_goes_on(home: Locations, tmp_path: Path) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        second_prompt = second.begin_prompt(session, "say Half \nsay of it.\nwait")
        wait_until(lambda: first.said() == second.said() == "One.Half of it.")
        first.kill()
        with pytest.raises(Refused) as refusal:
            second.answer(second_prompt)
        assert session in refusal.value.message
        assert second.prompt(session, "say After.")["stopReason"] == "end_turn"
        texts = [text for kind, text in spoken(stored(home, session)) if kind == "assistant text"]
        assert texts == ["One.", "Half of it.", "After."]


def test_a_permission_is_asked_of_all_and_the_first_answer_counts(home: Locations, tmp_path: Path) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        first.asked = lambda _request: None
        first.prompt(session, "ask c1")
        assert first.said() == second.said() == "One.chosen allow"
        [request] = [
            message for message in first.messages() if message.get("method") == "session/request_permission"
        ]
        withdrawn = [
            message["params"] for message in first.messages() if message.get("method") == "$/cancel_request"
        ]
        assert withdrawn == [{"requestId": request["id"]}]
        late = {"outcome": {"outcome": "selected", "optionId": "reject"}}
        first.send({"jsonrpc": "2.0", "id": request["id"], "result": late})
        assert first.prompt(session, "say fine")["stopReason"] == "end_turn"


def test_a_file_is_requested_from_the_editor_that_sent_the_prompt(home: Locations, tmp_path: Path) -> None:
    with two_editors(home, tmp_path) as (first, second, session):
        second.prompt(session, "read /x")
        assert [message.get("method") for message in second.messages()].count("fs/read_text_file") == 1
        assert "fs/read_text_file" not in [message.get("method") for message in first.messages()]


def test_an_editor_that_cannot_read_files_is_not_asked_for_one(home: Locations, tmp_path: Path) -> None:
    with two_editors(home, tmp_path, capabilities={}) as (first, second, session):
        second.prompt(session, "read /x")
        assert second.said() == "One.read null"
        for editor in (first, second):
            assert "fs/read_text_file" not in [message.get("method") for message in editor.messages()]


def test_a_prompt_waits_for_the_turn_of_another_editor_which_is_said(home: Locations, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with two_editors(home, tmp_path) as (first, second, session):
        long = first.begin_prompt(session, f"pause {go}\nsay Two.")
        wait_until(lambda: "pause" in second.said("user_message_chunk"))
        short = second.begin_prompt(session, "say Three.")
        wait_until(
            lambda: any(message.get("method") == "_sessiond/prompt_queued" for message in second.messages())
        )
        go.touch()
        first.answer(long)
        second.answer(short)
        assert second.said() == "One.Two.Three."


def test_an_observer_sees_the_session_and_sends_no_prompts(home: Locations, tmp_path: Path) -> None:
    with two_editors(home, tmp_path, "session/attach", historyPolicy="none", role="observer") as (
        first, second, session,
    ):  # fmt: skip
        assert second.said() == ""
        with pytest.raises(Refused):
            second.prompt(session, "say Two.")
        first.prompt(session, "say Three.")
        wait_until(lambda: second.said() == "Three.")


def test_the_socket_of_a_killed_process_is_recognized_and_the_next_one_takes_the_session(
    home: Locations, tmp_path: Path
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    words = ["--agent", "scripted", "--", *scripted_agent("--can", "load", "--memory", str(memory))]
    with an_editor(home, *words) as first:
        session = first.start(tmp_path)
        first.prompt(session, "say One.")
        wait_until(lambda: len(sockets(home)) == 1)
        first.kill()
    assert sockets(home)
    with an_editor(home, *words) as second, an_editor(home, *words) as third:
        for editor in (second, third):
            editor.call("initialize", protocolVersion=1, clientCapabilities={})
            editor.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        [socket] = sockets(home)
        assert socket.stat().st_mode & 0o777 == 0o600
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        third.prompt(session, "say Two.")
        wait_until(lambda: second.said() == third.said() == "One.Two.")


def test_the_lock_and_the_socket_of_a_killed_process_are_removed_by_any_later_one(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--agent", "scripted", "--", *scripted_agent()) as first:
        first.start(tmp_path)
        wait_until(lambda: len(sockets(home)) == 1)
        first.kill()
    with an_editor(home, "--agent", "scripted", "--", *scripted_agent()) as later:
        later.call("initialize", protocolVersion=1, clientCapabilities={})
        assert not list(Path(home.runtime).glob("acp-*"))


def test_an_editor_that_leaves_stops_nothing(home: Locations, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with two_editors(home, tmp_path) as (first, second, session):
        second.begin_prompt(session, f"say Two.\npause {go}\nsay Three.")
        second.begin_prompt(session, "say Never.")
        wait_until(lambda: first.said() == "One.Two.")
        assert second.close() == 0
        go.touch()
        wait_until(lambda: first.said() == "One.Two.Three.")
        assert first.prompt(session, "say Four.")["stopReason"] == "end_turn"
    texts = [text for kind, text in spoken(stored(home, session)) if kind == "assistant text"]
    assert texts == ["One.", "Two.Three.", "Four."]


def sockets(home: Locations) -> list[Path]:
    """The sockets of running sessions, and those that killed processes left."""
    return [path for path in Path(home.runtime).glob("acp-*") if path.is_socket()]
