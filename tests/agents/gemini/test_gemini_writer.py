"""The sessions that are written for Gemini CLI."""

from support.native_sessions import a_task, native


def test_gemini_has_results_with_their_calls_and_nowhere_else() -> None:
    lines, _ = native("gemini", a_task(title="Notes"))
    header, question, answer, last = lines
    assert {"sessionId", "projectHash", "startTime", "lastUpdated", "kind"} <= header.keys()
    assert header["summary"] == "Notes"
    assert [entry["type"] for entry in (question, answer, last)] == ["user", "gemini", "gemini"]
    assert question["content"][1]["inlineData"]["mimeType"] == "image/png"
    assert [call["status"] for call in answer["toolCalls"]] == ["success", "error"]
    [found] = answer["toolCalls"][0]["result"]
    assert found["functionResponse"]["response"] == {"output": "three notes"}
