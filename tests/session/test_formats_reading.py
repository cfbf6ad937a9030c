"""Messages and answers of providers: what is stored of them, and that they come back the same."""

import json  # noqa: TID251 - what is sent is written as another program writes it
from typing import Any

import msgspec
import pytest

from sessiond.session.formats.build import UnreadableMessage
from sessiond.session.formats.drafts import drafts
from support.formats import PNG, stored, there_and_back
from support.providers import PROVIDERS, Provider

TEXT = [{"type": "text", "text": "Hello"}]
READ = {"path": "main.go"}
NO_USAGE = {
    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}  # fmt: skip


def said(format: Provider, *items: Any) -> list[dict[str, Any]]:
    """The messages that are stored."""
    return [line["message"] for line in stored(format, *items)]


def usage(input: int, output: int, cache_read: int = 0, cache_write: int = 0) -> dict[str, Any]:
    total = input + output + cache_read + cache_write
    counted = {"input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write}
    return NO_USAGE | counted | {"totalTokens": total}


# --- the provider table of the Go library, a row a test ------------------------------------------------------


def test_openai_content_that_is_a_string_is_text() -> None:
    assert said("openai", {"role": "user", "content": "Hello"}) == [{"role": "user", "content": "Hello"}]
    (answer,) = said("openai", {"role": "assistant", "content": "Hello"})
    assert answer["content"] == TEXT


def test_openai_content_of_text_parts_is_text() -> None:
    assert said("openai", {"role": "user", "content": TEXT}) == [{"role": "user", "content": TEXT}]


def test_anthropic_content_of_text_blocks_is_text() -> None:
    assert said("anthropic", {"role": "user", "content": TEXT}) == [{"role": "user", "content": TEXT}]


def test_google_text_parts_are_text() -> None:
    assert said("google", {"role": "user", "parts": [{"text": "Hello"}]}) == [
        {"role": "user", "content": TEXT}
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"inline_data": {"mime_type": "image/png", "data": PNG}},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
    ],
)
def test_google_inline_data_is_an_image(part: dict[str, Any]) -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    assert said("google", {"role": "user", "parts": [part]}) == [{"role": "user", "content": [image]}]


# --- the examples of the Go library ----------------------------------------------------------------------------


FILE = 'Analyze this file:\n<file name="main.go">\npackage main\n...</file>'


def test_a_file_in_the_text_of_a_message_stays_as_it_is() -> None:
    messages = [
        said("openai", {"role": "user", "content": [{"type": "text", "text": FILE}]}),
        said("anthropic", {"role": "user", "content": [{"type": "text", "text": FILE}]}),
        said("google", {"role": "user", "parts": [{"text": FILE}]}),
    ]
    assert messages == [[{"role": "user", "content": [{"type": "text", "text": FILE}]}]] * 3


def test_a_file_that_a_tool_has_read_is_the_tools_result() -> None:
    blocks = [{"type": "text", "text": "package main"}]
    assert said("openai", {"role": "tool", "tool_call_id": "c", "content": "package main"}) == [
        {"role": "toolResult", "toolCallId": "c", "toolName": "", "content": blocks, "isError": False}
    ]
    result = {"type": "tool_result", "tool_use_id": "c", "content": "package main"}
    assert said("anthropic", {"role": "user", "content": [result]})[0]["content"] == blocks
    response = {"name": "read_file", "response": {"output": "package main"}}
    (message,) = said("google", {"role": "user", "parts": [{"functionResponse": response}]})
    assert (message["toolName"], message["content"]) == ("read_file", blocks)


# --- whole answers --------------------------------------------------------------------------------------------------


def test_an_anthropic_answer_is_kept_with_model_usage_and_stop_reason() -> None:
    answer = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eHg="},
            {"type": "text", "text": "Reading.", "citations": None},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": READ},
        ],
        "stop_reason": "tool_use", "stop_sequence": None,
        "usage": {
            "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20, "service_tier": "standard",
        },
    }  # fmt: skip
    assert said("anthropic", answer) == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2ln"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "eHg=", "redacted": True},
                {"type": "text", "text": "Reading."},
                {"type": "toolCall", "id": "toolu_1", "name": "read", "arguments": READ},
            ],
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude-x", "responseId": "msg_01",
            "usage": usage(10, 5, 100, 20), "stopReason": "toolUse",
        }
    ]  # fmt: skip


