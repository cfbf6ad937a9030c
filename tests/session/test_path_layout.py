"""The path layout: the path to the leaf has no indentation, other branches are folded beside it (decision 0056)."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from session.test_views import forests, naive_parents
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, NewRow
from sessiond.session.views.filters import Filter
from sessiond.session.views.outline import Open, Outline
from sessiond.session.views.path_layout import MAX_COLUMNS
from sessiond.session.views.tree_view import LayoutChangedError, TreePage, tree_rows
from support.logs import Line, Loaded, assistant, entry, header, leaf, loaded, log, user

FOLDED = Open()
ALL = Open(is_all=True)


def view(session: Loaded, filter: Filter = "default", *, open: Open = FOLDED, **asked: Any) -> TreePage:
    outline = asked.pop("outline", None) or Outline()
    return steps.run(tree_rows(session.tree, outline, session.read, filter=filter, open=open, **asked))


def drawn(page: TreePage) -> list[str]:
    """The rows as gutter, id and number of hidden rows."""
    return [
        f"{node.gutter}{node.id}" + f" ({node.hidden_count})" * bool(node.hidden_count) for node in page.nodes
    ]


FORKED = loaded(
    header(), user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("other q2", parent="e2"),
    assistant("other a2"), user("third q2", parent="e2"), leaf("e6"),
)  # fmt: skip
"""e1 - e2 with the children e3 (- e4), e5 (- e6, the leaf) and e7."""


def test_other_branches_hang_off_the_path_and_are_folded_with_a_count() -> None:
    assert drawn(view(FORKED)) == ["e1", "e2", "+e3 (1)", "'e7", "e5", "e6"]


def test_an_open_branch_is_a_line_of_its_own() -> None:
    page = view(FORKED, open=Open(rows=frozenset([FORKED.row("e3")])))
    assert drawn(page) == ["e1", "e2", "+e3", "|e4", "'e7", "e5", "e6"]
    assert page.opened == {FORKED.row("e3")}
    assert [(node.id, node.parent_id, node.depth, node.indent, node.child_count) for node in page.nodes] == [
        ("e1", None, 0, 0, 1), ("e2", "e1", 1, 0, 3), ("e3", "e2", 2, 1, 1), ("e4", "e3", 3, 1, 0),
        ("e7", "e2", 2, 1, 0), ("e5", "e2", 2, 0, 1), ("e6", "e5", 3, 0, 0),
    ]  # fmt: skip
    assert [node.id for node in page.nodes if node.on_path] == ["e1", "e2", "e5", "e6"]


def test_branches_in_an_open_branch_are_folded_too() -> None:
    session = loaded(
        header(), user("q"), user("side", parent="e1"), user("older", parent="e2"), user("newer", parent="e2"),
        user("on", parent="e4"), user("main", parent="e1"),
    )  # fmt: skip
    assert drawn(view(session)) == ["e1", "'e2 (3)", "e6"]
    assert drawn(view(session, open=ALL)) == ["e1", "'e2", " 'e3", " e4", " e5", "e6"]


def test_a_line_follows_the_branch_with_the_newest_entry_where_no_branch_is_on_the_path() -> None:
    session = loaded(
        header(), user("q"), user("begun first", parent="e1"), user("begun later", parent="e1"),
        user("went on", parent="e2"), leaf("e1"),
    )  # fmt: skip
    assert drawn(view(session)) == ["e1", "'e3", "e2", "e4"]
    assert [node.id for node in view(session).nodes if node.on_path] == ["e1"]


def test_of_several_roots_the_one_with_the_leaf_has_no_indentation() -> None:
    session = loaded(header(), user("q"), assistant("a"), user("again", parent=None), user("on"))
    assert drawn(view(session)) == ["'e1 (1)", "e3", "e4"]
    session = loaded(header(), user("q"), assistant("a"), user("again", parent=None), leaf("e2"))
    assert drawn(view(session)) == ["'e3", "e1", "e2"]


def test_branches_below_hidden_rows_hang_off_the_visible_row_above() -> None:
    session = loaded(
        header(), user("q"), entry("custom", customType="c"), user("side", parent="e2"), assistant("", parent="e2"),
        user("below a silent turn"), user("main", parent="e1"),
    )  # fmt: skip
    assert drawn(view(session, open=ALL)) == ["e1", "+e3", "'e5", "e6"]


def test_a_page_around_a_row_opens_the_branches_with_it() -> None:
    page = view(FORKED, around_row=FORKED.row("e4"), limit=3)
    assert drawn(page) == ["+e3", "|e4", "'e7"]
    assert (page.preceding_count, page.visible_count, page.opened) == (2, 7, frozenset([FORKED.row("e3")]))
    assert drawn(view(FORKED, around_row=FORKED.row("e3"), limit=1)) == ["+e3 (1)"]


def test_a_subtree_has_a_layout_of_its_own() -> None:
    assert drawn(view(FORKED, root_row=FORKED.row("e2"))) == ["e2", "+e3 (1)", "'e7", "e5", "e6"]
    assert drawn(view(FORKED, root_row=FORKED.row("e3"))) == ["e3", "e4"]


def test_an_empty_session_has_no_rows() -> None:
    assert view(loaded(header())).nodes == []


def test_pages_follow_one_another_until_the_layout_changes() -> None:
    outline = Outline()
    first = view(FORKED, outline=outline, limit=3)
    rest = view(FORKED, outline=outline, after_row=first.resume, version=first.version)
    assert drawn(first) + drawn(rest) == drawn(view(FORKED))
    with pytest.raises(LayoutChangedError):
        view(FORKED, outline=outline, after_row=first.resume, version="before")
    with pytest.raises(LayoutChangedError):
        view(FORKED, outline=outline, after_row=FORKED.row("e4"), version=first.version)


def test_gutters_of_many_nested_branches_are_short() -> None:
    lines = [user("first")]
    for number in range(3 * MAX_COLUMNS):  # each fork lies in the branch that was begun first
        lines += [user("side", parent=f"e{2 * number + 1}"), user("on", parent=f"e{2 * number + 1}")]
    session = loaded(header(), *lines, leaf("e1"), user("leaf", parent="e1"))
    page = view(session, open=ALL)
    assert len(page.nodes) == len(lines) + 1
    assert max(len(node.gutter) for node in page.nodes) <= MAX_COLUMNS


def test_a_page_reads_only_its_own_rows() -> None:
    session, outline = loaded(header(), *(user("q") for _ in range(5_000))), Outline()
    assert len(view(session, outline=outline, around_row=session.row("e2500"), limit=10).nodes) == 10
    assert session.lines_read == 10


@dataclass
class Naive:
    """The layout as it is described, computed row by row."""

    session: Loaded
    filter: Filter
    open: Open
    rows: list[tuple[str, str, str | None, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parents = naive_parents(self.session.tree)
        whole = steps.run(tree_rows(self.session.tree, Outline(), self.session.read, filter=self.filter))
        self.visible = {node.seq for node in whole.nodes}
        self.path: set[int] = set()
        row = self.session.tree.leaf
        while row != NONE:
            self.path.add(row)
            row = self.parents[row]
        roots = self._ordered(NONE)
        tops = [top for root in roots[:-1] for top in self._tops(root)]
        self._branches(tops, None, 0, "")
        if roots:
            self._line(roots[-1], None, 0, "", "")

    def _ordered(self, row: int) -> list[int]:
        """The children of a row; the last is the one that its line goes on with."""
        children = [child for child, parent in self.parents.items() if parent == row]
        if children:
            followed = max(
                children,
                key=lambda child: (
                    child in self.path,
                    max(self.visible.intersection(self._below(child)), default=0),
                ),
            )
            children.remove(followed)
            children.append(followed)
        return children

    def _below(self, row: int) -> list[int]:
        return [
            row,
            *(
                number
                for child, parent in self.parents.items()
                if parent == row
                for number in self._below(child)
            ),
        ]

    def _tops(self, row: int) -> list[int]:
        if row in self.visible:
            return [row]
        return [top for child, parent in self.parents.items() if parent == row for top in self._tops(child)]

    def _line(self, row: int, above: str | None, depth: int, gutter: str, first: str) -> None:
        waiting: list[int] = []
        while True:
            if row in self.visible:
                self._branches(waiting, above, depth, gutter)
                waiting = []
                above = self._add(row, above, depth, first, 0)
                depth, first = depth + 1, gutter
            children = self._ordered(row)
            waiting += [top for child in children[:-1] for top in self._tops(child)]
            if not children:
                break
            row = children[-1]
        self._branches(waiting, above, depth, gutter)

    def _branches(self, rows: list[int], above: str | None, depth: int, gutter: str) -> None:
        for row in rows:
            first = gutter + ("'" if row == rows[-1] else "+")
            if self.open.is_all or row in self.open.rows:
                self._line(row, above, depth, gutter + (" " if row == rows[-1] else "|"), first)
            else:
                self._add(row, above, depth, first, len(self.visible & set(self._below(row))) - 1)

    def _add(self, row: int, above: str | None, depth: int, gutter: str, hidden: int) -> str:
        name = self.session.tree.id(row) or ""
        self.rows.append((name, gutter, above, depth, len(gutter), hidden))
        return name


def shown(page: TreePage) -> list[tuple[str, str, str | None, int, int, int]]:
    return [
        (node.id, node.gutter, node.parent_id, node.depth, node.indent, node.hidden_count)
        for node in page.nodes
    ]


filters = st.sampled_from(["default", "userOnly", "all"])


def opens(data: st.DataObject, count: int) -> Open:
    return data.draw(st.just(ALL) | st.frozensets(st.integers(1, count)).map(lambda rows: Open(rows=rows)))


@given(forests(), filters, st.data())
def test_a_layout_agrees_with_a_naive_one(lines: list[Line], filter: Filter, data: st.DataObject) -> None:
    target = data.draw(st.integers(1, len(lines)))
    session = loaded(header(), *lines, *([leaf(f"e{target}")] if data.draw(st.booleans()) else []))
    open = opens(data, len(lines))
    page = view(session, filter, open=open)
    assert shown(page) == Naive(session, filter, open).rows
    visible = {
        node.id: node
        for node in steps.run(tree_rows(session.tree, Outline(), session.read, filter=filter)).nodes
    }
    assert all(
        (node.child_count, node.on_path) == (visible[node.id].child_count, visible[node.id].on_path)
        for node in page.nodes
    )


@given(forests(), filters, st.data())
def test_pages_are_parts_of_the_whole_layout(lines: list[Line], filter: Filter, data: st.DataObject) -> None:
    session, outline, open = loaded(header(), *lines), Outline(), opens(data, len(lines))
    whole = view(session, filter, open=open)
    limit, pages = data.draw(st.integers(1, 4)), []
    page = view(session, filter, open=open, outline=outline, limit=limit)
    pages += page.nodes
    while page.resume != NONE:
        page = view(
            session,
            filter,
            open=open,
            outline=outline,
            limit=limit,
            after_row=page.resume,
            version=page.version,
        )
        assert page.preceding_count == len(pages)
        pages += page.nodes
    assert pages == whole.nodes
    row = data.draw(st.integers(1, len(lines)))
    around = view(session, filter, open=open, outline=outline, limit=limit, around_row=row)
    opened = view(session, filter, open=Open(open.is_all, around.opened)).nodes
    assert around.nodes == opened[around.preceding_count : around.preceding_count + limit]


@given(forests(), forests(), st.data())
def test_a_layout_of_a_growing_session_equals_one_that_is_computed_at_once(
    before: list[Line], after: list[Line], data: st.DataObject
) -> None:
    session, outline = loaded(header(), *before), Outline()
    open = opens(data, len(before))
    view(session, open=open, outline=outline)
    for number, line in enumerate(after, len(before) + 1):
        parent = data.draw(st.none() | st.integers(1, number - 1).map(lambda index: f"e{index}"))
        new = line | {"id": f"e{number}", "parentId": parent}
        data_of_line = log(new)
        session.data += data_of_line
        role = new["message"]["role"] if "message" in new else None
        session.tree.attach([NewRow(data_of_line, new["type"], new["id"], parent, role)], leaf=new["id"])
        session.tree.commit(1, leaf=new["id"])
        assert shown(view(session, open=open, outline=outline)) == Naive(session, "default", open).rows
