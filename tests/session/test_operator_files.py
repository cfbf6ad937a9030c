"""Exports to operator are read whole by its program, and its own files come back field by field (decision 0023)."""

import json  # noqa: TID251 - files of other programs are written as they write them
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.agents.writing import WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.import_builder import Imported
from support.dialects import entries, entry, imported, jsonl
from support.logs import time_of

STOPS = {"stop", "length", "tool_calls", "content_filter", "abort", "error"}
LEVELS = {"off", "minimal", "low", "medium", "high", "xhigh", "max"}
NO_COST = {"input": 0.0, "output": 0.0, "cache_read": 0.0, "cache_write": 0.0, "total": 0.0}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC"


THOUGHT = {"type": "thinking", "content": "hm", "signature": "s"}


def answer(stop: str = "stop", *contents: dict[str, Any], error: str = "", **more: Any) -> dict[str, Any]:
    used = {
        "input_tokens": 5,
        "output_tokens": 6,
        "cache_read_tokens": 7,
        "cache_write_tokens": 0,
        "cost": NO_COST,
    }
    return {
        "role": "assistant", "contents": list(contents), "id": "9913d545", "timestamp": 1700000002.25,
        "usage": used, "stop_reason": stop, "error": error, **more,
    }  # fmt: skip


def call(name: str = "c1") -> dict[str, Any]:
    return {
        "type": "tool_call", "id": name, "name": "read", "kind": "read", "args": {"p": 1}, "metadata": {"k": 1}
    }  # fmt: skip


def result(name: str, text: str, **more: Any) -> dict[str, Any]:
    whole = {"id": name, "content": text, "is_error": False, "metadata": {}, "terminate": False, **more}
    return {"type": "tool_result", **whole}