def test_an_openai_completion_is_kept_with_model_usage_and_finish_reason() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": json.dumps(READ)}}
    completion = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-x",
        "choices": [
            {
                "index": 0, "finish_reason": "tool_calls", "logprobs": None,
                "message": {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]},
            }
        ],
        "usage": {
            "prompt_tokens": 110, "completion_tokens": 5, "total_tokens": 115,
            "prompt_tokens_details": {"cached_tokens": 100, "audio_tokens": 0},
        },
    }  # fmt: skip
    assert said("openai", completion) == [
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "call_1", "name": "read", "arguments": READ}],
            "api": "openai-completions", "provider": "openai", "model": "gpt-x", "responseId": "chatcmpl-1",
            "usage": usage(10, 5, 100), "stopReason": "toolUse",
        }
    ]  # fmt: skip


def test_an_openai_response_is_one_message_with_model_usage_and_status() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    said_text = {"type": "output_text", "text": "Reading.", "annotations": [], "logprobs": []}
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "status": "completed", "error": None,
        "output": [
            thought | {"encrypted_content": "eHg="},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said_text]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": json.dumps(READ)},
            {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_2", "name": "patch", "input": "+a"},
        ],
        "usage": {
            "input_tokens": 110, "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 4},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 115,
        },
    }  # fmt: skip
    (message,) = said("openai-responses", response)
    assert json.loads(message["content"][0].pop("thinkingSignature")) == thought | {
        "encrypted_content": "eHg="
    }
    assert message == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Reading."},
            {"type": "toolCall", "id": "call_1", "name": "read", "arguments": READ},
            {"type": "toolCall", "id": "call_2", "name": "patch", "arguments": {"input": "+a"}},
        ],
        "api": "openai-responses", "provider": "openai", "model": "gpt-x", "responseId": "resp_1",
        "usage": usage(6, 5, 100, 4), "stopReason": "toolUse",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "stop_reason", "error"),
    [
        ({"status": "completed"}, "stop", None),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length", None),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "error",
            "The content was filtered.",
        ),
        ({"status": "failed", "error": {"code": "server_error", "message": "Sorry."}}, "error", "Sorry."),
        ({"status": "cancelled"}, "aborted", None),
    ],
)
def test_the_status_of_a_response_says_why_the_model_stopped(
    fields: dict[str, Any], stop_reason: str, error: str | None
) -> None:
    (message,) = said("openai-responses", {"output": [], **fields})
    assert (message["stopReason"], message.get("errorMessage")) == (stop_reason, error)


def test_an_item_of_a_response_is_a_message_of_its_own() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"}
    messages = said(
        "openai-responses",
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        call,
        {"type": "function_call_output", "call_id": "c", "output": "done"},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    )
    assert [message["role"] for message in messages] == ["assistant", "assistant", "toolResult", "assistant"]
    assert messages[0]["content"] == [{"type": "thinking", "thinking": "Hm."}]
    assert messages[1]["stopReason"] == "toolUse"
    assert messages[3]["content"] == [{"type": "text", "text": "No."}]


def test_every_type_of_item_of_openais_sdk_is_known() -> None:
    from typing import get_args, get_type_hints

    from openai.types.responses import ResponseInputItemParam

    from sessiond.session.formats.from_openai_responses import ITEM_TYPES

    types = {
        name
        for item in get_args(ResponseInputItemParam)
        for choice in [get_type_hints(item)["type"], *get_args(get_type_hints(item)["type"])]
        for name in get_args(choice)
        if isinstance(name, str)
    }
    assert types == ITEM_TYPES | {"message", "compaction"}


