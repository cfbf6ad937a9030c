"""The changes that a client which watches a tree is sent, from one snapshot to the next."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, strategies as st

from session.test_views import forests
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, NewRow
from sessiond.session.views.filters import FILTERS, Filter
from sessiond.session.views.outline import Open, Outline
from sessiond.session.views.tree_view import Node, TreePage, nodes_of, tree_rows
from sessiond.session.views.watched_view import (
    NOTHING,
    Snapshot,
    WatchedView,
    changes,
    window_around,
    window_in,
)
from support.logs import Line, Loaded, header, label, leaf, loaded, log, user


class Shown:
    """The rows of a client that knows nothing but the changes that it is sent."""

    def __init__(self, session: Loaded, filter: Filter, query: str, open: Open, around: int = NONE) -> None:
        self.session, self.outline = session, Outline()
        self.view = WatchedView(filter, query, open, around)
        self.snapshot: Snapshot = NOTHING
        self.window = range(0)
        self.nodes: list[Node] = []
        self.sent = 0

    def update(self, limit: int | None = None) -> bool:
        """Apply what has changed. Returns False if the rows of the client cannot be followed."""
        session, old = self.session, self.snapshot
        new = steps.run(self.view.snapshot(session.tree, self.outline, session.read, lambda *_: None))
        if limit is None:
            window: range | None = range(len(new))
        elif old is NOTHING:
            window = window_around(new, self.view.shown_row, limit)
        else:
            window = window_in(new, old, self.window)
        if window is None:
            return False
        self.sent = 0
        for change in steps.run(changes(old, new, self.window, window)):
            self.nodes[change.place : change.place + change.removed] = self.read(new, change.rows)
            self.sent += len(change.rows)
        for place, node in enumerate(self.nodes, window.start):
            self.nodes[place - window.start] = replaced(
                node, on_path=not node.indent and place <= new.tip, label=text_of(new, node.id)
            )
        self.snapshot, self.window = new, window
        return True

    def read(self, new: Snapshot, places: range) -> list[Node]:
        shapes = new.shapes(places)
        made = nodes_of(
            self.session.tree,
            self.outline,
            shapes,
            new.on_path(places, shapes),
            new.labels,
            self.session.read,
        )
        return steps.run(made)


def text_of(new: Snapshot, entry_id: str) -> str | None:
    found = new.labels.get(entry_id)
    return None if found is None else found.text


def replaced(node: Node, **fields: Any) -> Node:
    return Node(**{name: getattr(node, name) for name in node.__struct_fields__} | fields)


def add(session: Loaded, line: Line, parent: str | None, *, leaf: str | None) -> None:
    """Append an entry to a session that was read."""
    data = log(line)
    session.data += data
    role = line["message"]["role"] if "message" in line else None
    session.tree.attach([NewRow(data, line["type"], line["id"], parent, role)], leaf=leaf)
    session.tree.commit(1, leaf=leaf)


def read_on(session: Loaded, line: Line) -> None:
    """Read a line that another program has appended."""
    session.data += log(line)
    session.tree.read(log(line))
    session.tree.finish(settled=False)


def opens(data: st.DataObject, count: int) -> Open:
    rows = st.frozensets(st.integers(1, count)).map(lambda opened: Open(rows=opened))
    return data.draw(st.just(Open(is_all=True)) | rows)


def fresh(session: Loaded, filter: Filter, query: str, open: Open) -> TreePage:
    page = tree_rows(
        session.tree, Outline(), session.read, filter=filter, query=query, open=open, limit=10_000
    )
    return steps.run(page)


def grown(session: Loaded, lines: list[Line], data: st.DataObject) -> Iterator[None]:
    """Append entries anywhere, label entries and move the leaf."""
    for number, line in enumerate(lines, session.tree.committed):
        target = data.draw(st.none() | st.integers(1, number - 1).map(lambda place: f"e{place}"))
        match data.draw(st.sampled_from(["append", "append", "label", "unlabel", "move"])):
            case "append":
                new = line | {"id": f"e{number}", "parentId": target}
                is_leaf = data.draw(st.booleans())
                add(session, new, target, leaf=new["id"] if is_leaf else session.tree.leaf_id)
            case "move":
                read_on(session, leaf(target) | {"id": f"e{number}", "parentId": session.tree.leaf_id})
            case mark:
                new = label(target or "e1", "mark" if mark == "label" else "")
                read_on(session, new | {"id": f"e{number}", "parentId": session.tree.leaf_id})
        yield


def planted(lines: list[Line], data: st.DataObject) -> Loaded:
    """A session whose entries have earlier parents."""
    chosen: list[Line] = []
    for number, line in enumerate(lines, 1):
        parent = data.draw(st.integers(0, number - 1))
        chosen.append(line | {"id": f"e{number}", "parentId": f"e{parent}" if parent else None})
    return loaded(header(), *chosen)


@given(forests(), forests(), st.sampled_from(FILTERS), st.sampled_from(["", "q", "mark"]), st.data())
def test_a_client_that_only_applies_changes_has_the_rows_of_the_tree(
    before: list[Line], after: list[Line], filter: Filter, query: str, data: st.DataObject
) -> None:
    session, open = planted(before, data), opens(data, len(before))
    shown = Shown(session, filter, query, open)
    shown.update()
    for _ in grown(session, after, data):
        if data.draw(st.booleans()):  # otherwise several changes are sent as one
            shown.update()
    shown.update()
    page = fresh(session, filter, query, open)
    assert shown.nodes == page.nodes
    assert (len(shown.snapshot), shown.snapshot.entry_count) == (page.visible_count, page.entry_count)


@given(forests(), forests(), st.sampled_from(FILTERS), st.data())
def test_a_client_with_a_part_of_the_rows_has_that_part(
    before: list[Line], after: list[Line], filter: Filter, data: st.DataObject
) -> None:
    session, open = planted(before, data), opens(data, len(before))
    around = data.draw(st.sampled_from([NONE, *range(1, len(before) + 1)]))
    shown = Shown(session, filter, "", open, around)
    limit = data.draw(st.integers(1, 6))
    shown.update(limit)
    assert len(shown.nodes) <= limit
    for _ in grown(session, after, data):
        if not shown.update(limit):
            return
        page = fresh(session, filter, "", shown.view.open)
        window = shown.window
        assert shown.nodes == page.nodes[window.start : window.stop]


def test_an_entry_at_the_leaf_is_sent_with_its_parent_only() -> None:
    session = loaded(header(), *(user("q") for _ in range(500)))
    shown = Shown(session, "default", "", Open(is_all=True))
    shown.update()
    read_on(session, user("on") | {"id": "e501", "parentId": "e500"})
    shown.update()
    assert (shown.sent, shown.nodes[-1].id) == (2, "e501")


def test_a_branch_in_the_middle_leaves_the_rows_after_it() -> None:
    session = loaded(header(), *(user("q") for _ in range(500)))
    shown = Shown(session, "default", "", Open(is_all=True))
    shown.update()
    add(session, user("side") | {"id": "e501", "parentId": "e200"}, "e200", leaf="e500")
    shown.update()
    assert shown.sent == 2
    assert shown.nodes[200].id == "e501"


def test_a_move_of_the_leaf_along_the_path_sends_no_row() -> None:
    session = loaded(header(), *(user("q") for _ in range(500)))
    shown = Shown(session, "default", "", Open(is_all=True))
    shown.update()
    read_on(session, leaf("e100") | {"id": "e501", "parentId": "e500"})
    shown.update()
    assert (shown.sent, shown.snapshot.tip) == (0, 99)


def test_only_new_rows_are_searched() -> None:
    session = loaded(header(), *(user("q") for _ in range(500)))
    shown = Shown(session, "default", "other", Open(is_all=True))
    shown.update()
    read_on(session, user("another one") | {"id": "e501", "parentId": "e500"})
    session.lines_read = 0
    shown.update()
    assert ([node.id for node in shown.nodes], session.lines_read) == (["e501"], 2)
