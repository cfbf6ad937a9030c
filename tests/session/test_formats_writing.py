"""Contexts in the formats of providers: what each makes of an agent's messages."""

import pytest

from support.formats import PNG, sent, sent_to_all
from support.logs import assistant, compaction, entry, header, loaded, message, tool_call, tool_result, user
from support.providers import PROVIDERS, Provider

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
CALL = tool_call("read", {"path": "main.go"}, call="call_1")
CLAUDE = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-x"}
GEMINI = {"api": "google-generative-ai", "provider": "google", "model": "gemini-x"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2lnbmVk"}


def test_a_text_is_a_message_everywhere() -> None:
    all_sent = sent_to_all(header(), user("Hello"), assistant("Hi there!"), user("Bye"))
    assert all_sent["openai"].messages == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi there!"},
        {"role": "user", "content": "Bye"},
    ]
    assert all_sent["openai-responses"].messages == all_sent["openai"].messages
    assert all_sent["anthropic"].messages == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi there!"}]},
        {"role": "user", "content": "Bye"},
    ]
    assert all_sent["google"].messages == [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "Hi there!"}]},
        {"role": "user", "parts": [{"text": "Bye"}]},
    ]
    assert all(request.entry_ids == ["e1", "e2", "e3"] for request in all_sent.values())


def test_a_call_and_its_result_are_a_pair_everywhere() -> None:
    all_sent = sent_to_all(
        header(), user("Read it"), assistant([CALL], **CLAUDE), tool_result("package main", call="call_1")
    )
    assert all_sent["openai"].messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"main.go"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "package main"},
    ]
    assert all_sent["openai-responses"].messages[1:] == [
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"main.go"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "package main"},
    ]
    assert all_sent["anthropic"].messages[1:] == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "main.go"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "package main"}],
        },
    ]
    assert all_sent["google"].messages[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "call_1", "name": "read", "response": {"output": "package main"}}}
        ],
    }


@every_provider
def test_a_call_without_a_result_is_closed_with_an_error(provider: Provider) -> None:
    request = sent(loaded(header(), user("Read it"), assistant([CALL]), user("Well?")), provider)
    assert "No result was recorded" in str(request.messages)
    assert request.reasons["e2"] == "callClosed"


@every_provider
def test_a_result_without_a_call_becomes_the_users_words(provider: Provider) -> None:
    log = loaded(header(), user("Hi"), tool_result("package main", call="gone"))
    request = sent(log, provider)
    assert "Result of the tool read" in str(request.messages)
    assert "package main" in str(request.messages)
    assert request.reasons["e2"] == "resultWithoutCall"


@every_provider
def test_a_late_result_is_moved_behind_its_call(provider: Provider) -> None:
    request = sent(
        loaded(header(), user("Go"), assistant([CALL]), user("Hurry!"), tool_result("done", call="call_1")),
        provider,
    )
    assert request.reasons["e4"] == "resultMoved"
    assert request.places["e4"] is not None
    assert request.places["e3"] is not None
    assert request.places["e4"] <= request.places["e3"]
    assert "No result" not in str(request.messages)


