"""The commands context and append in the formats of providers, and what they explain."""

import json  # noqa: TID251 - what a provider sends
from typing import Any

import pytest

from sessiond.cli.render.context_reasons import explained
from sessiond.cli.render.style import Style
from support.columns import entries_of
from support.commands import Shell


def asked(shell: Shell) -> str:
    """A session with a system prompt, a question and an answer."""
    session = shell("new").lines[0]
    system = {"type": "message", "message": {"role": "system", "content": "Be brief."}}
    shell("append", session, "--json-entry", json.dumps(system), "--user", "Why?", "--assistant", "A race")
    return session


def stored(shell: Shell, session: str) -> list[dict[str, Any]]:
    params = json.dumps({"sessionId": session})
    return [entry["message"] for entry in entries_of(shell("rpc", "session/path", params).json)]


# --- context -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "request_part"),
    [
        (
            "openai",
            {"messages": [
                {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"},
                {"role": "assistant", "content": "A race"},
            ]},
        ),
        (
            "openai-responses",
            {"input": [
                {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"},
                {"role": "assistant", "content": "A race"},
            ]},
        ),
        (
            "anthropic",
            {"system": "Be brief.", "messages": [
                {"role": "user", "content": "Why?"},
                {"role": "assistant", "content": [{"type": "text", "text": "A race"}]},
            ]},
        ),
        (
            "google",
            {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
                {"role": "user", "parts": [{"text": "Why?"}]}, {"role": "model", "parts": [{"text": "A race"}]},
            ]},
        ),
    ],
)  # fmt: skip
def test_a_context_is_printed_as_part_of_a_providers_request(
    shell: Shell, format: str, request_part: dict[str, Any]
) -> None:
    ran = shell("context", asked(shell), "--format", format)
    assert ran.json == request_part
    assert "tokens, thinking off" in ran.err


def test_the_tokens_of_a_context_are_told(shell: Shell) -> None:
    assert shell("context", asked(shell)).err.startswith("3 messages, about 6 tokens, thinking off")


def test_every_entry_of_the_path_is_explained(shell: Shell) -> None:
    session = shell("new").lines[0]
    ids = shell("append", session, "--user", "Why?", "--assistant", "A race").lines
    shell("label", session, ids[0], "here")
    shell("append", session, "--user", "Fix it")
    lines = shell("context", session, "--explain").lines
    assert [line.split()[:3] for line in lines[:2]] == [["●", ids[0], "user"], ["●", ids[1], "assistant"]]
    assert lines[0].split(maxsplit=4)[3:] == ["1", "The context has the entry as it is stored."]
    assert lines[2].startswith("○")
    assert lines[2].endswith("label         Entries of this type are not for a model.")
    assert lines[-1] == "● 3 in, ○ 1 out"
    assert "explanation" in shell("context", session, "--explain", "--json").json
    assert shell("context", session, "--explain", PYTHONUTF8="0", PYTHONIOENCODING="ascii").out.isascii()


def test_changes_for_a_provider_are_marked(shell: Shell) -> None:
    session = shell("new").lines[0]
    shell("append", session, "--user", "One", "--user", "Two")
    lines = shell("context", session, "--explain", "--format", "anthropic").lines
    assert lines[1].startswith("◐")
    assert lines[-1] == "● 1 in, ◐ 1 changed"


def test_an_explanation_is_fit_for_a_terminal() -> None:
    entry = {
        "entryId": "e1\x1b[2J", "type": "message", "role": "user\u202e", "fate": "in", "tokens": 1_200,
        "message": "The context has the entry as it is stored.",
    }  # fmt: skip
    plain, colored = Style(boxes=False, columns=30), Style(colors=True)
    assert next(explained([entry], plain)) == "* e1  user  1,200  The cont..."
    assert next(explained([entry], colored)).startswith("\x1b[32m●\x1b[0m \x1b[2me1")


def test_an_empty_path_is_explained_too(shell: Shell) -> None:
    assert shell("context", shell("new").lines[0], "--explain").lines == ["The path is empty."]


# --- append ------------------------------------------------------------------------------------------------

OPENAI = {
    "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A race"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}  # fmt: skip
RESPONSE = {
    "id": "resp_1", "object": "response", "model": "gpt-5", "status": "completed",
    "output": [
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "A race"}]}
    ],
    "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
}  # fmt: skip
ANTHROPIC = {
    "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "A race"}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 2},
}  # fmt: skip
GOOGLE = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "A race"}]}, "finishReason": "STOP"}],
    "modelVersion": "gemini-3-pro",
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
}


@pytest.mark.parametrize(
    ("format", "question", "answer"),
    [
        ("openai", {"role": "user", "content": "Why?"}, OPENAI),
        ("openai-responses", {"role": "user", "content": "Why?"}, RESPONSE),
        ("anthropic", {"role": "user", "content": "Why?"}, ANTHROPIC),
        ("google", {"role": "user", "parts": [{"text": "Why?"}]}, GOOGLE),
    ],
)
def test_a_request_to_a_provider_and_its_answer_are_appended(
    shell: Shell, format: str, question: dict[str, Any], answer: dict[str, Any]
) -> None:
    session = shell("new").lines[0]
    ids = shell("append", session, "--format", format, "-", stdin=json.dumps([question, answer])).lines
    assert [len(name) for name in ids] == [8, 8]  # ids of the session, not of the provider
    said = stored(shell, session)
    assert [message["role"] for message in said] == ["user", "assistant"]
    assert said[1]["usage"]["totalTokens"] == 12
    assert "A race" in shell("context", session).out


def test_a_message_that_becomes_several_entries_prints_the_id_of_each(shell: Shell) -> None:
    session = shell("new").lines[0]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "lines"} for n in (1, 2)]
    message = json.dumps({"role": "user", "content": results})
    first, second = shell("append", session, "--format", "anthropic", "--json-entry", message).lines
    assert second == f"{first}-1"


def test_entries_of_other_types_and_with_ids_of_their_own_go_along(shell: Shell) -> None:
    session = shell("new").lines[0]
    entry = {"id": "q1", "message": {"role": "user", "content": "Why?"}}
    lines = "\n".join(map(json.dumps, ({"type": "custom", "customType": "x"}, entry)))
    assert shell("append", session, "--format", "openai", "-", stdin=lines).lines[1] == "q1"


def test_messages_that_no_provider_sends_are_refused(shell: Shell) -> None:
    session = shell("new").lines[0]
    assert shell.run("append", session, "--format", "openai", "--user", "x").code == 2
    assert shell.run("append", session, "--format", "openai", "--json-entry", '{"role": "cook"}').code == 1
    assert shell.run("append", session, "--format", "latin", "--json-entry", "{}").code == 2