def asked(*contents: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "contents": list(contents), "id": "5f0c", "timestamp": 1700000001.123457}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def theirs(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
    """A file as the program of operator writes it."""
    parent: dict[str, Any] = {}
    header = {"version": 3, "id": "22222222-2222-4333-8444-555555555555", "timestamp": 1700000000.5}
    lines = [
        {
            "type": "session",
            **header,
            "cwd": "/work",
            "parent_session": "/home/ada/s/2024-01-15T10_0199-ab.jsonl",
        }
    ]
    for number, payload in enumerate(payloads):
        base = {"id": f"e{number:07}", "timestamp": 1700000001.123457 + number, **parent}
        lines.append({**base, **payload})
        parent = {"parent_id": base["id"]}
    return lines


THEIRS = theirs(
    {"type": "channel", "name": "telegram", "chat_id": "7"},
    {"type": "model_change", "model_id": "one", "provider_id": "acme"},
    {"type": "thinking_level_change", "thinking_level": "xhigh"},
    {
        "type": "message",
        "message": asked(
            said("two\u2028lines\u0085and\u2029more"), {"type": "image", "images": [PNG, "https://example.org/a.png"]}
        ),
        "meta": {"reply_to": "m1", "attachments": [{"path": "a.png"}]},
    },
    {"type": "message", "message": answer("tool_calls", THOUGHT, call())},
    {"type": "message", "message": {
        "role": "tool", "id": "tm1", "timestamp": 1700000003.5,
        "contents": [result("c1", "one", metadata={"lines": 3}), result("c2", "two", is_error=True, terminate=True)],
    }},
    {"type": "message", "message": answer("abort", said("half"), error="The user stopped it.")},
    {"type": "message", "message": answer("content_filter", said("not this"))},
    {"type": "label", "label": "here", "target_id": "e0000003"},
    {"type": "custom_message", "custom_type": "ext", "content": [said("x")], "display": False},
    {"type": "message", "message": asked({"type": "audio", "audio": ["UklGRg=="]})},
    {"type": "compaction", "summary": "s", "first_kept_entry_id": "e0000006", "tokens_before": 5, "from_hook": True},
    {"type": "branch_summary", "from_id": "root", "summary": "left", "from_hook": False, "details": {"a": [1]}},
    {"type": "custom", "custom_type": "ext", "data": {"kept_as": "it is"}},
    {"type": "session_info", "name": "Birds"},
)  # fmt: skip


def exported(session: Imported, losses: ConversionLosses) -> list[dict[str, Any]]:
    whole = ExportedSession(
        session.source_id, session.timestamp, session.cwd, None, (), session.parent_source,
        entries(session), session.leaf,
    )  # fmt: skip
    return [json.loads(line) for line in WRITERS["operator"](whole, losses).decode().splitlines()]


def test_every_field_of_a_file_of_operator_comes_back() -> None:
    losses = ConversionLosses()
    found = {item["id"]: item for item in exported(imported(jsonl(*THEIRS)), losses)}
    assert not losses.lost
    for line in THEIRS[1:]:
        back = {name: item for name, item in found[line["id"]].items() if item is not None}
        if line["type"] == "model_change":
            assert back.pop("model") == "acme/one"  # beside what operator reads
        if line.get("message", {}).get("role") == "assistant" and not line["message"]["error"]:
            line = {
                **line,
                "message": {name: item for name, item in line["message"].items() if name != "error"},
            }
        if line["type"] == "message" and line["message"]["role"] == "tool":
            assert back["message"].pop("tool_name") == "unknown"
        assert back == line
    assert found["22222222-2222-4333-8444-555555555555"]["timestamp"] == 1700000000.5


def test_an_abort_is_read_as_one_with_its_error_and_a_parent_by_the_id_in_its_path() -> None:
    session = imported(jsonl(*THEIRS))
    aborted = entry(session, "e0000006")["message"]
    assert (aborted["stopReason"], aborted["errorMessage"]) == ("aborted", "The user stopped it.")
    assert session.parent_source == "0199-ab"


def test_a_line_of_an_export_ends_only_where_it_ends_for_python_too() -> None:
    whole = ExportedSession("session-1", time_of(0), "/w", "a\u2028b\x85c\u2029d\x0be", (), None, [], None)
    written = WRITERS["operator"](whole, ConversionLosses())
    assert written.decode().splitlines() == written.decode().split("\n")[:-1]
    assert json.loads(written.splitlines()[1])["name"] == "a\u2028b\x85c\u2029d\x0be"


# The values that operator expects in a line. It drops a line with another value without a word.


def is_read(line: dict[str, Any]) -> bool:
    value = {name: item for name, item in line.items() if item is not None}
    texts = {
        "session": ["cwd"], "session_info": [], "label": ["target_id"], "leaf": [], "custom": ["custom_type"],
        "branch_summary": ["from_id", "summary"], "compaction": ["summary", "first_kept_entry_id"],
        "custom_message": ["custom_type"], "model_change": ["model_id", "provider_id"],
        "thinking_level_change": ["thinking_level"], "message": [], "channel": ["name"],
    }  # fmt: skip
    if not all(isinstance(value.get(name), str) for name in ["id", *texts[line["type"]]]):
        return False
    flags = {"compaction": "from_hook", "branch_summary": "from_hook", "custom_message": "display"}
    if not isinstance(line["timestamp"], float) or not isinstance(
        line.get(flags.get(line["type"], ""), True), bool
    ):
        return False
    if line["type"] == "compaction" and not isinstance(line["tokens_before"], int):
        return False
    if line["type"] == "thinking_level_change" and line["thinking_level"] not in LEVELS:
        return False
    if line["type"] == "custom_message" and {block["type"] for block in line["content"]} - {"text", "image"}:
        return False
    return line["type"] != "message" or is_read_message(line["message"])


def is_read_message(message: dict[str, Any]) -> bool:
    required = {
        "custom": ["custom_type"], "branch_summary": ["summary", "from_id"], "compaction_summary": ["summary"]
    }  # fmt: skip
    role = message["role"]
    if not all(isinstance(message.get(name), str) for name in required.get(role, [])):
        return False
    if role in required and not isinstance(message.get("timestamp"), float):
        return False
    if "timestamp" in message and not isinstance(message["timestamp"], float):
        return False
    if "id" in message and not isinstance(message["id"], str):
        return False
    usage = {}
    if role == "assistant":
        usage = message.get("usage", {})
        if message.get("stop_reason", "stop") not in STOPS or not isinstance(message.get("error", ""), str):
            return False
    if not all(isinstance(item, int) for name, item in usage.items() if name.endswith("_tokens")):
        return False
    if not isinstance(usage.get("cost", {}), dict):
        return False
    contents = message.get("contents", [])
    if role == "custom" and {content["type"] for content in contents} - {"text", "image"}:
        return False
    return all(is_read_block(content) for content in contents)


def is_read_block(block: dict[str, Any]) -> bool:
    match block["type"]:
        case "text" | "thinking":
            return isinstance(block["content"], str) and isinstance(block.get("signature", ""), str)
        case "tool_call":
            kind = block.get("kind")
            return isinstance(block["args"], dict) and kind in (None, "read", "write", "execute", "web")
        case "tool_result":
            return isinstance(block["content"], str) and isinstance(block["metadata"], dict)
        case "image":
            return all(isinstance(image, str) for image in block["images"])
    return False


ANY: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(0, 9)
    | st.text("ab", max_size=3)
    | st.just({})
    | st.just([])
)