def test_calls_that_were_stored_one_by_one_are_one_turn_if_their_results_come_after_them() -> None:
    calls = [assistant([tool_call("read", {"n": n}, call=f"call_{n}")], **CLAUDE) for n in range(2)]
    results = [tool_result(f"answer {n}", call=f"call_{n}") for n in range(2)]
    all_sent = sent_to_all(header(), user("Go"), *calls, *results)
    assert [len(request.messages) for request in all_sent.values()] == [4, 5, 3, 3]
    assert [other["type"] for other in all_sent["openai-responses"].messages[1:]] == [
        "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert [block["id"] for block in all_sent["anthropic"].messages[1]["content"]] == ["call_0", "call_1"]
    for provider, request in all_sent.items():
        assert request.reasons["e3"] == ("asStored" if provider == "openai-responses" else "joined")
        assert request.reasons["e4"] == request.reasons["e5"] == "asStored"
        assert request.places["e3"] == (2 if provider == "openai-responses" else 1)


@every_provider
def test_a_call_after_the_result_of_another_is_a_turn_of_its_own(provider: Provider) -> None:
    rounds = [
        line
        for n in range(2)
        for line in (
            assistant([tool_call("read", {"n": n}, call=f"call_{n}")]),
            tool_result("done", call=f"call_{n}"),
        )
    ]
    request = sent(loaded(header(), user("Go"), *rounds), provider)
    assert len(request.messages) == 5
    assert set(request.reasons.values()) == {"asStored"}


@every_provider
def test_a_call_is_not_joined_to_one_that_was_aborted(provider: Provider) -> None:
    aborted = assistant([tool_call("read", {}, call="old")], stopReason="aborted")
    request = sent(loaded(header(), user("Go"), assistant("Well"), aborted, assistant([CALL])), provider)
    assert request.reasons["e3"] == "abortedTurn"
    assert request.reasons["e4"] in ("callClosed", "joined")


@every_provider
def test_the_first_result_of_a_call_counts(provider: Provider) -> None:
    call = assistant([CALL])
    first, second = tool_result("one", call="call_1"), tool_result("two", call="call_1")
    request = sent(loaded(header(), user("Go"), call, first, second), provider)
    assert request.reasons["e4"] == "duplicateResult"
    assert "two" not in str(request.messages)


@every_provider
def test_an_id_that_is_used_again_belongs_to_the_newer_call(provider: Provider) -> None:
    lines = [
        line
        for text in ("one", "two")
        for line in (user("Go"), assistant([CALL]), tool_result(text, call="call_1"))
    ]
    request = sent(loaded(header(), *lines), provider)
    written = str(request.messages)
    assert written.index("one") < written.index("two")
    assert "duplicateResult" not in request.reasons.values()


@every_provider
@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_a_failed_turn_goes_with_its_results(provider: Provider, stop: str) -> None:
    failed = assistant([{"type": "text", "text": "Let me"}, CALL], stopReason=stop)
    request = sent(
        loaded(header(), user("Go"), failed, tool_result("x", call="call_1"), user("Again")), provider
    )
    assert (request.reasons["e2"], request.reasons["e3"]) == ("abortedTurn", "resultOfAbortedTurn")
    assert "Let me" not in str(request.messages)


@every_provider
def test_results_stand_in_the_order_of_their_calls(provider: Provider) -> None:
    calls = [tool_call("read", {"n": n}, call=f"call_{n}") for n in range(3)]
    results = [tool_result(f"answer {n}", call=f"call_{n}") for n in (2, 0, 1)]
    written = str(sent(loaded(header(), user("Go"), assistant(calls), *results), provider).messages)
    assert written.index("answer 0") < written.index("answer 1") < written.index("answer 2")


@every_provider
def test_the_same_context_is_written_the_same(provider: Provider) -> None:
    lines = (header(), user("Go"), assistant([tool_call("a b", {}, call="x|" * 40)]), user("?"))
    assert sent(loaded(*lines), provider).messages == sent(loaded(*lines), provider).messages


@every_provider
def test_messages_sent_before_stay_the_same_when_the_session_goes_on(provider: Provider) -> None:
    lines = [header(), user("Go"), assistant([tool_call("a b", {}, call="x|" * 40)])]
    lines.append(tool_result("done", call="x|" * 40))
    before = sent(loaded(*lines), provider).messages
    after = sent(loaded(*lines, assistant("Fine."), user("More")), provider).messages
    assert after[: len(before)] == before


# --- ids and names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "call_id", "kept"),
    [
        ("openai", "call_1|fc_2", True),
        ("openai", "x" * 40, True),
        ("openai", "x" * 41, False),
        ("openai-responses", "x" * 64, True),
        ("openai-responses", "x" * 65, False),
        ("openai-responses", "call 1", False),
        ("anthropic", "toolu_01-A", True),
        ("anthropic", "call_1|fc_2", False),
        ("anthropic", "x" * 65, False),
        ("anthropic", "", False),
        ("google", "call_1|" + "x" * 100, True),
    ],
)
def test_an_id_is_kept_where_the_provider_takes_it(provider: Provider, call_id: str, *, kept: bool) -> None:
    call = tool_call("read", {}, call=call_id)
    request = sent(loaded(header(), user("Go"), assistant([call]), tool_result("x", call=call_id)), provider)
    assert (f"'{call_id}'" in str(request.messages)) is kept
    assert (request.reasons["e2"] == "nameChanged") is not kept
    assert "No result" not in str(request.messages)


