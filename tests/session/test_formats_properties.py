"""For any tree, any leaf and any cut: what is sent is legal, no call loses its result, and nothing raises."""

import json  # noqa: TID251  (answers may hold what msgspec refuses)
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.compaction import preparation
from sessiond.session.compaction.preparation import CompactionLimits
from sessiond.session.formats.agent import read_turn
from sessiond.session.formats.build import UnreadableMessage
from sessiond.session.formats.conversation import Call, Turn
from sessiond.session.formats.drafts import drafts
from sessiond.session.formats.reasons import REASONS
from sessiond.session.formats.write import RequestData, write
from sessiond.session.tree import steps
from support import logs
from support.formats import PNG, Sent, sent, there_and_back
from support.histories import histories, hostile_logs
from support.logs import Loaded
from support.providers import PROVIDERS, Provider

pytestmark = pytest.mark.slow

FORMATS = st.sampled_from(PROVIDERS)


def a_leaf(data: st.DataObject, log: Loaded) -> str | None:
    """The id of an entry of the log, mostly a late one; None for its leaf."""
    ids = [log.tree.id(row) for row in range(1, len(log.tree)) if log.tree.is_entry(row)]
    return data.draw(st.sampled_from([None, *ids[-6:]]), label="leaf")


def results_of(format: Provider, request: Sent) -> dict[str, str]:
    """By the id of each call, what its result says."""
    found: dict[str, str] = {}
    for message in request.messages:
        if format == "openai" and message["role"] == "tool":
            found[message["tool_call_id"]] = str(message["content"])
        if message.get("type") == "function_call_output":
            found[message["call_id"]] = str(message["output"])
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_result":
                found[block["tool_use_id"]] = str(block.get("content"))
        for part in message.get("parts", ()):
            if "functionResponse" in part:
                found[part["functionResponse"]["id"]] = str(part["functionResponse"]["response"])
    return found


@given(histories(), FORMATS, st.data())
@settings(max_examples=100)
def test_every_context_is_one_that_the_provider_takes(
    log: Loaded, format: Provider, data: st.DataObject
) -> None:
    request = sent(log, format, a_leaf(data, log))
    assert len(request.entry_ids) == len(request.messages)
    assert set(request.reasons.values()) <= REASONS.keys()


@given(histories(), FORMATS, st.data())
@settings(max_examples=100)
def test_every_entry_is_in_a_message_or_there_is_a_reason_why_not(
    log: Loaded, format: Provider, data: st.DataObject
) -> None:
    request = sent(log, format, a_leaf(data, log))
    for entry_id, reason in request.reasons.items():
        place = request.places[entry_id]
        if REASONS[reason][0] == "out":
            assert place is None
        elif reason != "systemPrompt":
            assert place is not None
            assert 0 <= place < len(request.messages)
    named = set(request.entry_ids)
    assert named <= request.reasons.keys()
    assert all(REASONS[request.reasons[entry_id]][0] != "out" for entry_id in named)


@given(histories(), FORMATS, st.integers(0, 60), st.data())
@settings(max_examples=100)
def test_after_any_cut_that_is_proposed_no_call_has_lost_its_result(
    log: Loaded, format: Provider, keep: int, data: st.DataObject
) -> None:
    leaf_id = a_leaf(data, log)
    row = log.tree.leaf if leaf_id is None else log.row(leaf_id)
    plan = steps.run(preparation.prepare(log.tree, row, log.read, CompactionLimits(1_000, 100, keep)))
    if plan.reason is not None:
        return
    before = sent(log, format, leaf_id)
    above = log.tree.id(row)
    line = {**logs.compaction("In short.", plan.first_kept_entry_id), "id": "new", "parentId": above}
    after = Loaded(log.data + json.dumps({**line, "timestamp": logs.time_of(9)}).encode() + b"\n")
    compacted = sent(after, format, "new")
    for entry_id, reason in compacted.reasons.items():
        if reason == "callClosed":
            assert before.reasons[entry_id] == "callClosed", "its result was lost by the cut"
        if reason == "resultWithoutCall":
            assert before.reasons[entry_id] in ("resultWithoutCall", "duplicateResult", "resultOfAbortedTurn")


@given(histories(), FORMATS, st.data())
@settings(max_examples=100)
def test_sent_messages_can_be_appended_and_are_sent_the_same(
    log: Loaded, format: Provider, data: st.DataObject
) -> None:
    messages = sent(log, format, a_leaf(data, log)).messages
    assert there_and_back(format, *messages) == messages


# --- hostile content ------------------------------------------------------------------------------------------------

