"""The block in the startup file of a shell."""

import pytest
from hypothesis import given, strategies as st

from sessiond.setup.startup_file import BEGIN, END, UnfinishedBlockError, has_block, with_block, without_block

TEXTS = st.text(alphabet="ab# >\r\n\udcff", max_size=30)


@given(TEXTS)
def test_a_block_that_is_added_and_removed_leaves_every_byte_as_it_was(text: str) -> None:
    after = with_block(text, "x\n")
    assert has_block(after)
    assert with_block(after, "x\n") == after
    assert without_block(after, text) == text


@given(TEXTS.map(lambda text: text + "\n"), TEXTS, TEXTS)
def test_lines_before_and_after_the_block_stay(text: str, before: str, after: str) -> None:
    edited = before + "\n" + with_block(text, "x\n") + after
    assert without_block(edited, text) == before + "\n" + text + after


def test_a_newer_block_takes_the_place_of_an_older_one() -> None:
    assert with_block(with_block("a\n", "old\n") + "b\n", "new\n") == f"a\n{BEGIN}\nnew\n{END}\nb\n"


@pytest.mark.parametrize("text", [f"{BEGIN}\na\n", f"{END}\n", f"{BEGIN}\n{BEGIN}\n{END}\n"])
def test_a_block_without_both_markers_is_left_alone(text: str) -> None:
    with pytest.raises(UnfinishedBlockError):
        without_block(text, "")