def test_the_responses_api_gets_the_id_of_a_call_without_that_of_its_item() -> None:
    call_id = f"call_1|fc_{'1' * 60}"
    log = loaded(
        header(), user("Go"), assistant([tool_call("read", {}, call=call_id)]), tool_result("x", call=call_id)
    )
    request = sent(log, "openai-responses")
    assert [item.get("call_id") for item in request.messages] == [None, "call_1", "call_1"]
    assert request.reasons["e2"] == "nameChanged"


@every_provider
def test_a_tools_name_is_made_one_that_the_provider_takes(provider: Provider) -> None:
    lines = (
        header(),
        user("Go"),
        assistant([tool_call("mcp: read!", {}, call="c")]),
        tool_result("x", call="c"),
    )
    assert sent(loaded(*lines), provider).reasons["e2"] == "nameChanged"


@every_provider
def test_a_call_without_a_name_is_left_out(provider: Provider) -> None:
    said = assistant([{"type": "text", "text": "ok"}, tool_call("", {}, call="c")])
    request = sent(loaded(header(), user("Go"), said, user("?")), provider)
    assert request.reasons["e2"] == "callLeftOut"


# --- thinking -----------------------------------------------------------------------------------------------------


def test_signed_thinking_goes_back_to_who_thought_it() -> None:
    log = loaded(
        header(), user("Go"), assistant([THOUGHT, {"type": "text", "text": "ok"}], **CLAUDE), user("?")
    )
    assert sent(log, "anthropic").messages[1]["content"][0] == {
        "type": "thinking",
        "thinking": "Hm.",
        "signature": "c2lnbmVk",
    }
    for other in ("openai", "openai-responses", "google"):
        request = sent(log, other)
        assert "Hm." not in str(request.messages)
        assert request.reasons["e2"] == "thinkingLeftOut"


def test_google_gets_its_thoughts_and_signatures_back() -> None:
    call = CALL | {"thoughtSignature": "c2ln"}
    said = assistant([THOUGHT, {"type": "text", "text": "ok", "textSignature": "dGV4"}, call], **GEMINI)
    log = loaded(header(), user("Go"), said, tool_result("x", call="call_1"))
    parts = sent(log, "google").messages[1]["parts"]
    assert parts[0] == {"text": "Hm.", "thought": True, "thoughtSignature": "c2lnbmVk"}
    assert [part.get("thoughtSignature") for part in parts[1:]] == ["dGV4", "c2ln"]


