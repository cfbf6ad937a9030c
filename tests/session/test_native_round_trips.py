"""A session that is written for an agent says the same when this program reads it, in an order that a model accepts."""

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_turns import accepts_data, native_conversation
from sessiond.session.formats.conversation import Call
from support.dialects import as_log, imported
from support.logs import assistant, compaction, tool_call, tool_result, user
from support.native_sessions import READ_BACK, exported, read_back, said_in, to_be_said
from support.whole_sessions import calls, images, messages, text_blocks, texts, thoughts, wholes

MESSAGES = messages(
    of_assistants=text_blocks | calls | thoughts,
    fields={
        "provider": st.just("acme"), "model": st.none() | st.just("one"),
        "stopReason": st.sampled_from(["stop", "toolUse", "aborted", "error"]),
    },
)  # fmt: skip
RESULTS = st.fixed_dictionaries({
    "role": st.just("toolResult"), "toolCallId": st.sampled_from(["call-0", "call-1"]),
    "toolName": st.just("read"), "content": st.lists(text_blocks | images, max_size=2), "isError": st.booleans(),
})  # fmt: skip
ENTRIES = (
    st.builds(lambda item: {"type": "message", "message": item}, MESSAGES | RESULTS)
    | st.builds(lambda item: {"type": "compaction", "summary": item, "firstKeptEntryId": ""}, texts)
    | st.builds(lambda item: {"type": "branch_summary", "fromId": "", "summary": item}, texts)
    | st.just({"type": "reset_boundary"})
    | st.just({"type": "context_edit", "targetId": "", "replacement": None})
)


@pytest.mark.parametrize("agent", READ_BACK)
def test_a_session_says_the_same_after_it_was_written_and_read(agent: str) -> None:
    whole = exported(
        user("Look at notes.txt"),
        assistant([{"type": "text", "text": "I look."}, tool_call("read", {"path": "notes.txt"})]),
        tool_result("three notes"),
        assistant("There are three."),
        user("Thanks"),
    )
    assert read_back(agent, whole) == [
        ("user", "Look at notes.txt"),
        ("assistant", "I look."),
        ("call", "call-1", "read", '{"path":"notes.txt"}'),
        ("result", "call-1", "three notes"),
        ("assistant", "There are three."),
        ("user", "Thanks"),
    ]


@pytest.mark.parametrize("agent", READ_BACK)
def test_a_summary_is_said_before_what_follows_it(agent: str) -> None:
    whole = exported(user("old"), user("kept"), compaction("they met", "e2"), assistant("later"))
    (_, summary), *rest = read_back(agent, whole)
    assert "they met" in summary
    assert rest == [("user", "kept"), ("assistant", "later")]


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_pi_and_oh_my_pi_apply_the_compaction_themselves(agent: str) -> None:
    whole = exported(user("old"), user("kept"), compaction("they met", "e2"), assistant("later"))
    data = NATIVE_WRITERS[agent](whole, ConversionLosses())
    assert said_in(as_log(imported(data))) == to_be_said(whole)


@settings(max_examples=60, deadline=None)
@given(wholes(ENTRIES))
def test_every_call_is_followed_by_its_result(whole: ExportedSession) -> None:
    turns = [
        native_turn.turn for native_turn in native_conversation(whole, ConversionLosses(), accepts_data).turns
    ]
    assert not turns or turns[0].role == "user"
    for number, turn in enumerate(turns):
        asked = [part.id for part in turn.parts if isinstance(part, Call)]
        after = turns[number + 1] if number + 1 < len(turns) else None
        answered = [result.call_id for result in after.results] if after is not None else []
        assert asked == answered
        assert len(set(asked)) == len(asked)


@settings(max_examples=60, deadline=None)
@given(wholes(ENTRIES), st.sampled_from(sorted(NATIVE_WRITERS)))
def test_every_session_can_be_written(whole: ExportedSession, agent: str) -> None:
    data = NATIVE_WRITERS[agent](whole, ConversionLosses())
    assert not data or data.endswith(b"\n")
    assert data == NATIVE_WRITERS[agent](whole, ConversionLosses())