_ODD_TEXTS = [
    "", " ", "x", "\ud800", "read", "a b", "{}", '{"a":1}', PNG, "image/png", "https://e.org/x", "http://e.org/x",
    "gs://b/x",
]  # fmt: skip
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(_ODD_TEXTS)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["type", "text", "path", "content", "image", "data"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_FIELDS = st.sampled_from(
    [
        "text", "thinking", "thinkingSignature", "redacted", "data", "mimeType", "url", "detail", "id", "name",
        "arguments", "unparsedArguments", "thoughtSignature", "textSignature",
    ]
)  # fmt: skip
_BLOCK_TYPES = st.sampled_from(
    ["text", "thinking", "redactedThinking", "image", "toolCall", "toolCall", "odd"]
)
_PLAUSIBLE = st.sampled_from(
    [
        {"type": "text", "text": "Words \n"},
        {"type": "text", "text": " \n"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "image", "data": PNG, "mimeType": "image/tiff"},
        {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2ln"},
        {"type": "image", "url": "gs://b/x.png"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "c2ln", "redacted": True},
        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"a": 1}},
        {"type": "toolCall", "id": "c|d", "name": "read it", "arguments": {}},
    ]
)
_BLOCKS = st.lists(
    _PLAUSIBLE
    | _PLAUSIBLE
    | _PLAUSIBLE
    | st.builds(lambda kind, rest: rest | {"type": kind}, _BLOCK_TYPES, st.dictionaries(_FIELDS, _ANYTHING))
    | _ANYTHING,
    max_size=4,
)
_ROLES = st.sampled_from(
    [
        "user", "user", "assistant", "assistant", "assistant", "assistant", "assistant", "assistant", "toolResult",
        "toolResult", "toolResult", "system", "developer", "custom",
        "bashExecution", "pythonExecution", "fileMention", "branchSummary", "compactionSummary", "x", None,
    ]
)  # fmt: skip
_OTHERS = st.sampled_from(
    [
        "stopReason", "api", "provider", "toolName", "isError", "details", "excludeFromContext", "command", "code",
        "output", "exitCode", "cancelled", "truncated", "fullOutputPath", "summary", "files", "sections",
    ]
)  # fmt: skip
_CALL_IDS = st.sampled_from(["c", "c", "c|d", "", None, 7])
_SPEAKERS = st.sampled_from(
    [{}, {"provider": "anthropic"}, {"provider": "google"}, {"api": "openai-responses"}]
)
_HOSTILE = st.builds(
    lambda role, content, rest, call, speaker: {
        **rest, "role": role, "content": content, "toolCallId": call, **speaker,
    },
    _ROLES, _BLOCKS | _ANYTHING, st.dictionaries(_OTHERS, _ANYTHING, max_size=3), _CALL_IDS, _SPEAKERS,
)  # fmt: skip
_SOME = st.lists(_PLAUSIBLE, min_size=1, max_size=3)
_ASSISTANT = st.builds(
    lambda content, speaker: {"role": "assistant", "content": content, **speaker}, _SOME, _SPEAKERS
)
_RESULT = st.builds(
    lambda content, call, failed: {"role": "toolResult", "content": content, "toolCallId": call, "isError": failed},
    _SOME, _CALL_IDS, st.booleans(),
)  # fmt: skip
_USER = st.builds(lambda content: {"role": "user", "content": content}, _SOME)
MESSAGES = st.lists(_HOSTILE | _ASSISTANT | _RESULT | _USER, min_size=1, max_size=8)


def log_of(messages: list[dict[str, Any]]) -> Loaded:
    return logs.loaded(logs.header(), *(logs.entry("message", message=message) for message in messages))


@given(MESSAGES)
@settings(max_examples=200)
def test_no_content_is_too_odd_to_be_sent(messages: list[dict[str, Any]]) -> None:
    for format in PROVIDERS:
        sent(log_of(messages), format)


@given(MESSAGES)
@settings(max_examples=200)
def test_any_sent_messages_can_be_appended_and_are_sent_the_same(
    messages: list[dict[str, Any]],
) -> None:
    for format in PROVIDERS:
        request = sent(log_of(messages), format)
        assert there_and_back(format, *request.messages) == request.messages


@given(hostile_logs(), FORMATS)
@settings(max_examples=100)
def test_no_log_is_too_odd_to_be_sent(log: Loaded, format: Provider) -> None:
    sent(log, format)


@given(MESSAGES)
@settings(max_examples=100)
def test_every_call_of_a_turn_that_counts_has_exactly_one_result(messages: list[dict[str, Any]]) -> None:
    log = log_of(messages)
    heard = [read_turn(message, number) for number, message in enumerate(log.context().messages)]
    turns = [turn for turn in heard if isinstance(turn, Turn) and not turn.failed]
    calls = [part for turn in turns for part in turn.parts if isinstance(part, Call) and part.name]
    for format in PROVIDERS:
        assert len(results_of(format, sent(log, format))) == len(calls)


@given(FORMATS, st.dictionaries(st.sampled_from(
    [
        "role", "content", "parts", "message", "type", "id", "choices", "candidates", "tool_calls", "usage", "output",
        "call_id",
    ]
), _BLOCKS | _ANYTHING, max_size=5))  # fmt: skip
@settings(max_examples=200)
def test_an_item_is_refused_or_becomes_entries_that_can_be_sent(
    format: Provider, item: dict[str, Any]
) -> None:
    try:
        converted = drafts(format, json.dumps(item).encode())
    except (UnreadableMessage, msgspec.DecodeError):
        return
    entries = [json.loads(bytes(draft)) for draft in converted]
    assert entries
    for entry in entries:
        entry.setdefault("type", "message")
    log = logs.loaded(
        logs.header(),
        *(entry | {"id": logs.SAME, "parentId": logs.SAME, "timestamp": logs.SAME} for entry in entries),
    )
    for other in PROVIDERS:
        sent(log, other)


@pytest.mark.parametrize("depth", [100, 900, 990, 1_000, 1_500, 100_000])
@pytest.mark.parametrize("format", PROVIDERS)
def test_content_that_is_nested_deeply_is_written_or_left_out(format: Provider, depth: int) -> None:
    nest = "[" * depth + "]" * depth
    messages = [
        f'{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"f","arguments":{nest}}}]}}',
        f'{{"role":"system","content":"x","sections":{nest},"toolsAdded":{nest}}}',
        f'{{"role":"toolResult","toolCallId":"c","content":[{{"type":"text","text":"x"}}],"details":{nest}}}',
        f'{{"role":"user","content":{nest}}}',
        f'{{"role":"fileMention","files":{nest}}}',
    ]
    raw = [msgspec.Raw(message.encode()) for message in messages]
    written = steps.run(write(format, raw, RequestData()))
    assert len(written.messages) == len(written.sources)
