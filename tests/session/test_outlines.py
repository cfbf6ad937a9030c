"""An outline that is extended with its tree gives the same pages as one that is built anew."""

import random
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.tree import steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.tree.turns import SilentTurns
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

CALL = tool_call("bash", {"command": "ls"})


class Growing:
    """A session to which lines are appended, and one outline that is extended with it."""

    def __init__(self) -> None:
        self.session = Loaded(log(header()))
        self.outline = Outline()
        self.ids: list[str] = []

    def append(self, line: Line, parent: str | None) -> str:
        """Append an entry as another program would, and return its id."""
        entry_id = f"n{len(self.ids) + 1}"
        data = log(line | {"id": entry_id, "parentId": parent})
        self.session.data += data
        self.session.tree.read(data)
        self.session.tree.finish()
        self.ids.append(entry_id)
        return entry_id

    def chain(self, count: int, line: Line | None = None) -> None:
        for _ in range(count):
            self.append(line or user("q"), self.ids[-1] if self.ids else None)

    def page(self, outline: Outline | None = None, *, limit: int = 4, **asked: Any) -> TreePage:
        session, outline = self.session, outline or self.outline
        work = tree_rows(session.tree, outline, session.read, limit=limit, **asked)
        return steps.run(work)

    def stored(self, first: int, end: int) -> bytes:
        tree = self.session.tree
        return self.session.data[tree.span(first)[0] : tree.span(end - 1)[1]]


