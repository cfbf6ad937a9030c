"""An entry as one clean line, and the facts that a list of sessions shows."""

import json  # noqa: TID251  (lines hold lone surrogates, which msgspec refuses)
from typing import Any

import pytest

from sessiond.session.content import preview
from sessiond.session.listing.info import SessionFacts, summarize
from support.logs import Line, Loaded, assistant, entry, header, loaded, message, tool_call, user


def text_of(line: Line) -> str:
    return preview.text_of(preview.decoded(loaded(header(), line).read([1])[0]))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("  two\n\t lines \r\n", "two lines"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07", "red bell"),
        ("right\u202eto\u2066left\u200f", "righttoleft"),
        ("null\x00 and \x9b c1", "null and c1"),
        ("line\u2028separator\x85next", "line separator next"),
        ("12345678901", "123456789…"),
        ("1234567 9 1", "1234567 9…"),
        ("\n" * 5_000 + "late", "late"),
        ("", ""),
    ],
)
def test_one_line_is_clean_and_short(text: str, line: str) -> None:
    limit = 10 if text.startswith("123") else 40
    assert preview.one_line(text, limit) == line


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (user("hello"), "hello"),
        (user([{"type": "text", "text": "see"}, {"type": "image", "data": "…"}]), "see [image]"),
        (assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]), "so"),
        (assistant([tool_call("bash", {"timeout": 5, "command": "ls -l"})]), "[tool: bash] ls -l"),
        (assistant([tool_call("note", {"a": 1})]), '[tool: note] {"a":1}'),
        (assistant([tool_call("now", {})]), "[tool: now]"),
        (assistant([{"type": "toolCall", "arguments": "odd"}]), "[tool: ]"),
        (assistant(["odd", {"type": "text", "text": 5}]), ""),
        (message("toolResult", [{"type": "text", "text": "out"}], toolName="bash"), "[result: bash] out"),
        (message("toolResult", "boom", toolName="edit", isError=True), "[error: edit] boom"),
        (message("bashExecution", None, command="make"), "$ make"),
        (message("pythonExecution", None, code="1+1"), ">>> 1+1"),
        (message("fileMention", None, files=[{"path": "a.md"}, 5, {"path": "b.md"}]), "a.md b.md"),
        (message("fileMention", None, files=5), ""),
        (message("compactionSummary", None, summary="so far"), "so far"),
        (entry("message", message="odd"), ""),
        (entry("custom_message", content="mind"), "mind"),
        (entry("compaction", summary="long", shortSummary="short"), "short long"),
        (entry("branch_summary", summary="what was"), "what was"),
        (entry("model_change", model="a/b"), "a/b"),
        (entry("model_change", provider="a", modelId="b", role="smol"), "smol: a/b"),
        (entry("model_change", role="default"), ""),
        (entry("thinking_level_change", thinkingLevel="high"), "high"),
        (entry("mode_change", mode="plan"), "plan"),
        (entry("session_info", name="Title"), "Title"),
        (entry("title_change", title="Title"), "Title"),
        (entry("label", label="mark"), "mark"),
        (entry("custom", customType="state"), "state"),
        (entry("ttsr_injection", injectedRules=["a", "b"]), "a, b"),
        (entry("ttsr_injection", injectedRules=5), ""),
        (entry("session_init", task="do it"), "do it"),
        (entry("context_edit", targetId="e1", replacement=None), "e1 omitted"),
        (entry("context_edit", targetId="e1", replacement={"content": "x"}), "e1 replaced by: x"),
        (entry("service_tier_change", serviceTier={"openai": "flex"}), '{"openai":"flex"}'),
        (entry("service_tier_change", serviceTier="flex"), "flex"),
        (entry("service_tier_change"), ""),
        (entry("usage", kind="warm", model="m"), "warm m"),
        (entry("model_usage", purpose="title", model="m"), "title m"),
        (entry("credential_pin", provider="a"), "a"),
        (entry("reset_boundary"), ""),
        (entry("future_thing", summary="unknown"), ""),
    ],
)
def test_an_entry_says(line: Line, text: str) -> None:
    assert text_of(line) == text


def test_a_line_that_is_no_entry_says_nothing() -> None:
    assert preview.decoded(b"[1]") == {}
    assert preview.text_of({}) == ""


def test_lone_surrogates_never_reach_a_line() -> None:
    assert text_of(user("broken \ud83d")) == "broken \ufffd"


def facts(*lines: Line | bytes) -> SessionFacts:
    session = loaded(*lines)
    found = summarize(session.tree, session.read)
    assert session.lines_read <= 4
    return found


