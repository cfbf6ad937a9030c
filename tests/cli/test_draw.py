"""Trees as text."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.cli.render.style import Style
from sessiond.cli.render.tree_drawing import draw
from sessiond.text import width
from support.rows import rows

FORKED = rows(
    """
a1 user Fix it
b1 assistant A race
+/c1:12 user With a lock
'/d1 user With two
c2 user Without one
d2 assistant A queue does it
""",
    path="a1 b1 c2 d2",
    labels={"c1": "first try"},
)


def test_the_path_has_no_indentation_and_other_branches_are_folded() -> None:
    assert drawn(FORKED, "d2") == [
        "a1  ● user       Fix it",
        "b1  ● assistant  A race",
        "c1  ├─▸ user       [first try] With a lock  (12 more)",
        "d1  └─○ user       With two",
        "c2  ● user       Without one",
        "d2  ◉ assistant  A queue does it  ◀ leaf",
    ]


def test_an_open_branch_has_bars_beside_its_rows() -> None:
    opened = rows("""
a user 1
+/b user 2
|'/c:1 user 3
|/d user 4
'/e user 5
./f user 6
g user 7
""")
    assert drawn(opened, None) == [
        "a  ○ user       1",
        "b  ├─○ user       2",
        "c  │ └─▸ user       3  (1 more)",
        "d  │ ○ user       4",
        "e  └─○ user       5",
        "f    ○ user       6",
        "g  ○ user       7",
    ]


def test_a_leaf_that_a_filter_hides_is_marked_at_the_last_row_before_it() -> None:
    assert drawn(rows("a user x\n'/c user z\nb user y", path="a b"), "hidden") == [
        "a  ● user       x",
        "c  └─○ user       z",
        "b  ◉ user       y  ◀ leaf",
    ]
    assert "leaf" not in "".join(drawn(rows("a user x"), None))


def test_the_same_tree_in_plain_characters() -> None:
    assert drawn(FORKED, "d2", Style(boxes=False)) == [
        "a1  * user       Fix it",
        "b1  * assistant  A race",
        "c1  |-+ user       [first try] With a lock  (12 more)",
        "d1  `-o user       With two",
        "c2  * user       Without one",
        "d2  @ assistant  A queue does it  <- leaf",
    ]


def test_ids_of_different_lengths_leave_the_columns_aligned() -> None:
    assert drawn(rows("a user x\nlonger tool y"), None) == [
        "a       ○ user       x",
        "longer  ○ tool       y",
    ]


def test_a_narrow_terminal_cuts_the_text_and_keeps_the_marks() -> None:
    narrow = drawn(FORKED, "d2", Style(columns=38))
    assert narrow == [
        "a1  ● user       Fix it",
        "b1  ● assistant  A race",
        "c1  ├─▸ user       [firs…]   (12 more)",
        "d1  └─○ user       With two",
        "c2  ● user       Without one",
        "d2  ◉ assistant  A queue does…  ◀ leaf",
    ]


def test_a_long_label_never_takes_the_row() -> None:
    [line] = drawn(rows("a user What it is about", labels={"a": "x" * 100}), None, Style(columns=60))
    assert line == f"a  ○ user       [{'x' * 19}…] What it is about"


@pytest.mark.parametrize("columns", range(30, 60))
def test_a_row_with_all_marks_fits_into_a_narrow_terminal(columns: int) -> None:
    [line] = drawn(
        rows("e12345 user What it is about", path="e12345", labels={"e12345": "x" * 100}),
        "e12345",
        Style(columns=columns),
    )
    assert width(line) <= max(columns, 32)
    assert line.endswith("◀ leaf")


def test_wide_characters_count_twice() -> None:
    assert drawn(rows("a user 日本語のテスト"), None, Style(columns=24)) == ["a  ○ user       日本語…"]


def test_deep_branches_leave_room_for_the_text() -> None:
    deep = rows("\n".join(f"{'|' * level}/a{level} user x" for level in range(120)))
    lines = drawn(deep, None, Style(columns=60))
    assert max(map(width, lines)) <= 60
    assert all(line.endswith("x") for line in lines)


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    row = rows("a user x", labels={"a": "\x1b[2Jlabel\n"})[0]
    row |= {"id": "a\x1b[1m", "role": "us\x07er", "preview": "one\ntwo\u202e"}
    assert drawn([row], None) == ["a  ○ user       [label] one two"]


def test_colors_come_only_when_asked_for_and_change_no_text() -> None:
    plain, colored = drawn(FORKED, "d2"), drawn(FORKED, "d2", Style(colors=True))
    assert "\x1b" not in "".join(plain)
    assert [_bare(line) for line in colored] == plain


@pytest.mark.parametrize("columns", [None, 80])
def test_a_chain_of_ten_thousand_is_drawn_without_nesting(columns: int | None) -> None:
    chain: list[dict[str, Any]] = [
        {
            "id": f"{at}",
            "type": "message",
            "gutter": "",
            "hiddenCount": 0,
            "onPath": True,
        }
        for at in range(10_000)
    ]
    assert len(drawn(chain, "9999", Style(columns=columns))) == 10_000


@given(st.lists(st.text("|+' ", max_size=120), min_size=1, max_size=40), st.integers(60, 100))
def test_every_row_is_one_line_that_fits(gutters: list[str], columns: int) -> None:
    drafts = rows("\n".join(f"n{number}:{number} user {'x' * 50}" for number in range(len(gutters))))
    nodes = [row | {"gutter": gutter} for row, gutter in zip(drafts, gutters, strict=True)]
    lines = drawn(nodes, "n0", Style(columns=columns))
    assert len(lines) == len(gutters)
    assert max(map(width, lines)) <= columns


def drawn(nodes: list[dict[str, Any]], leaf: str | None, style: Style | None = None) -> list[str]:
    return list(draw(nodes, leaf, style or Style()))


def _bare(line: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", line)