class Choices:
    """Draws from a seeded generator, which is faster than one of hypothesis for long histories."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def line(self, ids: list[str]) -> Line:
        target = self.draw.choice(ids) if ids else "nothing"
        kinds: list[Callable[[], Line]] = [
            lambda: user("question"),
            lambda: assistant("answer"),
            lambda: assistant([CALL]),
            lambda: assistant("", stopReason="aborted"),
            lambda: tool_result("files"),
            lambda: label(target, self.draw.choice(["mark", None])),
            lambda: leaf(target if ids else None),
            lambda: entry("custom_message", customType="c", content="x", display=self.draw.random() < 0.5),
            lambda: entry("model_change", model="a/b"),
        ]
        return self.draw.choice(kinds)()

    def parent(self, ids: list[str], disorder: float) -> str | None:
        if not ids or self.draw.random() < 0.05:
            return None
        if self.draw.random() < disorder:
            return f"n{len(ids) + self.draw.randint(1, 5)}"  # follows its child, or does not exist
        return self.draw.choice(ids) if self.draw.random() < 0.3 else ids[-1]

    def question(self, tree: Tree) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "filter": self.draw.choice(get_args(Filter)),
            "limit": self.draw.choice([1, 3, 50]),
            "query": self.draw.choice(["", "", "", "question", "mark"]),
        }
        rows = [row for row in range(1, tree.committed) if tree.is_entry(row)]
        if rows and self.draw.random() < 0.4:
            asked["root_row"] = self.draw.choice(rows)
        if rows and self.draw.random() < 0.7:
            asked[self.draw.choice(["around_row", "after_row"])] = self.draw.choice(rows)
        return asked


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.0, 0.1]))
def test_an_extended_outline_gives_the_same_pages_as_a_new_one(seed: int, disorder: float) -> None:
    choose, growing = Choices(seed), Growing()
    for _ in range(8):
        for _ in range(choose.draw.choice([1, 1, 2, 12])):
            growing.append(choose.line(growing.ids), choose.parent(growing.ids, disorder))
        asked = choose.question(growing.session.tree)
        assert growing.page(**asked) == growing.page(Outline(), **asked)


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_pages_of_a_growing_tree_are_parts_of_one_view(seed: int) -> None:
    choose, growing = Choices(seed), Growing()
    for _ in range(3):
        for _ in range(10):
            growing.append(choose.line(growing.ids), choose.parent(growing.ids, 0.0))
        filter = choose.draw.choice(get_args(Filter))
        whole = growing.page(filter=filter, limit=1_000)
        nodes, after = list[Node](), NONE
        while len(nodes) < whole.visible_count:
            page = growing.page(filter=filter, after_row=after)
            assert page.preceding_count == len(nodes)
            nodes += page.nodes
            after = page.resume
        assert nodes == whole.nodes


def test_an_append_to_a_long_session_examines_and_reads_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = Growing()
    growing.chain(3_000)
    growing.page()
    examined: list[tuple[int, int]] = []
    kinds = Tree.kinds

    def examine(tree: Tree, first: int, end: int) -> bytes:
        examined.append((first, end))
        return kinds(tree, first, end)

    monkeypatch.setattr(Tree, "kinds", examine)
    growing.append(assistant([CALL]), growing.ids[-1])
    read_before = growing.session.lines_read
    growing.page()
    assert growing.session.lines_read - read_before == 1
    assert set(examined) == {(3_001, 3_002)}


def test_a_silent_turn_is_hidden_when_the_leaf_moves_on() -> None:
    growing = Growing()
    growing.append(user("q"), None)
    growing.append(assistant([CALL]), "n1")
    assert [node.id for node in growing.page().nodes] == ["n1", "n2"]
    growing.append(tool_result("files"), "n2")
    assert [node.id for node in growing.page().nodes] == ["n1", "n3"]
    growing.append(leaf("n2"), "n2")
    assert [node.id for node in growing.page().nodes] == ["n1", "n2", "n3"]


def test_a_label_appears_in_its_view_and_disappears_when_it_is_removed() -> None:
    growing = Growing()
    growing.chain(3)
    assert growing.page(filter="labeledOnly").nodes == []
    growing.append(label("n2", "mark"), "n3")
    assert [node.label for node in growing.page(filter="labeledOnly").nodes] == ["mark"]
    growing.append(label("n2", None), "n4")
    assert growing.page(filter="labeledOnly").nodes == []


def test_a_branch_that_is_added_below_a_row_makes_it_a_fork() -> None:
    growing = Growing()
    growing.chain(4)
    assert [node.child_count for node in growing.page().nodes] == [1, 1, 1, 0]
    growing.append(user("other"), "n2")
    nodes = growing.page(limit=9).nodes
    assert [(node.id, node.child_count, node.indent, node.last_sibling) for node in nodes] == [
        ("n1", 1, 0, True), ("n2", 2, 0, True), ("n3", 1, 1, False), ("n4", 0, 1, True), ("n5", 0, 1, True),
    ]  # fmt: skip


def test_two_pages_that_are_computed_at_the_same_time_do_not_mix() -> None:
    growing = Growing()
    growing.chain(3_000)
    session, outline = growing.session, growing.outline
    works = [
        tree_rows(session.tree, outline, session.read, filter=filter, limit=5_000)
        for filter in ("default", "userOnly")
    ]
    pages = []
    while works:
        for work in list(works):
            try:
                next(work)
            except StopIteration as end:
                works.remove(work)
                pages.append(end.value)
        if len(growing.ids) < 3_030:
            growing.append(user("late"), "n1")
    assert [len({node.id for node in page.nodes}) == page.visible_count for page in pages] == [True, True]


def test_a_page_that_is_given_up_does_not_block_the_next_one() -> None:
    growing = Growing()
    growing.chain(3_000)
    given_up = tree_rows(growing.session.tree, growing.outline, growing.session.read)
    next(given_up)
    given_up.close()
    assert growing.page().visible_count == 3_000


@pytest.mark.parametrize(
    "lines",
    [
        [assistant("text"), assistant([CALL]), assistant("  "), assistant("\u00a0"), assistant("é")],
        [
            assistant(
                [{"type": "thinking", "thinking": 'a \\"quoted\\" thought'}, {"type": "text", "text": "t"}]
            ),
            assistant([{"type": "thinking", "thinking": "t", "thinkingSignature": "s"}, CALL]),
            assistant([CALL, {"type": "text", "text": "after"}]),
        ],
        [message("assistant", "words"), message("assistant", ""), message("assistant", ["odd"])],
        [assistant("", stopReason="error"), entry("message", message=5), message("assistant", None)],
        [entry("custom_message", customType="c", content="x", display=name) for name in (True, False)],
        [
            assistant(
                [{"type": "toolCall", "id": "c", "name": "x", "arguments": {"type": "text", "text": "no"}}]
            )
        ],
    ],
)
def test_silent_turns_are_the_same_whether_blocks_or_entries_are_read(lines: list[Line]) -> None:
    session = loaded(header(), *lines, user("the end"))
    tree, by_entry, by_block = session.tree, SilentTurns(), SilentTurns()
    steps.run(by_entry.extend(tree, session.read))
    read_before = session.lines_read
    steps.run(
        by_block.extend(
            tree, session.read, lambda first, end: session.data[tree.span(first)[0] : tree.span(end - 1)[1]]
        )
    )
    assert by_block.marks(0, len(tree)) == by_entry.marks(0, len(tree))
    assert session.lines_read == read_before


def test_a_session_that_another_program_changed_is_read_entry_by_entry() -> None:
    session, silent = loaded(header(), assistant([CALL]), user("q")), SilentTurns()
    steps.run(silent.extend(session.tree, session.read, lambda _first, _end: None))
    assert (session.lines_read, silent.marks(0, 3)) == (1, bytearray([0, 1, 0]))


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.2]))
def test_chains_that_are_sorted_as_they_come_are_in_preorder(seed: int, disorder: float) -> None:
    choose, growing, chains = Choices(seed), Growing(), Chains()
    for _ in range(30):
        growing.append(user("q"), choose.parent(growing.ids, disorder))
        steps.run(chains.extend(growing.session.tree))
        steps.run(chains.sort())
    to_visit, rows = [*chains.children(NONE)][::-1], []
    while to_visit:
        rows.append(to_visit.pop())
        to_visit += [*chains.children(rows[-1])][::-1]
    assert [row for chain in chains.preorder for row in range(chains.start(chain), chains.end(chain))] == rows