def test_a_call_of_another_provider_says_to_google_that_nobody_signed_it() -> None:
    calls = [CALL, tool_call("read", {}, call="call_2")]
    parts = sent(loaded(header(), user("Go"), assistant(calls, **CLAUDE), user("?")), "google").messages[1][
        "parts"
    ]
    assert parts[0]["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in parts[1], "the first call of a turn is the one that is looked at"


def test_a_signature_of_another_house_of_gemini_is_not_told_to_google() -> None:
    vertex = GEMINI | {"api": "google-vertex", "provider": "google-vertex"}
    log = loaded(
        header(), user("Go"), assistant([CALL | {"thoughtSignature": "c2ln"}], **vertex),
        tool_result("x", call="call_1"), assistant("Done.", **GEMINI), user("?"),
    )  # fmt: skip
    (call,) = sent(log, "google").messages[1]["parts"]
    assert call["thoughtSignature"] == "skip_thought_signature_validator"


def test_redacted_thinking_goes_back_to_anthropic_in_either_peers_shape() -> None:
    blocks = [
        {"type": "redactedThinking", "data": "b21w"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "cGk=", "redacted": True},
        {"type": "text", "text": "ok"},
    ]
    log = loaded(header(), user("Go"), assistant(blocks, **CLAUDE), user("?"))
    assert sent(log, "anthropic").messages[1]["content"][:2] == [
        {"type": "redacted_thinking", "data": "b21w"},
        {"type": "redacted_thinking", "data": "cGk="},
    ]


@pytest.mark.parametrize(
    "thought", [{"type": "thinking", "thinking": "Hm."}, THOUGHT | {"thinkingSignature": ""}]
)
def test_unsigned_thinking_does_not_go_back_to_anthropic(thought: dict[str, str]) -> None:
    log = loaded(
        header(), user("Go"), assistant([thought, {"type": "text", "text": "ok"}], **CLAUDE), user("?")
    )
    assert sent(log, "anthropic").messages[1]["content"] == [{"type": "text", "text": "ok"}]


def test_thinking_of_another_house_with_the_same_api_does_not_go_back() -> None:
    other = CLAUDE | {"provider": "minimax"}
    log = loaded(
        header(), user("Go"),
        assistant([THOUGHT, {"type": "text", "text": "a"}], **CLAUDE), user("Go on"),
        assistant([THOUGHT, {"type": "text", "text": "b"}], **other), user("?"),
    )  # fmt: skip
    blocks = [sent["content"] for sent in sent(log, "anthropic").messages if sent["role"] == "assistant"]
    assert [len(content) for content in blocks] == [1, 2], "the newest turn says who is asked"


def test_thinking_from_before_a_compaction_does_not_go_back_to_anthropic() -> None:
    thinking = [THOUGHT, {"type": "text", "text": "ok"}]
    log = loaded(
        header(), user("One"), assistant(thinking, **CLAUDE), user("Two"), assistant(thinking, **CLAUDE),
        compaction("So far.", "e3"), user("Three"), assistant(thinking, **CLAUDE), user("Four"),
    )  # fmt: skip
    request = sent(log, "anthropic")
    assert request.reasons["e4"] == "thinkingLeftOut"
    assert request.reasons["e7"] == "asStored"


def test_thinking_from_before_a_change_of_the_system_prompt_does_not_go_back_to_anthropic() -> None:
    thinking = [THOUGHT, {"type": "text", "text": "ok"}]
    log = loaded(
        header(), message("system", "Be brief."), user("One"), assistant(thinking, **CLAUDE),
        message("system", "Be kind."), user("Two"), assistant(thinking, **CLAUDE), user("Three"),
    )  # fmt: skip
    request = sent(log, "anthropic")
    assert (request.reasons["e3"], request.reasons["e6"]) == ("thinkingLeftOut", "asStored")


def test_thinking_with_nothing_behind_it_does_not_go_back_to_anthropic() -> None:
    log = loaded(header(), user("Go"), assistant([THOUGHT], **CLAUDE), user("?"))
    request = sent(log, "anthropic")
    assert request.reasons["e2"] == "empty"
    assert len(request.messages) == 1


# --- images -------------------------------------------------------------------------------------------------------


def test_an_image_of_the_user_is_shown_everywhere() -> None:
    all_sent = sent_to_all(header(), user([{"type": "text", "text": "See:"}, IMAGE]))
    assert all_sent["openai"].messages[0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PNG}"},
    }
    assert all_sent["openai-responses"].messages[0]["content"] == [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    ]
    assert all_sent["anthropic"].messages[0]["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    }
    assert all_sent["google"].messages[0]["parts"][1] == {
        "inlineData": {"mimeType": "image/png", "data": PNG}
    }


def test_an_image_with_an_url_is_linked_everywhere() -> None:
    linked = {"type": "image", "url": "https://example.org/a.png", "mimeType": "image/png"}
    all_sent = sent_to_all(header(), user([linked]))
    assert all_sent["openai"].messages[0]["content"][0]["image_url"] == {"url": "https://example.org/a.png"}
    assert all_sent["openai-responses"].messages[0]["content"][0]["image_url"] == "https://example.org/a.png"
    assert all_sent["anthropic"].messages[0]["content"][0]["source"]["type"] == "url"
    assert all_sent["google"].messages[0]["parts"][0]["fileData"]["fileUri"] == "https://example.org/a.png"


def test_images_of_a_result_go_where_each_provider_takes_them() -> None:
    shown = message(
        "toolResult", [{"type": "text", "text": "Seen:"}, IMAGE], toolCallId="call_1", toolName="look"
    )
    all_sent = sent_to_all(header(), user("Look"), assistant([CALL], **CLAUDE), shown)
    of_tool, of_user = all_sent["openai"].messages[2:]
    assert of_tool["content"] == "Seen:"
    assert [part["type"] for part in of_user["content"]] == ["text", "image_url"]
    assert all_sent["openai"].reasons["e3"] == "imageMoved"
    assert [part["type"] for part in all_sent["openai-responses"].messages[2]["output"]] == [
        "input_text",
        "input_image",
    ]
    assert all_sent["anthropic"].messages[2]["content"][0]["content"][1]["type"] == "image"
    assert all_sent["google"].messages[2]["parts"][0]["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG}}
    ]


def test_images_of_an_error_stand_behind_it_for_anthropic() -> None:
    failed = message("toolResult", [{"type": "text", "text": "No"}, IMAGE], toolCallId="call_1", isError=True)
    content = sent(loaded(header(), user("Look"), assistant([CALL]), failed), "anthropic").messages[2][
        "content"
    ]
    assert [block["type"] for block in content] == ["tool_result", "image"]
    assert content[0] == {
        "type": "tool_result", "tool_use_id": "call_1", "content": "No", "is_error": True,
    }  # fmt: skip


@every_provider
@pytest.mark.parametrize(
    "image",
    [
        IMAGE | {"data": "blob:sha256:" + "0" * 64},
        IMAGE | {"data": "not base64"},
        IMAGE | {"mimeType": "application/pdf"},
        {"type": "image"},
        {"type": "image", "url": "javascript:alert(1)"},
    ],
)
def test_an_image_that_nobody_could_show_leaves_a_note(provider: Provider, image: dict[str, str]) -> None:
    request = sent(loaded(header(), user([image])), provider)
    assert "An image was here" in str(request.messages)
    assert request.reasons["e1"] == "imageLeftOut"


def test_an_image_type_that_anthropic_does_not_take_leaves_a_note() -> None:
    log = loaded(header(), user([IMAGE | {"mimeType": "image/tiff"}]))
    assert sent(log, "anthropic").reasons["e1"] == "imageLeftOut"
    assert sent(log, "google").reasons["e1"] == "asStored"


# --- text and emptiness -----------------------------------------------------------------------------------------


@every_provider
@pytest.mark.parametrize(
    "content", ["", " \n", [], [{"type": "text", "text": ""}], [{"type": "odd"}], None, 7]
)
def test_a_message_that_says_nothing_is_out(provider: Provider, content: object) -> None:
    request = sent(loaded(header(), user(content), user("Hi")), provider)
    assert request.reasons["e1"] == "empty"
    assert len(request.messages) == 1


def test_turns_of_one_role_are_joined_where_roles_alternate() -> None:
    all_sent = sent_to_all(header(), user("One"), user("Two"), assistant("a"), assistant("b"))
    assert [len(request.messages) for request in all_sent.values()] == [4, 4, 2, 2]
    assert all_sent["anthropic"].messages[0]["content"] == [
        {"type": "text", "text": "One"},
        {"type": "text", "text": "Two"},
    ]
    assert all_sent["anthropic"].entry_ids == ["e1", "e3"]
    assert (all_sent["google"].reasons["e2"], all_sent["google"].places["e2"]) == ("joined", 0)


def test_a_conversation_that_begins_with_the_assistant_is_opened_by_the_user() -> None:
    all_sent = sent_to_all(header(), assistant("Welcome!"), user("Hi"))
    assert [request.messages[0]["role"] for request in all_sent.values()] == [
        "assistant",
        "assistant",
        "user",
        "user",
    ]
    assert all_sent["anthropic"].entry_ids == ["e1", "e1", "e2"]
    assert all_sent["anthropic"].places["e1"] == 1


def test_white_space_at_the_very_end_of_the_assistants_words_is_trimmed_for_anthropic() -> None:
    log = loaded(header(), user("Go"), assistant("The answer is \n"))
    assert sent(log, "anthropic").messages[-1]["content"] == [{"type": "text", "text": "The answer is"}]
    assert sent(log, "anthropic").reasons["e2"] == "trimmed"
    assert sent(log, "openai").messages[-1]["content"] == "The answer is \n"


def test_arguments_that_are_no_object_are_still_told() -> None:
    for arguments, told in [
        ('{"a": 1}', {"a": 1}),
        ("ls", {"value": "ls"}),
        ([1], {"value": [1]}),
        (None, {}),
    ]:
        call = {"type": "toolCall", "id": "c", "name": "run", "arguments": arguments}
        log = loaded(header(), user("Go"), assistant([call]), tool_result("x", call="c"))
        assert sent(log, "anthropic").messages[1]["content"][0]["input"] == told


@every_provider
def test_half_a_surrogate_pair_is_replaced(provider: Provider) -> None:
    assert "\ufffd" in str(sent(loaded(header(), user("a\ud800b")), provider).messages)


# --- what is no message of a provider -----------------------------------------------------------------------------


@every_provider
def test_commands_files_and_notes_are_told_as_the_users_words(provider: Provider) -> None:
    request = sent(
        loaded(
            header(),
            message("bashExecution", None, command="ls", output="a\nb", exitCode=2),
            message("pythonExecution", None, code="1+1", output="2", truncated=True, fullOutputPath="/tmp/o"),
            message("fileMention", None, files=[{"path": "a.go", "content": "package a"}, {"path": "b"}]),
            entry("custom_message", customType="x", content="A note", display=False),
            message("hookMessage", "An old note"),
            entry("branch_summary", fromId="e1", summary="Tried it"),
        ),
        provider,
    )
    written = str(request.messages)
    for words in (
        "Ran `ls`",
        "Exit code: 2",
        "Ran Python",
        "/tmp/o",
        '<file path="a.go">',
        "A note",
        "An old note",
    ):
        assert words in written
    assert "Tried it" in written
    assert set(request.reasons.values()) == {"asText"}


@every_provider
def test_an_excluded_command_and_an_unknown_role_are_out(provider: Provider) -> None:
    request = sent(
        loaded(
            header(), user("Hi"), message("bashExecution", None, command="env", excludeFromContext=True),
            message("telepathy", "?"), entry("message", message=7),
        ),
        provider,
    )  # fmt: skip
    assert list(request.reasons.values()) == ["asStored", "excluded", "unknownRole", "notAMessage"]


@every_provider
def test_a_compaction_is_told_before_what_it_keeps(provider: Provider) -> None:
    request = sent(
        loaded(header(), user("Old"), user("Kept"), compaction("So far.", "e2"), user("New")), provider
    )
    written = str(request.messages)
    assert written.index("So far.") < written.index("Kept") < written.index("New")
    assert "Old" not in written
    assert request.reasons["e1"] == "compactedAway"
    assert request.reasons["e3"] == "compaction"


# --- the system prompt ----------------------------------------------------------------------------------------------


def test_system_messages_are_the_system_prompt() -> None:
    all_sent = sent_to_all(
        header(), message("system", "Be brief.", sections={"where": "Here."}), user("Hi"),
        message("system", "Be kind.", sections={"where": "There."}), user("?"),
    )  # fmt: skip
    assert all_sent["anthropic"].system == "Be brief.\n\nBe kind.\n\nThere."
    assert all_sent["google"].system == {"parts": [{"text": "Be brief.\n\nBe kind.\n\nThere."}]}
    assert [other["role"] for other in all_sent["openai"].messages] == ["system", "user", "system", "user"]
    assert all_sent["openai"].places["e1"] == 0
    assert all_sent["anthropic"].places["e1"] is None
    assert {request.reasons["e1"] for request in all_sent.values()} == {"systemPrompt"}


def test_without_a_system_message_the_prompt_of_the_last_session_init_counts() -> None:
    init = entry("session_init", systemPrompt="Old", task="t", tools=[])
    newer = entry("session_init", systemPrompt="You test.", task="t", tools=[])
    all_sent = sent_to_all(header(), init, newer, user("Hi"))
    assert all_sent["openai"].messages[0] == {"role": "system", "content": "You test."}
    assert all_sent["openai"].entry_ids == ["e2", "e3"]
    assert all_sent["anthropic"].system == "You test."
    assert all_sent["google"].system == {"parts": [{"text": "You test."}]}
    assert {request.reasons["e2"] for request in all_sent.values()} == {"systemPrompt"}
    with_message = sent_to_all(header(), init, message("system", "Mine"), user("Hi"))
    assert with_message["anthropic"].system == "Mine"
    assert with_message["anthropic"].reasons["e1"] == "notForModel"


def test_developer_messages_stay_developers_for_openai_and_are_the_users_elsewhere() -> None:
    all_sent = sent_to_all(header(), message("developer", "Mind the gap."), user("Hi"))
    assert [request.messages[0]["role"] for request in all_sent.values()] == [
        "developer",
        "developer",
        "user",
        "user",
    ]


@every_provider
def test_an_empty_session_has_no_messages(provider: Provider) -> None:
    assert sent(loaded(header()), provider).messages == []
