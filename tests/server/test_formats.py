"""Contexts in a provider's format and appends in one, through a daemon; scenarios of the Go library."""

import json  # noqa: TID251 - what is sent is read as another program reads it
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.hub.errors import InvalidEntry
from sessiond.hub.session.provider_formats import to_drafts
from support.columns import entries_of, message_ids_of, messages_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.formats import PNG
from support.providers import PROVIDERS, Provider, check


async def a_session(peer: Peer) -> str:
    session: str = (await peer.call("session/create", cwd="/p"))["session"]["sessionId"]
    return session


async def asked(peer: Peer, session: str, format: Provider, **params: Any) -> dict[str, Any]:
    """A context that the provider would take."""
    answer: dict[str, Any] = await peer.call("session/context", sessionId=session, format=format, **params)
    check(format, messages_of(answer), answer["system"])
    assert all(message_ids_of(answer))
    return answer


# --- usage scenarios of the Go library ------------------------------------------------------------------------------


async def test_a_simple_session_of_the_go_library(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    hello = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    hi = {"role": "assistant", "content": [{"type": "text", "text": "Hi there!"}]}
    items = [{"id": "msg-1", "message": hello}, {"id": "msg-2", "message": hi}]
    added = await peer.append(session, *items, format="anthropic")
    assert [entry["id"] for entry in added["entries"]] == ["msg-1", "msg-2"]
    parents = [entry["parentId"] for entry in entries_of(await peer.call("session/path", sessionId=session))]
    assert parents == [None, "msg-1"]
    assert messages_of(await asked(peer, session, "anthropic")) == [hello, hi]
    assert messages_of(await asked(peer, session, "openai")) == [
        hello,
        {"role": "assistant", "content": "Hi there!"},
    ]
    assert messages_of(await asked(peer, session, "google")) == [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "Hi there!"}]},
    ]


async def test_a_complex_session_with_tools_of_the_go_library(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    ask = {"role": "user", "content": [{"type": "text", "text": "Read main.go"}]}
    call = {"type": "tool_use", "id": "call_abc", "name": "read_file", "input": {"path": "main.go"}}
    result = {"type": "tool_result", "tool_use_id": "call_abc", "content": "package main..."}
    messages = [ask, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    items = [{"id": f"m-{number}", "message": message} for number, message in enumerate(messages, 1)]
    await peer.append(session, *items, format="anthropic")
    assert messages_of(await asked(peer, session, "anthropic")) == messages
    function = {"name": "read_file", "arguments": '{"path":"main.go"}'}
    assert messages_of(await asked(peer, session, "openai"))[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_abc", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_abc", "content": "package main..."},
    ]
    answer = {"id": "call_abc", "name": "read_file", "response": {"output": "package main..."}}
    assert messages_of(await asked(peer, session, "google"))[2] == {
        "role": "user",
        "parts": [{"functionResponse": answer}],
    }
    agent = messages_of(await peer.call("session/context", sessionId=session))
    assert [message["role"] for message in agent] == ["user", "assistant", "toolResult"]


# --- append ---------------------------------------------------------------------------------------------------------

RESULTS = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": "two"},
        {"type": "text", "text": "Go on"},
    ],
}


async def test_an_item_of_several_results_may_be_sent_again_like_any_other(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    item = {"id": "m3", "message": RESULTS}
    first = await peer.append(session, item, format="anthropic")
    again = await peer.append(session, item, format="anthropic")
    assert [entry["id"] for entry in first["entries"]] == ["m3", "m3-1", "m3-2"]
    assert {entry["status"] for entry in again["entries"]} == {"duplicate"}
    assert [entry["seq"] for entry in again["entries"]] == [entry["seq"] for entry in first["entries"]]
    other = {"id": "m3", "message": {"role": "user", "content": "Other"}}
    refused = await refusal(peer.append(session, other, format="anthropic"))
    assert refused.kind == "idReused"


async def test_a_batch_with_one_bad_item_stores_nothing_and_says_where(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    bad = {"message": {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "document"}]}}
    refused = await refusal(peer.append(session, RESULTS, bad, format="anthropic"))
    assert (refused.kind, refused.details["path"]) == ("invalidEntry", "$.entries[1].message.content[1].type")
    assert messages_of(await peer.call("session/context", sessionId=session)) == []


