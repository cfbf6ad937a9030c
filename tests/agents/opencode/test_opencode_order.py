"""The messages of OpenCode are in the order of their times and parents, whatever clock made their ids."""

import json  # noqa: TID251 - files of other programs are written as they write them
from typing import Any

from hypothesis import given, settings, strategies as st

from sessiond.agents.opencode.order import MessagePlace, in_order
from support.dialects import entries, imported, path

AT = 1_767_225_600_000
TURNS = st.lists(st.integers(1, 3), min_size=1, max_size=8)
"""The number of answers in each turn."""


def conversation(turns: list[int], *, prompts_late_by: float = 0.0) -> list[MessagePlace]:
    """A conversation in order, with a clock for prompts that is wrong by some seconds."""
    places: list[MessagePlace] = []
    for turn, answers in enumerate(turns):
        at = 60.0 * turn
        places.append(MessagePlace(f"q{turn}", None, at + prompts_late_by))
        places += [
            MessagePlace(f"a{turn}-{number}", f"q{turn}", at + 1 + number) for number in range(answers)
        ]
    return places


@given(TURNS, st.floats(-1e6, 1e6), st.randoms(use_true_random=False))
def test_a_wrong_clock_of_the_prompts_changes_no_order(turns: list[int], late: float, random: Any) -> None:
    places = conversation(turns, prompts_late_by=late)
    shuffled = random.sample(places, len(places))
    assert [shuffled[number] for number in in_order(shuffled)] == places


@given(st.lists(st.builds(
    MessagePlace, st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from(["a", "b", "c", "e", None]),
    st.one_of(st.none(), st.integers(0, 5)),
)))  # fmt: skip
def test_every_message_has_one_place_whatever_names_what(places: list[MessagePlace]) -> None:
    assert sorted(in_order(places)) == list(range(len(places)))


def test_messages_of_one_time_keep_their_order_and_follow_their_prompt() -> None:
    places = [
        MessagePlace("z", None, 1),
        MessagePlace("a", "z", 1),
        MessagePlace("y", None, 1),
        MessagePlace("b", "y", 1),
    ]
    assert in_order(places) == [0, 1, 2, 3]
    assert in_order([places[3], places[2], places[1], places[0]]) == [1, 0, 3, 2]


@given(TURNS, st.integers(0, 8), st.floats(-1e6, 1e6))
def test_a_prompt_that_nothing_answers_stays_where_it_was_written(
    turns: list[int], turn: int, late: float
) -> None:
    places = conversation(turns)
    at = 1 + sum(1 + answers for answers in turns[:turn])  # behind an answer, or at the end
    at = at - 1 if turn else len(places)
    places.insert(at, MessagePlace("waiting", None, late))
    assert in_order(places) == list(range(len(places)))


def message(place: MessagePlace, *, is_complete: bool = True) -> dict[str, Any]:
    created = AT + int(1000 * (place.created or 0))
    is_answer = place.parent is not None
    ended = {"completed": created + 1} if is_answer and is_complete else {}
    info = {
        "id": place.id,
        "role": "assistant" if is_answer else "user",
        "time": {"created": created, **ended},
    }
    parts = [{"type": "text", "text": f"text of {place.id}"}]
    return {"info": {**info, **({"parentID": place.parent} if is_answer else {})}, "parts": parts}


def document(*messages: dict[str, Any]) -> bytes:
    info = {"id": "ses_1", "directory": "/work", "version": "1.18.33"}
    return json.dumps({"info": info, "messages": messages}).encode()


@st.composite
def written(draw: st.DrawFn) -> list[MessagePlace]:
    """Messages with ids of no order, as OpenCode writes them: an answer is one to the last prompt."""
    names = iter(draw(st.permutations([f"msg_{number:02}" for number in range(24)])))
    places = [MessagePlace(next(names), None, 0)]
    asked = places[0].id
    for at in range(1, draw(st.integers(1, 20))):
        is_prompt = draw(st.booleans())
        places.append(MessagePlace(next(names), None if is_prompt else asked, at))
        asked = places[-1].id if is_prompt else asked
    return places


@settings(max_examples=200)
@given(written())
def test_a_session_in_use_is_read_as_the_beginning_of_its_later_state(
    places: list[MessagePlace],
) -> None:
    complete = [message(place) for place in places]
    parents = {entry["id"]: entry["parentId"] for entry in entries(imported(document(*complete)))}
    for end in range(1, len(places) + 1):
        for is_complete in (True, False):
            so_far = [*complete[: end - 1], message(places[end - 1], is_complete=is_complete)]
            part = imported(document(*so_far), growing=True)
            for entry in entries(part):
                if entry["id"].startswith("msg"):
                    assert parents[entry["id"]] == entry["parentId"]
            held = part.report.held_back_count
            assert len(path(part)) == len(so_far) - held


def test_a_prompt_that_waits_is_read_when_it_is_answered() -> None:
    asked = [MessagePlace("q1", None, 0), MessagePlace("a1", "q1", 1), MessagePlace("q2", None, 2)]
    answering = [message(asked[0]), message(asked[1], is_complete=False), message(asked[2])]
    assert path(imported(document(*answering), growing=True)) == ["q1"]
    waiting = imported(document(*map(message, asked)), growing=True)
    assert path(waiting) == ["q1", "a1"]
    answered = imported(document(*map(message, [*asked, MessagePlace("a3", "q2", 4)])), growing=True)
    assert path(answered) == ["q1", "a1", "q2", "a3"]
    assert path(imported(document(*map(message, asked)))) == ["q1", "a1", "q2"]
