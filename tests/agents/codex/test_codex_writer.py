"""The sessions that are written for Codex."""

from support.native_sessions import a_task, native


def test_codex_has_the_time_on_every_line_and_an_event_that_lists_the_session() -> None:
    lines, losses = native("codex", a_task(title="Notes"))
    assert all(it["timestamp"].endswith("Z") for it in lines)
    meta = lines[0]["payload"]
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= meta.keys()
    events = [it["payload"]["type"] for it in lines if it["type"] == "event_msg"]
    assert events == ["user_message", "agent_message", "agent_message"]
    items = [it["payload"] for it in lines if it["type"] == "response_item"]
    assert [it["type"] for it in items] == [
        "message", "message", "function_call", "function_call", "function_call_output", "function_call_output",
        "message",
    ]  # fmt: skip
    assert items[0]["content"][1]["image_url"].startswith("data:image/png;base64,")
    assert items[2]["arguments"] == '{"path":"notes.txt"}'
    assert [it["call_id"] for it in items[2:4]] == [it["call_id"] for it in items[4:6]]
    assert losses.lost["title"] == 1