@pytest.mark.parametrize("spelling", ["camel", "snake"])
def test_a_google_answer_is_kept_with_model_usage_and_finish_reason(spelling: str) -> None:
    answer: dict[str, Any] = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"functionCall": {"name": "read", "args": READ}, "thoughtSignature": "c2ln"},
                    ],
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "modelVersion": "gemini-x",
        "responseId": "r1",
        "usageMetadata": {
            "promptTokenCount": 110, "cachedContentTokenCount": 100, "candidatesTokenCount": 5,
            "thoughtsTokenCount": 2, "totalTokenCount": 117,
        },
    }  # fmt: skip
    if spelling == "snake":
        answer = _snake(answer)
    assert said("google", answer) == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {
                    "type": "toolCall", "id": "noid_read_0", "name": "read", "arguments": READ,
                    "thoughtSignature": "c2ln",
                },
            ],
            "api": "google-generative-ai", "provider": "google", "model": "gemini-x", "responseId": "r1",
            "usage": usage(10, 7, 100), "stopReason": "toolUse",
        }
    ]  # fmt: skip


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            "".join(
                f"_{character.lower()}" if character.isupper() else character for character in name
            ): _snake(inner)
            for name, inner in value.items()
        }
    return [_snake(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("format", "reason", "stored_as"),
    [
        ("anthropic", "end_turn", "stop"),
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "refusal", "error"),
        ("anthropic", "some_new_one", "stop"),
        ("openai", "stop", "stop"),
        ("openai", "length", "length"),
        ("openai", "content_filter", "error"),
        ("google", "STOP", "stop"),
        ("google", "MAX_TOKENS", "length"),
        ("google", "SAFETY", "error"),
    ],
)
def test_why_a_model_stopped_is_told_in_the_agents_words(
    format: Provider, reason: str, stored_as: str
) -> None:
    answer: dict[Provider, Any] = {
        "anthropic": {"role": "assistant", "content": "Hi", "stop_reason": reason},
        "openai": {"choices": [{"finish_reason": reason, "message": {"role": "assistant", "content": "Hi"}}]},
        "google": {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": reason},
    }
    (message,) = said(format, answer[format])
    assert message["stopReason"] == stored_as
    assert ("errorMessage" in message) is (stored_as == "error")


def test_an_answer_without_usage_has_one_of_zeros() -> None:
    assert said("anthropic", {"role": "assistant", "content": "Hi"})[0]["usage"] == NO_USAGE


# --- items and entries ----------------------------------------------------------------------------------------------


ASKED_AND_ANSWERED = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True},
        {"type": "text", "text": "Go on"},
    ],
}


def test_a_message_with_results_becomes_several_entries_whose_ids_follow_from_the_first() -> None:
    item = {
        "id": "m3", "parentId": "m2", "timestamp": "2026-01-01T00:00:00Z", "mark": 1,
        "message": ASKED_AND_ANSWERED,
    }  # fmt: skip
    entries = stored("anthropic", item)
    assert [entry.get("id") for entry in entries] == ["m3", "m3-1", "m3-2"]
    assert [entry.get("parentId", "above") for entry in entries] == ["m2", "above", "above"]
    assert [entry.get("mark") for entry in entries] == [1, None, None]
    assert {entry["timestamp"] for entry in entries} == {"2026-01-01T00:00:00Z"}
    assert {entry["message"]["timestamp"] for entry in entries} == {1767225600000}
    assert [entry["message"]["role"] for entry in entries] == ["toolResult", "toolResult", "user"]


def test_the_id_of_a_bare_answer_is_not_an_entrys() -> None:
    (entry,) = stored("anthropic", {"id": "msg_1", "type": "message", "role": "assistant", "content": []})
    assert "id" not in entry


def test_entries_of_other_types_are_the_same_in_every_format() -> None:
    draft = {"type": "model_change", "model": "a/b", "role": "default"}
    assert [stored(format, draft) for format in PROVIDERS] == [[draft]] * len(PROVIDERS)


TOOL_USE = {"type": "tool_use", "id": "a", "name": "b", "input": {}}
SOUND = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}


