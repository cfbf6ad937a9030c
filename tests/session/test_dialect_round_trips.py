"""A session that is exported in a dialect comes back by import, as far as the dialect can hold it."""

import json  # noqa: TID251 - files are read as other programs read them
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.agents.nova.writer import to_nova
from sessiond.agents.writing import WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from support.dialects import entries, imported, is_beside
from support.logs import time_of
from support.whole_sessions import calls, messages, text_blocks, texts, thoughts, times, wholes

pytestmark = pytest.mark.slow

COSTS = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10}
GO_MESSAGES = messages(
    of_assistants=text_blocks | calls,
    fields={"provider": st.just("acme"), "model": st.just("one"), "stopReason": st.just("stop")},
)
ALL_MESSAGES = messages(
    of_assistants=text_blocks | calls | thoughts,
    fields={
        "provider": st.just("acme"), "model": st.just("one"), "api": st.just("x"), "timestamp": times,
        "usage": st.just({"input": 5, "output": 6, "cacheRead": 7, "cacheWrite": 0, "cost": COSTS}),
        "stopReason": st.sampled_from(["stop", "toolUse", "length", "error"]), "responseId": st.just("r"),
    },
)  # fmt: skip


def of(type: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    given = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for name, value in fields.items()
    }
    return st.fixed_dictionaries({"type": st.just(type), **given})


COMMON = (
    of("model_change", model="acme/one", provider="acme", modelId="one")
    | of("model_change", model="one", modelId="one")
    | of("thinking_level_change", thinkingLevel=st.sampled_from(["off", "high"]))
    | of("session_info", name=texts)
    | of("label", targetId="", label=st.text("ab", min_size=1))
    | of("branch_summary", fromId="", summary=texts)
    | of("compaction", summary=texts, firstKeptEntryId="", tokensBefore=st.integers(0, 9_999))
    | of("custom", customType="ext", data=st.dictionaries(st.sampled_from("ab"), st.integers()))
    | of("custom", customType="ext", data=st.lists(st.integers()))
    | of("mode_change", mode="plan", data=st.none() | st.just({"a": 1}))
    | of("ttsr_injection", injectedRules=["r"])
    | of("context_edit", targetId="", replacement=st.none())
    | of("future_thing", payload=st.integers())
)


def came_back(data: bytes) -> tuple[list[dict[str, Any]], str | None]:
    session = imported(data)
    assert not session.report.problems
    assert not session.report.preserved
    return [
        entry for entry in entries(session) if not entry["id"].startswith(("origin-", "line-", "title-"))
    ], session.leaf


def by_id(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in found}


@settings(max_examples=60)
@given(
    wholes(
        of("message", message=ALL_MESSAGES)
        | COMMON
        | of("custom_message", customType="c", content=st.lists(text_blocks), display=st.booleans())
    )
)
def test_operator_holds_everything_but_what_it_names(whole: ExportedSession) -> None:
    losses = ConversionLosses()
    found, leaf = came_back(WRITERS["operator"](whole, losses))
    assert not losses.lost
    assert by_id(found) == by_id(whole.entries)
    assert leaf == whole.leaf


@settings(max_examples=60)
@given(wholes(of("message", message=GO_MESSAGES) | COMMON))
def test_go_holds_everything_but_what_it_names(whole: ExportedSession) -> None:
    losses = ConversionLosses()
    found, leaf = came_back(WRITERS["go"](whole, losses))
    assert set(losses.lost) <= {"assistant.stopReason"}
    assert {name: without_stop(item) for name, item in by_id(found).items()} == {
        name: without_stop(item) for name, item in by_id(whole.entries).items()
    }
    assert leaf == whole.leaf


def without_stop(entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("message", {}).get("role") != "assistant":
        return entry
    return {**entry, "message": {k: v for k, v in entry["message"].items() if k != "stopReason"}}


@settings(max_examples=60)
@given(wholes(of("message", message=ALL_MESSAGES) | COMMON))
def test_the_home_format_holds_everything(whole: ExportedSession) -> None:
    losses = ConversionLosses()
    data = WRITERS["jsonl"](whole, losses)
    lines = [json.loads(line) for line in data.split(b"\n") if line]
    assert lines[1 : len(whole.entries) + 1] == whole.entries
    found, leaf = came_back(data)
    assert not losses.lost
    kept = by_id(found)
    assert all(kept[entry["id"]] == entry for entry in whole.entries)
    assert leaf == whole.leaf


@pytest.mark.parametrize("format", ["operator", "go"])
def test_content_that_a_format_cannot_hold_is_named(format: str) -> None:
    message = {
        "role": "assistant", "content": [{"type": "redactedThinking", "data": "x"}, {"type": "text", "text": "a"}],
        "provider": "acme", "model": "one", "usage": {"input": 1},
    }  # fmt: skip
    entry = {"type": "message", "id": "e0", "parentId": None, "timestamp": time_of(0), "message": message}
    whole = ExportedSession("session-1", time_of(0), "/w", None, (), None, [entry], "e0")
    losses = ConversionLosses()
    WRITERS[format](whole, losses)
    assert losses.lost["redactedThinking block"] == 1
    assert ("assistant.usage" in losses.lost) is (format == "go")


@pytest.mark.parametrize("format", ["operator", "go"])
def test_title_and_tags_of_the_header_come_back(format: str) -> None:
    entry = {
        "type": "message",
        "id": "e0",
        "parentId": None,
        "timestamp": time_of(0),
        "message": {"role": "user", "content": [{"type": "text", "text": "x"}]},
    }
    whole = ExportedSession("session-1", time_of(0), "/w", "The title", ("one",), None, [entry], "e0")
    session = imported(WRITERS[format](whole, ConversionLosses()))
    said = [line for line in entries(session) if is_beside(line) or line["type"] == "session_info"]
    assert any(item.get("name") == "The title" for item in said)
    assert any(item.get("data") == {"tags": ["one"]} for item in said)
    assert session.leaf == "e0"


def test_a_state_of_nova_is_written_without_what_is_null() -> None:
    whole = ExportedSession(
        "session-1", time_of(0), "/w", None, (), None, [{"type": "message", "id": "e0"}], "e0"
    )
    losses = ConversionLosses()
    data = to_nova(whole, {"session_id": "session-1", "current_plan": None, "turn_count": 2}, losses)
    assert json.loads(data) == {"session_id": "session-1", "turn_count": 2}
    assert losses.lost == {"message entry": 1}