async def test_an_answer_makes_the_session_one_that_is_listed_with_model_and_tokens(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 100},
    }  # fmt: skip
    await peer.append(session, {"role": "user", "content": "Hi"}, answer, format="anthropic")
    context = await peer.call("session/context", sessionId=session)
    assert context["models"] == {"default": "anthropic/claude-x"}
    assert (context["tokens"], context["tokensEstimated"]) == (1000, False)
    assert not (await peer.call("session/info", sessionId=session))["session"]["isDraft"]


@pytest.mark.parametrize("format", PROVIDERS)
def test_content_that_is_nested_too_deeply_is_refused(format: Provider) -> None:
    depth = 100_000
    nest = '{"role":"user","content":' * depth + "1" + "}" * depth
    with pytest.raises(InvalidEntry):
        to_drafts(format, [msgspec.Raw(nest.encode())])


# --- context --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", PROVIDERS)
async def test_every_entry_of_the_path_is_explained(daemon: Running, format: Provider) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    await peer.append(
        session, user("Old", id="a"), user("Kept", id="b"),
        {"type": "compaction", "id": "c", "summary": "So far.", "firstKeptEntryId": "b", "tokensBefore": 9},
        {"type": "model_change", "id": "d", "model": "x/y"}, assistant("Done.", id="e"),
    )  # fmt: skip
    context = await asked(peer, session, format, explain=True)
    rows = context["explanation"]
    assert [row["entryId"] for row in rows] == ["a", "b", "c", "d", "e"]
    fates = {row["entryId"]: (row["fate"], row["reason"]) for row in rows}
    assert fates["a"] == ("out", "compactedAway")
    assert fates["c"] == ("in", "compaction")
    assert fates["d"] == ("out", "settings")
    assert all(messages_of(context)[row["messageIndex"]] for row in rows if row["messageIndex"] is not None)
    assert (await asked(peer, session, format))["explanation"] is None


async def test_an_image_in_a_blob_is_shown_and_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, image_blobs=True) as with_blobs:
        await is_shown_and_left_out(await with_blobs.attach())


async def is_shown_and_left_out(peer: Peer) -> None:
    session = await a_session(peer)
    big = PNG[:-8] + "A" * 4096 + PNG[-8:]
    source = {"type": "base64", "media_type": "image/png", "data": big}
    await peer.append(
        session, {"role": "user", "content": [{"type": "image", "source": source}]}, format="anthropic"
    )
    shown = await asked(peer, session, "anthropic")
    assert messages_of(shown)[0]["content"][0]["source"]["data"] == big
    bare = await asked(peer, session, "anthropic", resolveBlobs=False, explain=True)
    assert bare["explanation"][0]["reason"] == "imageLeftOut"


async def test_a_context_that_no_reply_can_hold_is_refused_with_what_helps(daemon: Running) -> None:
    peer = await daemon.attach()
    session = await a_session(peer)
    half = [{"type": "text", "text": "x" * 400_000}] * 45
    for _ in range(4):
        await peer.append(
            session, {"role": "user", "content": half}, format="anthropic", durability="written"
        )
    for format in ("agent", *PROVIDERS):
        refused = await refusal(peer.call("session/context", sessionId=session, format=format))
        assert refused.kind == "tooLarge"
        assert refused.details["actualBytes"] > refused.details["limitBytes"]


# --- the providers' own clients -------------------------------------------------------------------------------------


