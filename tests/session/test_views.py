"""The tree as people look at it (decision 0021)."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.session.tree import steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.tree import NONE, NewRow, Tree
from sessiond.session.views.filters import Filter
from sessiond.session.views.outline import Outline
from sessiond.session.views.tree_view import Node, TreePage, tree_rows
from support.logs import (
    Line,
    Loaded,
    assistant,
    entry,
    header,
    label,
    leaf,
    loaded,
    log,
    message,
    tool_call,
    tool_result,
    user,
)


def view(session: Loaded, filter: Filter = "default", **asked: Any) -> TreePage:
    outline = asked.pop("outline", None) or Outline()
    return steps.run(tree_rows(session.tree, outline, session.read, filter=filter, **asked))


def ids(session: Loaded, filter: Filter = "default", **asked: Any) -> list[str]:
    return [node.id for node in view(session, filter, **asked).nodes]


def node(session: Loaded, entry_id: str, filter: Filter = "all") -> Node:
    return next(node for node in view(session, filter).nodes if node.id == entry_id)


def drawn(session: Loaded, filter: Filter = "all") -> list[str]:
    return [f"{'  ' * node.indent}{node.id}" for node in view(session, filter).nodes]


FORKED = loaded(
    header(), user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("other q2", parent="e2"),
    assistant("other a2"), user("third q2", parent="e2"), leaf("e6"),
)  # fmt: skip
"""e1 - e2 with the children e3 (- e4), e5 (- e6, the leaf) and e7."""


def test_rows_are_in_preorder_with_siblings_in_log_order() -> None:
    assert ids(FORKED) == ["e1", "e2", "e3", "e4", "e5", "e6", "e7"]


def test_chains_are_not_indented_and_the_children_of_a_fork_are() -> None:
    assert drawn(FORKED) == ["e1", "e2", "  e3", "  e4", "  e5", "  e6", "  e7"]


def test_several_roots_are_not_indented() -> None:
    session = loaded(header(), user("q"), assistant("a"), user("again", parent=None), user("on"))
    assert drawn(session) == ["e1", "e2", "e3", "e4"]
    assert [row.last_sibling for row in view(session).nodes] == [False, True, True, True]


def test_a_row_has_its_parent_depth_and_children() -> None:
    first, second, third, *_, last = view(FORKED).nodes
    assert (first.parent_id, first.depth, first.child_count, first.seq) == (None, 0, 1, 1)
    assert (second.parent_id, second.depth, second.child_count) == ("e1", 1, 3)
    assert (third.parent_id, third.depth, third.last_sibling) == ("e2", 2, False)
    assert (last.id, last.last_sibling, last.child_count) == ("e7", True, 0)
    assert [row.id for row in view(FORKED).nodes if row.on_path] == ["e1", "e2", "e5", "e6"]


def test_a_row_has_its_type_role_preview_and_label() -> None:
    session = loaded(
        header(), user("q"), label("e1", "mark"), entry("future_thing"), entry("message", message=5)
    )
    first = node(session, "e1")
    assert (first.type, first.role, first.preview, first.label) == ("message", "user", "q", "mark")
    assert first.timestamp == "2026-03-01T08:00:01.000Z"
    future = node(session, "e3")
    assert (future.type, future.role, future.preview) == ("future_thing", None, "")
    assert (node(session, "e4").role, node(session, "e4").preview) == (None, "")


def test_the_children_of_a_hidden_row_belong_to_its_nearest_visible_ancestor() -> None:
    session = loaded(
        header(), user("q"), entry("model_change", model="a/b"), label("e1", "m"), assistant("a"),
        user("other", parent="e2"),
    )  # fmt: skip
    rows = view(session).nodes
    assert [(row.id, row.parent_id, row.depth) for row in rows] == [
        ("e1", None, 0), ("e4", "e1", 1), ("e5", "e1", 1),
    ]  # fmt: skip
    assert rows[0].child_count == 2
    assert view(session).entry_count == 5


MIXED = loaded(
    header(), user("question"), assistant([tool_call("bash", {"command": "ls"})], stopReason="toolUse"),
    tool_result("files", name="bash"), assistant("answer"), entry("custom", customType="state"),
    label("e2", "labeled"), entry("usage", kind="warm"),
    entry("branch_summary", summary="left", fromId="e1"), entry("mode_change", mode="plan"),
    assistant("", stopReason="aborted"), leaf("e10"), assistant("", parent="e10"), leaf("e4"),
)  # fmt: skip
"""A silent turn (e2, labeled), a result, an answer, housekeeping, an aborted turn (e10), one more (e12)."""


@pytest.mark.parametrize(
    ("filter", "shown"),
    [
        ("default", ["e1", "e3", "e4", "e8", "e10"]),
        ("noTools", ["e1", "e4", "e8", "e10"]),
        ("userOnly", ["e1"]),
        ("labeledOnly", ["e2"]),
        ("all", ["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10", "e12"]),
    ],
)
def test_a_filter_shows(filter: Filter, shown: list[str]) -> None:
    assert ids(MIXED, filter) == shown


def test_a_silent_turn_is_shown_when_it_is_the_leaf() -> None:
    session = loaded(header(), user("q"), assistant([tool_call("ls", {})]))
    assert ids(session) == ["e1", "e2"]


@pytest.mark.parametrize(
    ("content", "silent"),
    [
        ("", True), ("  ", True), (None, True), ([], True), ([{"type": "thinking", "thinking": "t"}], True),
        ([{"type": "text", "text": " "}], True), ([{"type": "text", "text": "words"}], False),
        ("words", False), (["odd"], False), ({"type": "text"}, False),
    ],
)  # fmt: skip
def test_a_turn_without_text_is_silent(content: Any, silent: bool) -> None:
    session = loaded(header(), user("q"), message("assistant", content), user("r"))
    assert ("e2" not in ids(session)) is silent


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ANSWER", ["e4"]),
        ("que tion", ["e1"]),
        ("nothing of this", []),
        ("user", ["e1"]),
        ("files bash", ["e3"]),
        ("  ", ["e1", "e3", "e4", "e8", "e10"]),
    ],
)
def test_a_query_selects_the_rows_with_all_its_words(query: str, found: list[str]) -> None:
    assert ids(MIXED, query=query) == found


def test_a_query_finds_labels() -> None:
    assert ids(MIXED, "all", query="labeled") == ["e2", "e6"]


def test_a_view_of_a_subtree_begins_at_its_root() -> None:
    rows = view(FORKED, root_row=FORKED.row("e5")).nodes
    assert [(row.id, row.parent_id, row.depth, row.indent) for row in rows] == [
        ("e5", None, 0, 0), ("e6", "e5", 1, 0),
    ]  # fmt: skip


def test_paging_continues_after_a_row_even_if_it_is_hidden() -> None:
    first = view(FORKED, limit=3)
    assert ([row.id for row in first.nodes], first.resume) == (["e1", "e2", "e3"], FORKED.row("e3"))
    rest = view(FORKED, after_row=first.resume, limit=10)
    assert ([row.id for row in rest.nodes], rest.resume) == (["e4", "e5", "e6", "e7"], NONE)
    assert rest.nodes == view(FORKED).nodes[3:]
    assert ids(MIXED, after_row=MIXED.row("e5")) == ["e8", "e10"]


def test_a_page_around_a_row_has_it_in_the_middle_and_counts_the_preceding_rows() -> None:
    page = view(FORKED, around_row=FORKED.row("e5"), limit=3)
    assert ([row.id for row in page.nodes], page.preceding_count, page.visible_count) == (
        ["e4", "e5", "e6"],
        3,
        7,
    )
    assert view(FORKED, around_row=FORKED.row("e2"), limit=5).preceding_count == 0
    assert view(FORKED, "userOnly", around_row=FORKED.row("e6"), limit=1).nodes[0].id == "e5"


def test_a_page_reads_only_its_own_rows() -> None:
    session, outline = loaded(header(), *(user("q") for _ in range(5_000))), Outline()
    assert len(ids(session, outline=outline, root_row=session.row("e4999"))) == 2
    assert session.lines_read == 2
    assert len(ids(session, outline=outline, around_row=session.row("e2500"), limit=10)) == 10
    assert session.lines_read == 12


def test_entries_of_a_cycle_are_shown_once_with_the_first_as_a_root() -> None:
    session = loaded(
        header(), user("a", parent="e2"), user("b", parent="e1"), user("hangs on it", parent="e1"),
        user("self", parent="e4"), user("root", parent=None),
    )  # fmt: skip
    rows = [(row.id, row.parent_id) for row in view(session).nodes]
    assert rows == [("e1", None), ("e2", "e1"), ("e3", "e1"), ("e4", None), ("e5", None)]


def test_a_long_tree_whose_parents_follow_their_children_is_read_in_steps() -> None:
    backwards = [user("q", parent=f"e{number + 1}") for number in range(1, 9_000)]
    session, chains = loaded(header(), *backwards, user("root", parent=None)), Chains()
    assert len(list(chains.extend(session.tree))) >= 6
    assert list(chains.extend(session.tree)) == []
    assert list(chains.children(NONE)) == [session.row("e9000")]


def test_of_entries_with_the_same_id_the_last_one_is_shown() -> None:
    session = loaded(
        header(), user("q"), user("old", id="x"), user("new", id="x", parent="e1"), user("on", parent="x")
    )
    assert [(row.id, row.preview) for row in view(session).nodes] == [("e1", "q"), ("x", "new"), ("e4", "on")]


def test_an_outline_grows_with_its_tree() -> None:
    session, outline = loaded(header(), user("q"), assistant("a")), Outline()
    assert ids(session, outline=outline) == ["e1", "e2"]
    lines = log(assistant("") | {"id": "n1", "parentId": "e2"}, user("r") | {"id": "n2", "parentId": "e1"})
    first, second = lines.splitlines(keepends=True)
    session.data += lines
    turn = NewRow(first, "message", "n1", "e2", "assistant")
    session.tree.attach([turn, NewRow(second, "message", "n2", "e1", "user")], leaf="n2")
    assert ids(session, outline=outline) == ["e1", "e2"]
    session.tree.commit(2, leaf="n2")
    read_before = session.lines_read
    assert ids(session, outline=outline) == ["e1", "e2", "n2"]
    assert session.lines_read - read_before == 1 + 1  # the new turn, and the new row of the page


def test_two_callers_may_extend_an_outline_at_the_same_time() -> None:
    session, outline = loaded(header(), *(assistant("") for _ in range(10_000))), Outline()
    one = tree_rows(session.tree, outline, session.read, filter="all", limit=1)
    two = tree_rows(session.tree, outline, session.read, filter="all", limit=1)
    while next(one, True) is None or next(two, True) is None:
        pass
    assert ids(session, "all", outline=outline, limit=3) == ["e1", "e2", "e3"]


def test_a_view_of_a_growing_tree_shows_one_moment() -> None:
    session = loaded(header(), *(user("q") for _ in range(9_000)))
    drawing = tree_rows(session.tree, Outline(), session.read, limit=100_000)
    for _ in range(40):
        next(drawing)
    line = log(user("late") | {"id": "late", "parentId": "e9000"})
    session.data += line
    session.tree.attach([NewRow(line, "message", "late", "e9000", "user")], leaf="late")
    session.tree.commit(1, leaf="late")
    assert len(steps.run(drawing).nodes) in (9_000, 9_001)


@st.composite
def forests(draw: st.DrawFn) -> list[Line]:
    """Entries with parents anywhere, before, behind or missing; some rows hidden by the default filter."""
    count = draw(st.integers(1, 14))
    parents = st.one_of(st.none(), st.integers(1, count + 1).map(lambda number: f"e{number}"))
    kinds = st.sampled_from([user("q"), assistant("a"), assistant(""), entry("custom", customType="c")])
    return [draw(kinds) | {"parentId": draw(parents)} for _ in range(count)]


@given(forests(), st.sampled_from(["default", "userOnly", "all"]))
def test_a_view_agrees_with_a_naive_one(lines: list[Line], filter: Filter) -> None:
    session = loaded(header(), *lines)
    assert [(row.id, row.parent_id) for row in view(session, filter).nodes] == naive(session, filter)


@given(forests(), st.sampled_from(["default", "userOnly", "all"]), st.data())
def test_a_view_of_a_subtree_has_the_descendants_of_its_root(
    lines: list[Line], filter: Filter, data: st.DataObject
) -> None:
    session = loaded(header(), *lines)
    root = data.draw(st.integers(1, len(lines)))
    below, grown, parents = {root}, True, naive_parents(session.tree)
    while grown:
        more = {row for row, parent in parents.items() if parent in below}
        grown, below = not more <= below, below | more
    part = [row.id for row in view(session, filter, root_row=root).nodes]
    assert sorted(part) == sorted(row.id for row in view(session, filter).nodes if row.seq in below)


def naive_parents(tree: Tree) -> dict[int, int]:
    """Row -> the row above it; a circle is cut above its first."""
    parents = {row: tree.parent(row) for row in range(1, len(tree))}
    for row in parents:
        circle = [row]
        while parents[circle[-1]] not in (NONE, *circle):
            circle.append(parents[circle[-1]])
        if parents[circle[-1]] == row and row == min(circle):
            parents[row] = NONE
    return parents


def naive(session: Loaded, filter: Filter) -> list[tuple[str | None, str | None]]:
    tree, parents = session.tree, naive_parents(session.tree)
    shown = {session.row(node_id) for node_id in ids(session, filter)}

    def below(row: int, above: int) -> list[tuple[str | None, str | None]]:
        rows: list[tuple[str | None, str | None]] = []
        if row in shown:
            rows.append((tree.id(row), None if above == NONE else tree.id(above)))
            above = row
        for child, parent in parents.items():
            rows += below(child, above) if parent == row else []
        return rows

    return [found for root, parent in parents.items() if parent == NONE for found in below(root, NONE)]


@given(forests(), st.sampled_from(["default", "userOnly", "all"]), st.data())
def test_a_page_around_a_row_equals_that_part_of_the_whole_view(
    lines: list[Line], filter: Filter, data: st.DataObject
) -> None:
    session = loaded(header(), *lines)
    row = data.draw(st.integers(1, len(session.tree) - 1))
    whole = view(session, filter).nodes
    page = view(session, filter, around_row=row, limit=data.draw(st.integers(1, 5)))
    assert page.nodes == whole[page.preceding_count : page.preceding_count + len(page.nodes)]


@given(forests())
def test_every_entry_is_reached_once_from_the_roots(lines: list[Line]) -> None:
    session, chains = loaded(header(), *lines), Chains()
    steps.run(chains.extend(session.tree))
    to_visit, visited = list(chains.children(NONE)), []
    while to_visit:
        row = to_visit.pop()
        visited.append(row)
        to_visit += chains.children(row)
    assert sorted(visited) == list(range(1, len(session.tree)))
