"""The list of followed agents in config.toml."""

import tomllib

import pytest
from hypothesis import given, strategies as st

from sessiond.toml_names import UneditableTomlError, names, with_list, with_names, without_names

BEFORE = st.sampled_from(["", "# c\n", '[listen]\nidle_exit = "1h"\n', "[keep]\n\n# c\n[limits] # x\n"])
NAMES = st.lists(st.sampled_from(["codex", "gemini", "pi"]), unique=True, max_size=3)


@st.composite
def configs(draw: st.DrawFn) -> str:
    text = draw(BEFORE)
    if draw(st.booleans()):
        text += "[agents]" + draw(st.sampled_from(["", " # mine"])) + "\n"
        if draw(st.booleans()):
            listed = [f"'{it}'" for it in draw(NAMES)]
            text += draw(
                st.sampled_from(["follow = [{}]\n", "follow=[ {} ] # x\n", "follow = [\n  {} # y\n]\n"])
            ).format(", ".join(listed))
        text += draw(st.sampled_from(["", "\n[history]\n"]))
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(configs(), st.lists(st.sampled_from(["claude-code", "codex", "qwen"]), unique=True))
def test_names_that_are_added_and_removed_leave_the_configuration_as_it_was(
    text: str, wanted: list[str]
) -> None:
    more = [it for it in wanted if it not in names(text, "agents", "follow")]
    after = with_names(text, "agents", "follow", wanted)
    assert set(wanted) <= set(names(after, "agents", "follow"))
    left = without_names(after, text, "agents", "follow", more)
    before = tomllib.loads(text)
    assert tomllib.loads(left) == before
    if "agents" in before:
        assert left.rstrip("\r\n") == text.rstrip("\r\n")


@given(configs())
def test_comments_and_tables_stay(text: str) -> None:
    after = with_names(text, "agents", "follow", ["opencode"])
    for piece in ("# c", "# x", "# mine", "[listen]", "[keep]", "[limits]", "[history]"):
        assert (piece in after) == (piece in text)


@pytest.mark.parametrize(
    "text", ["[agents", "agents = 1\n", "agents = {follow = []}\n", "[agents]\nfollow = [1]\n"]
)
def test_a_form_that_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(UneditableTomlError):
        with_names(text, "agents", "follow", ["codex"])


@given(configs(), NAMES)
def test_a_list_that_is_replaced_has_the_wanted_names_and_nothing_else_changes(
    text: str, wanted: list[str]
) -> None:
    now = names(text, "agents", "follow")
    after = with_list(text, "agents", "follow", wanted)
    assert names(after, "agents", "follow") == [
        *(it for it in now if it in wanted),
        *(it for it in wanted if it not in now),
    ]
    before, found = tomllib.loads(text), tomllib.loads(after)
    before.get("agents", {}).pop("follow", None)
    found.get("agents", {}).pop("follow", None)
    assert {"agents": {}} | found == {"agents": {}} | before
    for piece in ("# c", "# x", "# mine", "# y"):
        assert (piece in after) == (piece in text)