def test_a_session_is_summed_up() -> None:
    tags = entry("custom", customType="sessiond.tags", data={"tags": ["work"]})
    found = facts(
        header(parentSession="/old.jsonl"), user("  what\nis it? "), assistant("it"),
        user("aside", parent="e1"), entry("session_info", name="Named"), tags,
    )  # fmt: skip
    assert found == SessionFacts(
        title="Named",
        tags=("work",),
        first_prompt="what is it?",
        created_at="2026-03-01T08:00:00.000Z",
        updated_at="2026-03-01T08:00:05.000Z",
        message_count=3,
        entry_count=5,
        cwd="/home/dev/clock",
        parent_session="/old.jsonl",
        origin=None,
        origin_state="present",
        has_ended=False,
    )


@pytest.mark.parametrize(
    "last",
    [
        entry("model_change", model="a/b"), entry("session_info", name="Named"),
        entry("label", targetId="e1", label="here"), entry("custom", customType="theirs"),
        entry("leaf", targetId="e1"), entry("compaction", summary="s", firstKeptEntryId="e1", tokensBefore=1),
        entry("of_a_later_version"),
    ],
    ids=lambda last: str(last["type"]),
)  # fmt: skip
def test_every_type_of_entry_makes_a_session_newer(last: Line) -> None:
    before = facts(header(), user("q"), assistant("a"))
    after = facts(header(), user("q"), assistant("a"), last)
    assert after.updated_at > before.updated_at


def test_a_session_without_entries_was_last_changed_when_it_began() -> None:
    found = facts(header())
    assert (found.first_prompt, found.updated_at) == (None, found.created_at)


def test_a_fork_of_an_old_session_is_as_new_as_its_header() -> None:
    label = entry("label", targetId="e1", label="here") | {"timestamp": "2026-03-01T08:00:01.000Z"}
    found = facts(header(timestamp="2026-05-01T08:00:00.000Z"), user("q"), assistant("a"), label)
    assert found.updated_at == "2026-05-01T08:00:00.000Z"


def test_a_last_line_with_an_early_time_does_not_make_a_session_older() -> None:
    leaf = entry("leaf", targetId="e1") | {"timestamp": "2026-03-01T08:00:00.000Z"}
    newest = facts(header(), user("q"), assistant("a")).updated_at
    assert facts(header(), user("q"), assistant("a"), leaf).updated_at == newest


def test_a_rename_in_the_title_slot_makes_a_session_newer() -> None:
    slot = {"type": "title", "v": 1, "title": "Named", "updatedAt": "2026-06-01T08:00:00.000Z", "pad": " "}
    assert (
        facts(json.dumps(slot).encode() + b"\n", header(), user("q")).updated_at == "2026-06-01T08:00:00.000Z"
    )


def test_times_with_other_offsets_are_compared_as_times() -> None:
    evening = user("q") | {"timestamp": "2026-03-02T01:00:00+05:00"}
    assert facts(header(), evening).updated_at == "2026-03-01T20:00:00.000Z"


def test_a_damaged_session_has_empty_facts() -> None:
    found = facts(b"no session\n")
    assert (found.created_at, found.updated_at, found.cwd, found.parent_session) == ("", "", "", None)


@pytest.mark.parametrize(
    ("own", "updated_at"),
    [
        (1772352000500, "2026-03-01T08:00:00.500Z"),
        (1e300, "2026-03-01T08:00:00.000Z"),
        ("text", "2026-03-01T08:00:00.000Z"),
    ],
)
def test_a_message_without_a_time_on_its_line_has_its_own(own: Any, updated_at: str) -> None:
    line = user("q", timestamp=own) | {"timestamp": None}
    assert facts(header(), line).updated_at == updated_at


def test_a_first_prompt_without_text_is_none() -> None:
    assert facts(header(), user([])).first_prompt is None


def test_a_message_of_another_shape_gives_no_prompt_and_no_time() -> None:
    odd = b'{"type":"message","id":"x","parentId":null,"message":{"role":"user","role":5}}\n'
    session = Loaded(json.dumps(header()).encode() + b"\n" + odd)
    assert summarize(session.tree, session.read).first_prompt is None


@pytest.mark.parametrize("control", ["\0", "\x07", "\x1b", "\x7f", "\x9c"])
def test_a_control_character_separates_words_in_a_preview(control: str) -> None:
    assert preview.one_line(f"plover{control}heron", 80) == "plover heron"
    assert preview.clean(f"a\t{control}\nb") == "a\t \nb"
