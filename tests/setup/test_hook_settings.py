"""Hooks in settings files: added and taken away without another character changing."""

import json  # noqa: TID251 - an independent reader
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.setup.hook_settings import UnexpectedSettingsError, has_hooks, plain, with_hooks, without_hooks
from sessiond.setup.json_tree import InvalidJsonError, parse
from support.settings_files import EVENTS, VALUES, written

COMMAND = "test -x '/a b/sessiond' && '/a b/sessiond' hook claude-code || true"


@given(written())
def test_hooks_that_are_added_and_removed_leave_every_byte_as_it_was(text: str) -> None:
    with_them = with_hooks(text, EVENTS, COMMAND)
    assert without_hooks(with_them, text, COMMAND) == text


@given(written())
def test_added_hooks_stand_last_in_their_event_and_nothing_else_changes(text: str) -> None:
    before, after = plain(text), plain(with_hooks(text, EVENTS, COMMAND))
    for event in EVENTS:
        assert after["hooks"][event].pop() == {"hooks": [{"type": "command", "command": COMMAND}]}
        if not after["hooks"][event] and event not in before.get("hooks", {}):
            del after["hooks"][event]
    if "hooks" not in before:
        assert after.pop("hooks") == {}
    assert after == before


@given(written())
def test_hooks_that_are_there_are_not_added_again(text: str) -> None:
    once = with_hooks(text, EVENTS, COMMAND)
    assert with_hooks(once, EVENTS, COMMAND) == once
    assert has_hooks(once, COMMAND)
    assert not has_hooks(text, COMMAND)


@given(written(), st.booleans())
def test_the_edits_of_others_stay_when_the_hooks_go(text: str, compact: bool) -> None:
    value = plain(with_hooks(text, EVENTS, COMMAND))
    value["new"] = [1]
    value["hooks"].setdefault("Other", []).append({"hooks": []})
    edited = json.dumps(value, indent=None if compact else 3)
    left = plain(without_hooks(edited, text, COMMAND))
    expected = plain(text)
    expected["new"] = [1]
    expected.setdefault("hooks", {}).setdefault("Other", []).append({"hooks": []})
    assert left == expected


def test_an_edit_at_another_place_keeps_its_layout_and_comments() -> None:
    before = '{\n    "model": "x", // mine\n    "n": 1\n}\n'
    edit = '"n": 1,\n    /* new */ "k": [ 1,2 ]'
    edited = with_hooks(before, EVENTS, COMMAND).replace('"n": 1', edit)
    assert without_hooks(edited, before, COMMAND) == before.replace('"n": 1', edit)


@pytest.mark.parametrize("before", ["", "\n", "\ufeff", "{}", "{ }", "{\n}\n", "{ // c\n}", '{"hooks": {}}'])
def test_an_empty_file_is_restored(before: str) -> None:
    edited = with_hooks(before, EVENTS, COMMAND)
    assert set(plain(edited)["hooks"]) == set(EVENTS)
    assert without_hooks(edited, before, COMMAND) == before


def test_a_hook_that_was_moved_into_a_group_of_the_user_is_found() -> None:
    handlers = [{"type": "command", "command": text} for text in ("mine", COMMAND)]
    text = json.dumps({"hooks": {"Stop": [{"matcher": "x", "hooks": handlers}]}})
    assert plain(without_hooks(text, "", COMMAND)) == {
        "hooks": {"Stop": [{"matcher": "x", "hooks": handlers[:1]}]}
    }


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', '{"a": 1} x', '{"a": 1 "b": 2}', "{'a': 1}", "[" * 1000, '{"\n": 1}']
)
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidJsonError):
        with_hooks(text, EVENTS, COMMAND)


@pytest.mark.parametrize("text", ["[]", "null", '"x"', '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_settings_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(UnexpectedSettingsError):
        with_hooks(text, EVENTS, COMMAND)


@given(VALUES)
def test_json_is_read_as_others_read_it(value: Any) -> None:
    assert parse(json.dumps(value)).plain() == value
    assert parse(json.dumps(value, indent=1, ensure_ascii=False)).plain() == value