def given_fields(**types: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=types)


BLOCKS = st.lists(st.one_of(
    given_fields(type=st.just("text"), text=ANY),
    given_fields(type=st.just("thinking"), thinking=ANY, thinkingSignature=ANY),
    given_fields(type=st.just("toolCall"), id=ANY, name=ANY, arguments=ANY, kind=ANY, metadata=ANY),
    given_fields(type=st.just("image"), data=ANY, mimeType=ANY, url=ANY, source=ANY),
), max_size=3)  # fmt: skip
MESSAGES = given_fields(
    role=st.sampled_from([
        "user", "assistant", "toolResult", "system", "custom", "branchSummary", "compactionSummary",
        "bashExecution",
    ]),
    content=st.text("ab") | BLOCKS, timestamp=ANY, id=ANY, errorMessage=ANY, details=ANY,
    stopReason=st.sampled_from(["stop", "toolUse", "aborted", "error", "length", "pause", None]) | ANY,
    usage=ANY | given_fields(input=ANY, output=ANY, cacheRead=ANY, totalTokens=ANY, cost=ANY | given_fields(total=ANY)),
    toolCallId=ANY, toolName=ANY, isError=ANY, customType=ANY, summary=ANY, fromId=ANY, tokensBefore=ANY,
)  # fmt: skip
ENTRIES = st.fixed_dictionaries(
    {"type": st.sampled_from([
        "message", "label", "branch_summary", "compaction", "custom", "custom_message", "model_change",
        "thinking_level_change", "session_info", "title_change", "mode_change",
    ])},
    optional=dict.fromkeys(
        ["label", "targetId", "summary", "fromId", "fromHook", "firstKeptEntryId", "tokensBefore", "customType",
         "data", "display", "model", "modelId", "provider", "thinkingLevel", "name", "title", "meta"], ANY,
    ) | {"message": MESSAGES, "content": BLOCKS},
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(ENTRIES, max_size=4))
def test_operator_reads_every_line_of_an_export_whatever_the_session_holds(
    found: list[dict[str, Any]],
) -> None:
    made: list[dict[str, Any]] = []
    for number, item in enumerate(found):
        above = made[-1]["id"] if made else None
        made.append({**item, "id": f"e{number}", "parentId": above, "timestamp": time_of(number)})
    whole = ExportedSession(
        "session-1", time_of(0), "/w", "T", (), None, made, made[0]["id"] if made else None
    )
    lines = WRITERS["operator"](whole, ConversionLosses()).decode().splitlines()
    assert all(is_read(json.loads(line)) for line in lines)


@pytest.mark.parametrize("stop", [["stop"], {"reason": "stop"}, 1, True, "refusal"])
def test_a_reason_why_an_answer_stopped_that_operator_has_no_word_for_is_named(stop: object) -> None:
    answer = {"role": "assistant", "content": "Fine.", "stopReason": stop}
    entry = {"type": "message", "id": "e0", "parentId": None, "timestamp": time_of(0), "message": answer}
    losses = ConversionLosses()
    whole = ExportedSession("session-1", time_of(0), "/w", "T", (), None, [entry], "e0")
    lines = WRITERS["operator"](whole, losses).decode().splitlines()
    assert all(is_read(json.loads(line)) for line in lines)
    assert any(text.startswith("the reason why an answer stopped: ") for text in losses.lost)


@pytest.mark.parametrize("stop", ["toolUse", "aborted", "error", "length", "stop"])
def test_a_reason_why_an_answer_stopped_is_in_the_words_of_operator(stop: str) -> None:
    message = {"role": "assistant", "content": [], "stopReason": stop, "errorMessage": "no"}
    given = {"type": "message", "id": "e0", "parentId": None, "timestamp": time_of(0), "message": message}
    whole = ExportedSession("session-1", time_of(0), "/w", None, (), None, [given], "e0")
    line = json.loads(WRITERS["operator"](whole, ConversionLosses()).decode().splitlines()[1])
    assert line["message"]["stop_reason"] in STOPS
    assert line["message"]["error"] == "no"
    assert (
        entry(imported(WRITERS["operator"](whole, ConversionLosses())), "e0")["message"]["stopReason"] == stop
    )
