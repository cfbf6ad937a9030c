"""`sessiond acp` between an editor and a scripted agent: what passes, and what is stored."""

import json  # noqa: TID251 - lines as another program writes them
from pathlib import Path
from typing import Any

import pytest

from sessiond.acp.recorder import TURN_TYPE
from sessiond.paths import Locations
from support.acp_editors import (
    Refused,
    an_editor,
    command_of,
    customs,
    is_running,
    processes_below,
    scripted_agent,
    spoken,
    stored,
)  # fmt: skip
from support.homes import wait_until


def test_a_turn_is_stored_as_entries_below_the_origin_that_names_the_agents_session(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--agent", "scripted", "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        assert editor.prompt(session, "say Good \nsay day")["stopReason"] == "end_turn"
        entries = stored(home, session)
        assert spoken(entries) == [("user text", "say Good \nsay day"), ("assistant text", "Good day")]
        assert customs(entries, TURN_TYPE)[0]["stopReason"] == "end_turn"
        assert editor.said() == "Good day"


def test_lines_pass_in_both_directions_as_they_were_written(home: Locations, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with an_editor(home, "--", *scripted_agent("--log", str(log))) as editor:
        session = editor.start(tmp_path)
        odd = (
            b'{ "params" : {"big":123456789012345678901234567890,"f":1.50, "e":"\\u00e9"},'
            b'"id":"a-1" ,"jsonrpc":"2.0","method":"echo","_x":1}\n'
        )
        editor.send_line(odd)
        wait_until(lambda: any(message.get("id") == "a-1" for message in editor.messages()))
        note = b'{"jsonrpc":"2.0","method":"_vendor/note","params":[1,2]}\n'
        editor.send_line(note)
        sent = '{"method":"_vendor/hello", "jsonrpc":"2.0","params":{"n":1.0}}'
        editor.prompt(session, f"send {sent}")
        assert odd in log.read_bytes()
        assert note in log.read_bytes()
        assert sent.encode() + b"\n" in editor.lines


def test_an_unknown_method_is_answered_by_the_agent(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        editor.start(tmp_path)
        with pytest.raises(Refused) as refusal:
            editor.call("session/dance")
        assert refusal.value.message == "no 'session/dance'" or refusal.value.code == -32601


@pytest.mark.parametrize(
    ("line", "code"), [(b"{no json\n", -32700), (b"[1, 2]\n", -32600), (b'{"method": 3}\n', -32600)]
)
def test_a_line_that_is_no_message_is_answered_and_the_connection_goes_on(
    line: bytes, code: int, home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.send_line(line)
        wait_until(lambda: any(message.get("error", {}).get("code") == code for message in editor.messages()))
        assert editor.prompt(session, "say still here")["stopReason"] == "end_turn"


def test_lines_of_the_agent_that_are_no_messages_reach_the_editor(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, "send a line for the log\nsay fine")
        assert b"a line for the log\n" in editor.lines
        assert editor.said() == "fine"


def test_the_capabilities_that_the_agent_lacks_are_added_and_the_rest_is_unchanged(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--", *scripted_agent("--can", "list")) as editor:
        result = editor.call("initialize", protocolVersion=1)
    assert result["agentCapabilities"]["loadSession"] is True
    assert set(result["agentCapabilities"]["sessionCapabilities"]) == {
        "list",
        "resume",
        "fork",
        "close",
        "attach",
    }
    assert b'"extra":1.5' in editor.lines[0]
    assert result["protocolVersion"] == 1


def test_a_permission_and_its_answer_are_stored(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, "ask c1")
        assert editor.said() == "chosen allow"
        [permission] = customs(stored(home, session), "sessiond.acpPermission")
        assert permission["outcome"] == {"outcome": "selected", "optionId": "allow"}


def test_a_request_of_the_agent_for_a_file_is_answered_by_the_editor(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.prompt(session, "read /x")
        assert editor.said() == 'read {"content": "the file"}'


def test_a_canceled_turn_keeps_what_was_said(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        prompt = editor.begin_prompt(session, "say half of\nwait")
        wait_until(lambda: editor.said() == "half of")
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert editor.answer(prompt) == {"stopReason": "cancelled"}
        entries = stored(home, session)
        assert spoken(entries)[-1] == ("assistant text", "half of")
        assert entries[-2]["message"]["stopReason"] == "aborted"


def test_a_second_prompt_waits_for_the_end_of_the_first(home: Locations, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        first = editor.begin_prompt(session, f"say one\npause {go}\nsay two")
        second = editor.begin_prompt(session, "say three")
        wait_until(lambda: editor.said() == "one")
        go.touch()
        assert editor.answer(first)["stopReason"] == editor.answer(second)["stopReason"] == "end_turn"
        assert [text for kind, text in spoken(stored(home, session)) if kind == "assistant text"] == [
            "onetwo",
            "three",
        ]


def test_a_killed_proxy_loses_nothing_that_was_shown_and_its_agent_ends(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--agent", "scripted", "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.begin_prompt(session, "say one \nsay two\ncall c1 look\nsay three\nwait")
        wait_until(lambda: editor.said() == "one twothree")
        below = processes_below(editor.process.pid)
        assert below
        editor.kill()
        wait_until(lambda: not any(map(is_running, below)))
    with an_editor(home, "--agent", "scripted", "--", *scripted_agent()) as later:
        later.start(tmp_path)
        wait_until(lambda: ("assistant text", "three") in spoken(stored(home, session)))
    entries = stored(home, session)
    assert spoken(entries)[1:] == [
        ("assistant text", "one two"), ("assistant toolCall", "look"), ("toolResult text", "result of look"),
        ("assistant text", "three"),
    ]  # fmt: skip
    assert not list((Path(home.state) / "acp").iterdir())


def test_a_killed_proxy_leaves_no_process_of_an_agent_that_ignores_the_end_of_its_input(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.begin_prompt(session, "say so far\ndeaf")
        wait_until(
            lambda: any("sleep" in command_of(process) for process in processes_below(editor.process.pid))
        )
        below = processes_below(editor.process.pid)
        editor.kill()
        wait_until(lambda: not any(map(is_running, below)))


def test_a_text_that_is_being_written_is_stored_piece_by_piece(home: Locations, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        prompt = editor.begin_prompt(session, f"say the beginning\npause {go}\nsay  and the end")
        wait_until(lambda: bool(customs(stored(home, session), "sessiond.acpChunk")))
        assert customs(stored(home, session), "sessiond.acpChunk")[0]["text"] == "the beginning"
        go.touch()
        editor.answer(prompt)
        entries = stored(home, session)
        assert spoken(entries)[-1] == ("assistant text", "the beginning and the end")
        assert not customs(entries, "sessiond.acpChunk")


def test_an_agent_that_ends_in_mid_turn_is_reported_and_the_turn_is_kept(
    home: Locations, tmp_path: Path
) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        with pytest.raises(Refused) as refusal:
            editor.prompt(session, "say so far\ndie")
        assert "status 3" in refusal.value.message
        assert editor.close() == 1
    assert spoken(stored(home, session))[-1] == ("assistant text", "so far")


def test_an_editor_that_ends_in_mid_turn_keeps_the_turn(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        editor.begin_prompt(session, "say so far\nwait")
        wait_until(lambda: editor.said() == "so far")
        assert editor.close() == 0
    entries = stored(home, session)
    assert spoken(entries)[-1] == ("assistant text", "so far")
    assert "middle of the turn" in customs(entries, TURN_TYPE)[0]["error"]


def test_a_missing_program_is_an_error_of_the_first_request(home: Locations) -> None:
    with an_editor(home, "--", "no-such-agent") as editor:
        with pytest.raises(Refused) as refusal:
            editor.call("initialize", protocolVersion=1)
        assert "no-such-agent" in refusal.value.message
        assert editor.close() == 1
        assert b"no-such-agent" in b"".join(editor.errors)


def test_an_unknown_name_of_an_agent_is_taken_for_a_command(home: Locations) -> None:
    with an_editor(home, "no-such-agent") as editor, pytest.raises(Refused):
        editor.call("initialize", protocolVersion=1)


def test_without_an_agent_the_usage_is_explained(home: Locations) -> None:
    with an_editor(home) as editor:
        assert editor.close() == 2
        assert b"claude-code, codex, gemini, opencode" in b"".join(editor.errors)


def test_a_long_line_passes(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        session = editor.start(tmp_path)
        assert editor.prompt(session, "flood 1 20000000")["stopReason"] == "end_turn"
        assert len(editor.said()) == 20_000_000


def test_the_answer_of_an_agent_keeps_the_type_of_an_id(home: Locations, tmp_path: Path) -> None:
    with an_editor(home, "--", *scripted_agent()) as editor:
        editor.start(tmp_path)
        ids: list[Any] = ["7", 77, "x" * 300]
        for request_id in ids:
            editor.send({"jsonrpc": "2.0", "id": request_id, "method": "echo", "params": {"of": request_id}})
            assert editor.answer(request_id) == {"of": request_id}
        assert [json.loads(line)["id"] for line in editor.lines[-3:]] == ids
