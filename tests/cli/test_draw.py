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
    c1 user With a lock
      d1 assistant It passes
    c2 user Without one
      d2 assistant A queue does it
""",
    path="a1 b1 c2 d2",
    labels={"c1": "first try"},
)


def test_a_chain_is_not_indented_and_a_branch_is() -> None:
    assert drawn(FORKED, "d2") == [
        "● a1  user       Fix it",
        "● b1  assistant  A race",
        "├─○ c1  user       With a lock  [first try]",
        "│ ○ d1  assistant  It passes",
        "└─● c2  user       Without one",
        "  ● d2  assistant  A queue does it  ◀ leaf",
    ]


def test_a_leaf_that_a_filter_hides_is_marked_at_the_last_row_before_it() -> None:
    assert drawn(rows("a user x\n  b user y\n  c user z", path="a b"), "hidden") == [
        "● a  user       x",
        "├─● b  user       y  ◀ leaf",
        "└─○ c  user       z",
    ]
    assert "leaf" not in "".join(drawn(rows("a user x"), None))


def test_the_same_tree_in_plain_characters() -> None:
    assert drawn(FORKED, "d2", Style(boxes=False)) == [
        "* a1  user       Fix it",
        "* b1  assistant  A race",
        "|-o c1  user       With a lock  [first try]",
        "| o d1  assistant  It passes",
        "`-* c2  user       Without one",
        "  * d2  assistant  A queue does it  <- leaf",
    ]


def test_forks_inside_forks_keep_their_bars() -> None:
    nested = rows("""
a user 1
  b user 2
    c user 3
    d user 4
      e user 5
  f user 6
""")
    assert drawn(nested, None) == [
        "○ a  user       1",
        "├─○ b  user       2",
        "│ ├─○ c  user       3",
        "│ └─○ d  user       4",
        "│   ○ e  user       5",
        "└─○ f  user       6",
    ]


def test_several_roots_are_siblings() -> None:
    assert drawn(rows("a user 1\n  b user 2\nc user 3", path="c"), "c") == [
        "├─○ a  user       1",
        "│ ○ b  user       2",
        "└─● c  user       3  ◀ leaf",
    ]


def test_a_narrow_terminal_cuts_the_text_and_keeps_the_marks() -> None:
    narrow = drawn(FORKED, "d2", Style(columns=34))
    assert narrow == [
        "● a1  user       Fix it",
        "● b1  assistant  A race",
        "├─○ c1  user       W…  [first try]",
        "│ ○ d1  assistant  It passes",
        "└─● c2  user       Without one",
        "  ● d2  assistant  A queu…  ◀ leaf",
    ]
    assert max(map(width, narrow)) <= 34


def test_wide_characters_count_twice() -> None:
    assert drawn(rows("a user 日本語のテスト"), None, Style(columns=24)) == ["○ a  user       日本語…"]


def test_deep_forks_leave_room_for_the_text() -> None:
    deep = rows(
        "\n".join(f"{'  ' * level}a{level} user x\n{'  ' * level}  b{level} user y" for level in range(60))
    )
    lines = drawn(deep, None, Style(columns=60))
    assert max(map(width, lines)) <= 60
    assert all(line.endswith(("x", "y")) for line in lines)


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    row = rows("a user x", labels={"a": "\x1b[2Jlabel\n"})[0]
    row |= {"id": "a\x1b[1m", "role": "us\x07er", "preview": "one\ntwo\u202e"}
    assert drawn([row], None) == ["○ a  user       one two  [label]"]


def test_colors_come_only_when_asked_for_and_change_no_text() -> None:
    plain, colored = drawn(FORKED, "d2"), drawn(FORKED, "d2", Style(colors=True))
    assert "\x1b" not in "".join(plain)
    assert [_bare(line) for line in colored] == plain


@pytest.mark.parametrize("columns", [None, 80])
def test_a_chain_of_ten_thousand_is_drawn_without_nesting(columns: int | None) -> None:
    chain: list[dict[str, Any]] = [
        {
            "id": f"{at}",
            "parentId": f"{at - 1}" if at else None,
            "type": "message",
            "childCount": 1,
            "onPath": True,
        }
        for at in range(10_000)
    ]
    assert len(drawn(chain, "9999", Style(columns=columns))) == 10_000


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(20, 100))
def test_every_row_is_one_line_that_fits(depths: list[int], columns: int) -> None:
    level, sketch = 0, []
    for number, depth in enumerate(depths):
        level = 0 if not number else min(depth, level + 1)
        sketch.append(f"{'  ' * level}n{number} user {'x' * 50}")
    lines = drawn(rows("\n".join(sketch)), "n0", Style(columns=columns))
    assert len(lines) == len(depths)
    # Sign, id, role and marks are always there in full; only the text and the gutter give way.
    assert max(map(width, lines)) <= max(columns, columns // 2 + 35)


def drawn(nodes: list[dict[str, Any]], leaf: str | None, style: Style | None = None) -> list[str]:
    return list(draw(nodes, leaf, style or Style()))


def _bare(line: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", line)