@pytest.mark.parametrize(
    ("format", "item", "place"),
    [
        ("openai", {"role": "nobody", "content": "x"}, "$.role"),
        ("openai", {"role": "user", "content": [{"type": "input_audio"}]}, "$.content[0].type"),
        ("openai", {"role": "tool", "content": "x"}, "$.tool_call_id"),
        ("openai", {"choices": []}, "$.choices"),
        ("openai", {"message": {"role": "user", "content": [{"type": "text"}]}}, "$.message.content[0]"),
        ("openai-responses", {"role": "nobody", "content": "x"}, "$.role"),
        ("openai-responses", {"role": "user", "content": [{"type": "input_file"}]}, "$.content[0].type"),
        ("openai-responses", {"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}, "$.content[0]"),
        ("openai-responses", {"type": "web_search_call", "id": "ws_1"}, "$.type"),
        ("openai-responses", {"type": "function_call_output", "output": "x"}, "$"),
        ("openai-responses", {"output": [{"type": "mcp_call"}]}, "$.output[0].type"),
        ("openai-responses", {"output": [{"type": "message", "role": "user", "content": []}]}, "$.output[0].role"),
        ("openai-responses", {"output": [], "status": "in_progress"}, "$.status"),
        ("openai-responses", {"message": {"type": "function_call", "call_id": "c"}}, "$.message"),
        ("anthropic", {"role": "user"}, "$"),
        ("anthropic", {"role": "user", "content": [{"type": "document"}]}, "$.content[0].type"),
        ("anthropic", {"role": "user", "content": [TOOL_USE]}, "$.content[0]"),
        ("anthropic", {"role": "assistant", "content": [TOOL_USE | {"input": 1}]}, "$.content[0].input"),
        ("anthropic", {"id": "x" * 63, "message": ASKED_AND_ANSWERED}, "$.id"),
        ("anthropic", {"id": "no good", "message": {"role": "user", "content": "x"}}, "$.id"),
        ("google", {"role": "user", "parts": [{"executableCode": {}}]}, "$.parts[0]"),
        ("google", {"role": "user", "parts": [SOUND]}, "$.parts[0].inlineData.mimeType"),
        ("google", {"candidates": [{}, {}]}, "$.candidates"),
        ("google", {"message": {"role": "elsewhere", "parts": []}}, "$.message.role"),
    ],
)  # fmt: skip
def test_content_that_cannot_be_kept_is_refused_with_its_place(
    format: Provider, item: Any, place: str
) -> None:
    with pytest.raises((UnreadableMessage, msgspec.ValidationError)) as refused:
        drafts(format, json.dumps(item).encode())
    said = str(refused.value).partition(" - at `")[2].removesuffix("`")
    assert (said or "$") == place


# --- there and back -------------------------------------------------------------------------------------------------

CALL_OF_OPENAI = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"n":1.0}'}}
CONVERSATIONS: dict[Provider, list[dict[str, Any]]] = {
    "openai": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Mind the gap."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi", "tool_calls": [CALL_OF_OPENAI]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"},
                },
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [CALL_OF_OPENAI | {"id": "x", "function": {"name": "f", "arguments": "{broken"}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": [*TEXT, *TEXT]},
        {"role": "assistant", "content": "Bye"},
    ],
    "openai-responses": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Mind the gap."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"n":1.0}'},
        {"type": "function_call", "call_id": "call_2", "name": "look", "arguments": "{broken"},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": [
                {"type": "input_text", "text": "See"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "See"},
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"},
            ],
        },
        {"type": "function_call", "call_id": "call_3", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_3", "output": "done"},
        {"type": "function_call", "call_id": "call_4", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_4", "output": "done"},
        {"role": "assistant", "content": "Bye"},
    ],
    "anthropic": [
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eHg="},
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"n": 1.0, "big": 2**70}},
                {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [
                        {"type": "text", "text": "Seen"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                        },
                    ],
                },
                {"type": "text", "text": "Go on"},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Bye"}]},
    ],
    "google": [
        {
            "role": "user",
            "parts": [{"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"},
                {"text": "Reading.", "thoughtSignature": "dGV4"},
                {"functionCall": {"name": "read", "args": READ}, "thoughtSignature": "Y2Fs"},
                {"functionCall": {"name": "read", "args": {}}},
                {"functionCall": {"id": "c1", "name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "package main"}}},
                {"functionResponse": {"name": "read", "response": {"error": "no"}}},
                {
                    "functionResponse": {
                        "id": "c1",
                        "name": "look",
                        "response": {"size": 1, "unit": "px"},
                    }
                },
                {"text": "Go on"},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}},
            ],
        },
        {"role": "model", "parts": [{"text": "Bye"}]},
    ],
}


@pytest.mark.parametrize("format", PROVIDERS)
def test_appended_messages_come_back_the_same(format: Provider) -> None:
    assert there_and_back(format, *CONVERSATIONS[format]) == CONVERSATIONS[format]


@pytest.mark.parametrize("format", PROVIDERS)
def test_messages_that_were_read_are_stored_the_same_again(format: Provider) -> None:
    again = there_and_back(format, *CONVERSATIONS[format])
    assert stored(format, *again) == stored(format, *CONVERSATIONS[format])


def test_google_answers_without_ids_find_their_calls_also_one_by_one() -> None:
    calls = [{"functionCall": {"name": "read", "args": {"n": n}}} for n in range(2)]
    answers = [
        {"functionResponse": {"name": "read", "response": {"output": f"answer {n}"}}} for n in range(2)
    ]
    messages = there_and_back(
        "google", {"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": calls},
        *({"role": "user", "parts": [answer]} for answer in answers),
    )  # fmt: skip
    assert messages[2] == {"role": "user", "parts": answers}


def test_google_calls_without_ids_stay_so_in_every_turn() -> None:
    turns = [
        {"role": "user", "parts": [{"text": "Go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    ]
    again = [{"role": "model", "parts": [{"text": "Once more."}, *turns[1]["parts"]]}, turns[2]]
    assert there_and_back("google", *turns, *again) == [*turns, *again]


def test_a_call_of_the_old_openai_functions_comes_back_as_a_tool_call() -> None:
    messages = there_and_back(
        "openai",
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "done"},
    )
    assert messages[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    assert messages[2]["role"] == "tool"