class _Provider(BaseHTTPRequestHandler):
    """Takes one request at a time and gives the answer that is next."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        server: Any = self.server
        server.requests.append(json.loads(self.rfile.read(length)))
        body = json.dumps(server.answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server on this machine that stands for any provider: `requests` has what came, `answer` is given."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    server.requests = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


QUESTION = [
    {"type": "text", "text": "What is this?"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
]
CALL = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "it"}}
SEEN = {"type": "tool_result", "tool_use_id": "call_1", "content": QUESTION}


async def a_conversation(peer: Peer) -> str:
    session = await a_session(peer)
    await peer.append(
        session, {"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [SEEN]}, format="anthropic",
    )  # fmt: skip
    return session


async def test_openais_client_sends_what_a_context_says_and_its_answer_is_appended(
    daemon: Running, provider: Any
) -> None:
    import openai

    peer = await daemon.attach()
    session = await a_conversation(peer)
    context = await asked(peer, session, "openai")
    message = {"role": "assistant", "content": "A dot.", "refusal": None}
    provider.answer = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-x",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }  # fmt: skip
    with openai.OpenAI(api_key="none", base_url=provider.url, max_retries=0) as client:
        answer = client.chat.completions.create(model="gpt-x", messages=messages_of(context))
    assert provider.requests[0]["messages"] == messages_of(context)
    await peer.append(session, answer.model_dump(mode="json"), format="openai")
    later = await asked(peer, session, "openai")
    assert messages_of(later) == [*messages_of(context), {"role": "assistant", "content": "A dot."}]
    assert later["tokens"] == 7


async def test_openais_client_sends_the_items_of_a_context_and_its_response_is_appended(
    daemon: Running, provider: Any
) -> None:
    import openai

    peer = await daemon.attach()
    session = await a_conversation(peer)
    context = await asked(peer, session, "openai-responses")
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": "look", "arguments": "{}"}
    text = {"type": "output_text", "text": "A dot.", "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    provider.answer = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "status": "completed",
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, message, call],
        "usage": {
            "input_tokens": 5, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 7,
        },
    }  # fmt: skip
    with openai.OpenAI(api_key="none", base_url=provider.url, max_retries=0) as client:
        answer = client.responses.create(model="gpt-x", input=messages_of(context))
    assert provider.requests[0]["input"] == messages_of(context)
    await peer.append(session, answer.model_dump(mode="json"), format="openai-responses")
    later = await asked(peer, session, "openai-responses")
    assert messages_of(later)[:-3] == messages_of(context)
    assert messages_of(later)[-3] == {"role": "assistant", "content": "A dot."}
    assert [sent["type"] for sent in messages_of(later)[-2:]] == ["function_call", "function_call_output"]


async def test_anthropics_client_sends_what_a_context_says_and_its_answer_is_appended(
    daemon: Running, provider: Any
) -> None:
    import anthropic

    peer = await daemon.attach()
    session = await a_conversation(peer)
    context = await asked(peer, session, "anthropic")
    content = [{"type": "text", "text": "A dot."}]
    provider.answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }  # fmt: skip
    with anthropic.Anthropic(api_key="none", base_url=provider.url, max_retries=0) as client:
        answer = client.messages.create(
            model="claude-x", max_tokens=9, messages=messages_of(context), system=context["system"]
        )
    assert provider.requests[0]["messages"] == messages_of(context)
    assert provider.requests[0]["system"] == "Be brief."
    await peer.append(session, answer.model_dump(mode="json"), format="anthropic")
    later = await asked(peer, session, "anthropic")
    assert messages_of(later) == [*messages_of(context), {"role": "assistant", "content": content}]
    assert later["tokens"] == 7


async def test_googles_client_sends_what_a_context_says_and_its_answer_is_appended(
    daemon: Running, provider: Any
) -> None:
    from google import genai
    from google.genai import types

    peer = await daemon.attach()
    session = await a_conversation(peer)
    context = await asked(peer, session, "google")
    content = {"role": "model", "parts": [{"text": "A dot."}]}
    provider.answer = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "gemini-x",
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
    }  # fmt: skip
    contents = [types.Content.model_validate(message) for message in messages_of(context)]
    options = types.HttpOptions(base_url=provider.url)
    with genai.Client(api_key="none", vertexai=False, http_options=options) as client:
        answer = client.models.generate_content(
            model="gemini-x",
            contents=contents,
            config=types.GenerateContentConfig(
                system_instruction=types.Content.model_validate(context["system"])
            ),
        )
    # The client spells some names as Python does; the API takes either spelling.
    assert list(map(types.Content.model_validate, provider.requests[0]["contents"])) == contents
    await peer.append(session, answer.model_dump(mode="json", exclude_none=True), format="google")
    later = await asked(peer, session, "google")
    assert messages_of(later) == [*messages_of(context), content]
    assert later["tokens"] == 7
