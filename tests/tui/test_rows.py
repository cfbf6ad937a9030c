"""The columns of a view: where each row hangs, and the changes that the daemon sends."""

from typing import Any

from hypothesis import given, strategies as st

from sessiond.protocol import types as t
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE
from sessiond.session.views.outline import Open, Outline
from sessiond.session.views.tree_view import tree_rows
from sessiond.session.views.watched_view import WatchedView, changes
from sessiond.tui.folds import Folds
from sessiond.tui.rows import NOWHERE, Rows
from support.logs import Line, Loaded, header, leaf, loaded, user


def page_of(session: Loaded, **asked: Any) -> t.TreeResult:
    """Return the answer of the daemon."""
    import msgspec

    open = Open(is_all=True)
    page = steps.run(tree_rows(session.tree, Outline(), session.read, filter="all", open=open, **asked))
    return t.TreeResult(
        nodes=[msgspec.convert(node, t.TreeNode, from_attributes=True) for node in page.nodes],
        log_id="a log", leaf_id=session.tree.leaf_id, entry_count=page.entry_count, visible_count=page.visible_count,
        preceding_count=page.preceding_count,
        next_cursor=None if page.resume == -1 else str(page.resume),
    )  # fmt: skip


@st.composite
def trees(draw: st.DrawFn, roots: bool = True) -> list[Line]:
    """Entries, each of which hangs on one before it, or on none."""
    lines = [user("q") | {"parentId": None}]
    for number in range(1, draw(st.integers(1, 16))):
        above = draw(st.integers(0 if roots else 1, number))
        lines.append(user("q") | {"parentId": f"e{above}" if above else None})
    return lines


@given(trees())
def test_every_row_knows_what_it_hangs_on_and_what_hangs_on_it(lines: list[Line]) -> None:
    page = page_of(loaded(header(), *lines))
    rows = Rows(page)
    for place, node in enumerate(page.nodes):
        above = rows.parent(place)
        assert (rows.ids[above] if above != NOWHERE else None) == node.parent_id
        below = [at for at in range(len(rows)) if place in _above(rows, at)]
        assert rows.last_below(place) == max([place, *below])
    assert rows.ids[rows.tip] == page.leaf_id


@given(trees(), st.data())
def test_a_page_from_the_middle_is_drawn_as_in_the_whole(lines: list[Line], data: st.DataObject) -> None:
    session = loaded(header(), *lines)
    whole = Rows(page_of(session))
    around = data.draw(st.integers(1, len(lines)))
    part = Rows(page_of(session, around_row=around, limit=data.draw(st.integers(1, 8))))
    assert part.gutters == whole.gutters[part.before : part.before + len(part)]
    assert part.ids == whole.ids[part.before : part.before + len(part)]


def sent(before: Loaded, after: Loaded) -> t.TreeChangedNote:
    """The notification of the daemon after a change of a session."""
    old, new = (
        steps.run(
            WatchedView("all", "", Open(is_all=True), NONE).snapshot(
                state.tree, Outline(), state.read, _unread
            )
        )
        for state in (before, after)
    )
    nodes = page_of(after).nodes
    found = steps.run(changes(old, new, range(len(old)), range(len(new))))
    return t.TreeChangedNote(
        watch_id="w", session_id="s", log_id="a log", seq=new.moment.end - 1, leaf_id=after.tree.leaf_id,
        entry_count=new.entry_count, visible_count=len(new), preceding_count=0,
        path_end=None if new.tip == NONE else new.tip, labels=[], more=False,
        changes=[
            t.TreeChange(place=step.place, removed=step.removed, nodes=nodes[step.rows.start : step.rows.stop])
            for step in found
        ],
    )  # fmt: skip


def _unread(_first: int, _end: int) -> None:
    return None


@given(trees(), st.data())
def test_applied_changes_make_the_rows_of_the_tree(lines: list[Line], data: st.DataObject) -> None:
    before = loaded(header(), *lines)
    rows = Rows(page_of(before))
    new = list[Line]()
    for more in range(data.draw(st.integers(0, 3))):
        above = data.draw(st.integers(0, len(lines) + more))
        new.append(user("new") | {"parentId": f"e{above}" if above else None})
    moved = [leaf(f"e{data.draw(st.integers(1, len(lines)))}")] * data.draw(st.integers(0, 1))
    after = loaded(header(), *lines, *new, *moved)
    rows.apply(sent(before, after))
    same = Rows(page_of(after))
    for column in ("ids", "places", "depths", "children", "gutters", "branches", "on_path", "shown"):
        assert getattr(rows, column) == getattr(same, column), column


@given(trees())
def test_a_row_with_siblings_is_found_from_below(lines: list[Line]) -> None:
    rows = Rows(page_of(loaded(header(), *lines)))
    for place in range(len(rows)):
        having = [at for at in (place, *_above(rows, place)) if _siblings(rows, at) > 1]
        assert rows.child_of_fork(place) == (having[0] if having else NOWHERE)


def _siblings(rows: Rows, place: int) -> int:
    above = rows.parent(place)
    return rows.children[above] if above != NOWHERE else rows.depths.count(0)


@given(trees(), st.data())
def test_folded_rows_have_no_line(lines: list[Line], data: st.DataObject) -> None:
    folds = Folds(Rows(page_of(loaded(header(), *lines))))
    folds.reset(folds_branches=data.draw(st.booleans()))
    rows = folds.rows
    for place in data.draw(st.sets(st.integers(0, len(rows) - 1))):
        folds.toggle(place)
    folded = {place for place in range(len(rows)) if folds.is_folded(place)}
    assert all((folds.hides(number) > 0) == (number in folded) for number in range(len(rows)))
    seen = [at for at in range(len(rows)) if not folded & set(_above(rows, at))]
    assert list(folds.lines) == seen
    for place in range(len(rows)):
        line = folds.lines[folds.line(place)]
        assert line == max(number for number in seen if number <= place)
    hidden = [at for at in range(len(rows)) if at not in seen]
    for place in hidden:
        folds.reveal(place)
    assert list(folds.lines) == list(range(len(rows))) or not hidden


def _above(rows: Rows, place: int) -> list[int]:
    found = []
    while (place := rows.parent(place)) != NOWHERE:
        found.append(place)
    return found
