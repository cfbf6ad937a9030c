"""The scripted model answers as providers do: their own clients read it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from support.model_apis import Part
from support.scripted_model import DEFAULT_TEXT, ScriptedModel

if TYPE_CHECKING:
    import openai

pytestmark = pytest.mark.slow  # the clients take seconds to import, which only these tests spend

TOOL: Any = {"name": "read", "description": "", "input_schema": {"type": "object"}}
ASKED: Any = {"role": "user", "content": "Where is the heron?"}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def ask_anthropic(model: ScriptedModel, *messages: Any) -> Any:
    import anthropic

    with (
        anthropic.Anthropic(base_url=model.url, api_key="anything", max_retries=0) as client,
        client.messages.stream(max_tokens=9, model="m", messages=messages, tools=[TOOL]) as stream,
    ):
        return stream.get_final_message()


def openai_client(model: ScriptedModel) -> "openai.OpenAI":
    import openai

    return openai.OpenAI(base_url=f"{model.url}/v1", api_key="anything", max_retries=0)


def test_a_client_of_anthropic_reads_a_text(model: ScriptedModel) -> None:
    model.when("heron").says("In the reeds.")
    answer = ask_anthropic(model, ASKED)
    assert [block.text for block in answer.content] == ["In the reeds."]
    assert answer.stop_reason == "end_turn"


def test_a_client_of_anthropic_reads_a_tool_call_and_the_next_step_follows_its_result(
    model: ScriptedModel,
) -> None:
    model.when("heron").calls("read", path="reeds.txt").says("In the reeds.")
    call = ask_anthropic(model, ASKED)
    assert (call.content[0].name, call.content[0].input) == ("read", {"path": "reeds.txt"})
    assert call.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.content[0].id, "content": "a bird"}
    said = {"role": "assistant", "content": [block.to_dict() for block in call.content]}
    answer = ask_anthropic(model, ASKED, said, {"role": "user", "content": [result]})
    assert answer.content[0].text == "In the reeds."
    assert model.requests[-1].parts == (
        Part("user", "Where is the heron?"),
        Part("call", '{"path": "reeds.txt"}', "read", call.content[0].id),
        Part("result", "a bird", call_id=call.content[0].id),
    )


def test_a_client_of_the_responses_api_reads_texts_and_tool_calls(model: ScriptedModel) -> None:
    model.when("heron").calls("read", path="reeds.txt")
    item: Any = {"type": "message", **ASKED}
    with openai_client(model) as client:
        events = list(client.responses.create(model="m", input=[item], stream=True))
    [done] = [event for event in events if event.type == "response.output_item.done"]
    assert done.item.type == "function_call"
    assert (done.item.name, done.item.arguments) == ("read", '{"path": "reeds.txt"}')
    assert events[-1].type == "response.completed"


def test_a_client_of_chat_completions_reads_texts_and_tool_calls(model: ScriptedModel) -> None:
    model.when("heron").says("In the reeds.")
    model.when("owl").calls("read", path="barn.txt")
    owl: Any = {"role": "user", "content": "Where is the owl?"}
    with openai_client(model) as client:
        chunks = client.chat.completions.create(model="m", messages=[ASKED], stream=True)
        assert (
            "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            == "In the reeds."
        )
        chunks = client.chat.completions.create(model="m", messages=[owl], stream=True)
        [call] = [
            call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or ()
        ]
    assert call.function is not None
    assert (call.function.name, call.function.arguments) == ("read", '{"path": "barn.txt"}')


def test_a_client_of_gemini_reads_texts_and_tool_calls(model: ScriptedModel) -> None:
    from google import genai
    from google.genai import types

    model.when("heron").says("In the reeds.")
    model.when("owl").calls("read", path="barn.txt")
    with genai.Client(api_key="anything", http_options=types.HttpOptions(base_url=model.url)) as client:
        [text] = client.models.generate_content_stream(model="m", contents="Where is the heron?")
        assert text.text == "In the reeds."
        call = client.models.generate_content(model="m", contents="Where is the owl?")
    assert call.function_calls is not None
    assert (call.function_calls[0].name, call.function_calls[0].args) == ("read", {"path": "barn.txt"})


def test_a_step_fails_as_often_as_it_should_and_answers_after_that(model: ScriptedModel) -> None:
    import anthropic

    model.when("heron").fails(529, times=2).says("In the reeds.")
    for _ in range(2):
        with pytest.raises(anthropic.APIStatusError) as refused:
            ask_anthropic(model, ASKED)
        assert refused.value.status_code == 529
    assert ask_anthropic(model, ASKED).content[0].text == "In the reeds."


def test_a_step_with_a_gate_answers_when_the_gate_opens(model: ScriptedModel) -> None:
    gate = threading.Event()
    model.when("heron").waits_for(gate).says("In the reeds.")
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask_anthropic, model, ASKED)
        assert not answer.done()
        gate.set()
        assert answer.result().content[0].text == "In the reeds."


def test_a_request_without_a_rule_or_beyond_the_last_step_gets_the_default(model: ScriptedModel) -> None:
    model.when("heron").says("In the reeds.")
    assert ask_anthropic(model, {"role": "user", "content": "Hello"}).content[0].text == DEFAULT_TEXT
    said = {"role": "assistant", "content": "In the reeds."}
    more = {"role": "user", "content": "Thanks"}
    assert ask_anthropic(model, ASKED, said, more).content[0].text == DEFAULT_TEXT
