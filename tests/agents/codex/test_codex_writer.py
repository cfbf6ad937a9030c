"""The sessions that are written for Codex."""

from support.native_sessions import a_task, native


def test_codex_has_the_time_on_every_line_and_an_event_that_lists_the_session() -> None:
    lines, losses = native("codex", a_task(title="Notes"))
    assert all(line["timestamp"].endswith("Z") for line in lines)
    meta = lines[0]["payload"]
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= meta.keys()
    events = [line["payload"]["type"] for line in lines if line["type"] == "event_msg"]
    assert events == ["user_message", "agent_message", "agent_message"]
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    assert [item["type"] for item in items] == [
        "message", "message", "function_call", "function_call", "function_call_output", "function_call_output",
        "message",
    ]  # fmt: skip
    assert items[0]["content"][1]["image_url"].startswith("data:image/png;base64,")
    assert items[2]["arguments"] == '{"path":"notes.txt"}'
    assert [item["call_id"] for item in items[2:4]] == [item["call_id"] for item in items[4:6]]
    assert losses.lost["title"] == 1
