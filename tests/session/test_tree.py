"""A log read as a tree, and a tree that grows."""

import itertools
import json  # noqa: TID251  (lines hold lone surrogates, which msgspec refuses)
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, NewRow, Tree
from support.logs import (
    Line,
    Loaded,
    assistant,
    compaction,
    entry,
    header,
    label,
    leaf,
    loaded,
    log,
    user,
)


def fed(*pieces: bytes) -> Tree:
    tree = Tree()
    for piece in pieces:
        tree.read(piece)
    tree.finish()
    return tree


def picture(tree: Tree) -> Any:
    """Everything a tree says of itself."""
    rows = range(len(tree))
    return (
        [(tree.id(row), tree.type(row), tree.parent(row), tree.role(row), tree.span(row)) for row in rows],
        tree.leaf_id, tree.title, tree.tags, tree.labels, tree.version, tree.header, tree.slot_title,
        tree.end, tree.tail, tree.tail_is_entry, tree.problems,
    )  # fmt: skip


SAMPLE = log(
    header(), user("q"), assistant("a"), label("e1", "mark"), compaction("sum", "e2"), leaf("e2"),
    user("r"), b"garbage\n", b"\n", entry("session_info", name="Title"),
    b'{"type":"x","id":"\\ud800","parentId":"e1"}\n',
)  # fmt: skip

LINES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            *SAMPLE.splitlines(), b"", b"[]", b"\0\0", b"{",
            b"\xef\xbb\xbf{}", b'{"type":"session","id":"s"}',
            b'{"type":"title","title":"T"}', b'{"type":"message","id":"e1","parentId":"e9"}',
            b'{"type":"custom","id":"e9","parentId":"e1"}', b'{"type":"leaf","id":"l","targetId":"e9"}',
            b'{"type":"session","version":1,"id":"old"}', b'{"type":"message","message":5}',
        ]
    ),
)  # fmt: skip
LOGS = st.lists(LINES, max_size=8).map(b"\n".join)


@given(LOGS, st.data())
@example(SAMPLE, None)
def test_any_bytes_are_read_the_same_however_they_are_cut(data: bytes, cuts: Any) -> None:
    places = (
        [len(data) // 2]
        if cuts is None
        else sorted(cuts.draw(st.lists(st.integers(0, len(data)), max_size=6)))
    )
    pieces = [data[start:end] for start, end in itertools.pairwise([0, *places, len(data)])]
    assert picture(fed(*pieces)) == picture(fed(data))


@given(LOGS)
def test_rows_cover_the_log_without_gaps(data: bytes) -> None:
    tree = fed(data)
    spans = [tree.span(row) for row in range(len(tree))]
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))
    assert spans[-1][1] == tree.end
    assert data[tree.end :] == tree.tail


@given(LOGS)
def test_the_rows_of_any_log_can_be_shown(data: bytes) -> None:
    session = Loaded(data)
    for row in range(1, len(session.tree)):
        (shown,) = session.read([row])
        shown.decode()
        assert steps.run(steps.path(session.tree, row)) == session.tree.path(row)
        if session.tree.is_entry(row):
            assert json.loads(shown)["id"] == session.tree.id(row)


def test_a_log_cut_at_any_byte_gives_the_entries_before_the_cut() -> None:
    whole = [entry["id"] for entry in Loaded(SAMPLE).entries()]
    for place in range(len(SAMPLE)):
        session = Loaded(SAMPLE[:place])
        ids = [entry["id"] for entry in session.entries()]
        assert ids == whole[: len(ids)]
        assert len(session.tree) == max(
            1, SAMPLE[: session.tree.end].count(b"\n") + session.tree.tail_is_entry
        )


def test_lines_that_are_no_entries_are_rows_and_problems_with_their_place() -> None:
    bad = [b"{torn\n", b'"text"\n', b'{"id":"x"}\n', b'{"type":"x"}\n', b'{"type":"x","id":7}\n', b"\0\0\n"]
    session = loaded(header(), *bad, b"\n", user("q"))
    offsets = [log(header(), *bad[:place]) for place in range(len(bad))]
    assert [(found.line, found.offset) for found in session.tree.problems] == [
        (place + 2, len(before)) for place, before in enumerate(offsets)
    ]
    assert session.ids(session.tree.path(session.tree.leaf)) == ["e1"]
    assert session.tree.count_entries() == 1


def test_a_torn_last_line_is_a_tail_and_a_whole_one_is_an_entry() -> None:
    whole = log(header(), user("q"))
    torn = fed(whole + b'{"type":"mess')
    assert (torn.tail, torn.leaf_id, [found.line for found in torn.problems]) == (b'{"type":"mess', "e1", [3])
    lacking = fed(whole[:-1])
    assert (lacking.tail, lacking.leaf_id, lacking.tail_is_entry) == (b"", "e1", True)


def test_reading_goes_on_where_another_program_wrote_on() -> None:
    data = log(header(), user("q"), assistant("a"))
    for place in range(len(data)):
        tree = fed(data[:place])
        if tree.damaged:
            continue
        tree.read(data[tree.end :])
        tree.finish()
        assert picture(tree) == picture(fed(data))


def _piece(name: str, kind: str) -> bytes:
    line = log(entry("message", id=name, parentId=None, message={"role": "user", "content": name}))
    whole, without_newline, half = line, line[:-1], line[: len(line) // 2]
    return {"line": whole, "no newline": without_newline, "half": half, "newline": b"\n"}[kind]


@given(st.lists(st.sampled_from(["line", "no newline", "half", "newline"]), max_size=8), st.booleans())
@example(["no newline", "half", "newline", "line"], False)
@example(["no newline", "no newline", "line"], False)
def test_for_any_pieces_that_programs_append_each_row_is_one_line_of_the_file(
    kinds: list[str], ends_settled: bool
) -> None:
    pieces = [log(header()), *(_piece(f"p{number}", kind) for number, kind in enumerate(kinds))]
    tree, data = Tree(), b""
    for piece in pieces:
        data += piece
        tree.read(data[tree.end :])
        tree.finish(settled=False)
    if ends_settled:
        tree.settle_tail()
        assert picture(tree) == picture(fed(data))
    assert len(tree) == data.count(b"\n") + tree.tail_is_entry
    assert data[: tree.end].count(b"\n") + tree.tail_is_entry == len(tree)


def test_a_last_line_that_lacks_its_newline_is_an_entry_only_after_it_has_settled() -> None:
    tree = Tree()
    tree.read(log(header(), user("q"))[:-1])
    tree.finish(settled=False)
    assert (len(tree), tree.tail_may_be_entry, tree.problems, tree.facts()) == (1, True, [], None)
    tree.settle_tail()
    assert (len(tree), tree.leaf_id, tree.tail_is_entry, tree.tail_may_be_entry) == (2, "e1", True, False)


@pytest.mark.parametrize(
    "first",
    [
        b"", b"\n", b"text\n", b'{"type":"message","id":"e0"}\n', b'{"type":"session"}\n',
        b'{"type":"session","id":5}\n',
    ],
)  # fmt: skip
def test_without_a_valid_header_a_log_is_damaged_but_its_entries_are_there(first: bytes) -> None:
    session = Loaded(first + log(user("q")))
    assert session.tree.damaged
    assert session.tree.problems
    assert session.tree.row("e1") is not None


@pytest.mark.parametrize("version", ["x", [], {}])
def test_a_version_that_is_no_number_is_damage(version: Any) -> None:
    assert loaded(header(version=version)).tree.damaged


def test_a_title_slot_is_read_before_the_header() -> None:
    slot = b'{"type":"title","v":1,"title":"Slot","pad":"  "}\n'
    session = Loaded(slot + log(header(title="Header"), user("q")))
    assert (session.tree.slot_title, session.tree.title, session.tree.leaf_id) == ("Slot", "Slot", "e1")
    assert not session.tree.damaged
    assert fed(slot).damaged


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([header(title="Header")], "Header"),
        ([header(title="Header"), entry("session_info", name="Info")], "Info"),
        ([header(), entry("session_info", name="  "), entry("title_change", title=" Changed ")], "Changed"),
        ([header(title="Header"), entry("session_info")], None),
        ([header(), entry("session_info", name=5)], None),
    ],
)
def test_the_last_title_counts(lines: list[Line], title: str | None) -> None:
    assert loaded(*lines).tree.title == title


def test_the_last_label_counts_and_an_empty_one_removes_it() -> None:
    session = loaded(
        header(),
        user("q"),
        user("r"),
        label("e1", "one"),
        label("e1", "two"),
        label("e2", "x"),
        label("e2", ""),
    )
    assert {target: found.text for target, found in session.tree.labels.items()} == {"e1": "two"}
    assert session.tree.labels["e1"].row == session.row("e4")


def test_a_leaf_line_moves_the_leaf_until_something_is_appended() -> None:
    moved = [header(), user("q"), assistant("a"), leaf("e1")]
    assert loaded(*moved).tree.leaf_id == "e1"
    assert loaded(*moved, leaf(None)).tree.leaf_id is None
    assert loaded(*moved, user("r", parent="e1")).tree.leaf_id == "e4"
    lost = loaded(*moved, leaf("nowhere"))
    assert lost.tree.problems
    assert loaded(*moved, entry("leaf")).tree.id(4) == "e4"


def test_parents_that_come_later_are_found_and_missing_ones_are_problems() -> None:
    session = loaded(
        header(), user("child", parent="e2"), user("parent", parent=None), user("orphan", parent="x")
    )
    assert session.ids(session.tree.path(session.row("e1"))) == ["e2", "e1"]
    assert session.ids(session.tree.path(session.row("e3"))) == ["e3"]
    assert [found.severity for found in session.tree.problems] == ["warning"]


@pytest.mark.parametrize("parent", [5, ["e1"], {"id": "e1"}, "e2"])
def test_a_parent_that_cannot_be_one_makes_a_root_and_a_problem(parent: Any) -> None:
    session = loaded(header(), user("q"), user("r", parent=parent))
    assert session.tree.parent(session.row("e2")) == NONE
    assert session.tree.problems


def test_of_entries_with_one_id_the_last_one_counts() -> None:
    session = loaded(
        header(), user("q"), user("old", id="x"), user("new", id="x", parent="e1"), user("on", parent="x")
    )
    assert session.tree.path(session.tree.leaf) == [1, 3, 4]
    assert [session.tree.is_entry(row) for row in range(5)] == [False, True, False, True, True]


def test_the_tree_counts_messages_entries_and_lines() -> None:
    session = loaded(header(), user("q"), assistant("a"), b"bad\n", entry("custom"), user("r", parent="e1"))
    tree = session.tree
    assert (tree.count_messages(), tree.count_entries(), tree.seq) == (3, 4, 5)
    assert (next(tree.user_rows(1)), tree.last_message(), tree.has_assistant()) == (1, 5, True)
    assert Tree().seq == -1


def test_long_ago_written_sizes_and_times_are_read_in_seconds() -> None:
    tree = fed(log(header(), *(user("q") for _ in range(50_000))))
    assert len(tree.path(tree.leaf)) == 50_000


# --- migration --------------------------------------------------------------------------------------------


def old(*lines: bytes, version: Any = None) -> Loaded:
    head = json.dumps({"type": "session", "id": "old", **({} if version is None else {"version": version})})
    return Loaded(head.encode() + b"\n" + b"".join(line + b"\n" for line in lines))


def test_version_1_gets_ids_a_linear_chain_and_an_id_for_the_first_kept_index() -> None:
    session = old(
        b'{"type":"message","message":{"role":"user","content":"q"}}', b"bad",
        b'{"type":"message","message":{"role":"hookMessage","content":"h"}}',
        b'{"type":"compaction","summary":"s","firstKeptEntryIndex":2,"tokensBefore":1}',
    )  # fmt: skip
    first, second, third = session.entries()
    assert (first["parentId"], second["parentId"], third["parentId"]) == (None, first["id"], second["id"])
    assert second["message"]["role"] == "custom"
    assert third["firstKeptEntryId"] == second["id"]
    assert "firstKeptEntryIndex" not in third


@pytest.mark.parametrize("index", [0, 9, -1, "2", None, 1.0])
def test_an_index_of_no_entry_gives_no_id(index: Any) -> None:
    line = json.dumps({"type": "compaction", "summary": "s", "firstKeptEntryIndex": index}).encode()
    assert "firstKeptEntryId" not in old(line).entries()[0]


def test_two_readers_of_version_1_agree_on_ids() -> None:
    lines = [b'{"type":"message","message":{"role":"user"}}', b'{"type":"custom"}']
    assert old(*lines).entries() == old(*lines).entries()


def test_version_2_renames_a_role_and_keeps_ids_and_version_3_is_left_alone() -> None:
    line = b'{"type":"message","id":"x","parentId":null,"message":{"role":"hookMessage"}}'
    assert old(line, version=2).entries()[0]["message"]["role"] == "custom"
    assert old(line, version=2).entries()[0]["id"] == "x"
    assert old(line, version=3).entries()[0]["message"]["role"] == "hookMessage"
    assert old(line, version="2").entries()[0]["message"]["role"] == "custom"
    assert old(line, version=4).entries()[0]["message"]["role"] == "hookMessage"


def test_a_lone_surrogate_in_an_old_line_survives() -> None:
    line = b'{"type":"message","message":{"role":"user","content":"\\ud83d"}}'
    assert old(line).entries()[0]["message"]["content"] == "\ud83d"


# --- growing ----------------------------------------------------------------------------------------------


class Growing(RuleBasedStateMachine):
    """Attach, commit and roll back against the same log read anew."""

    def __init__(self) -> None:
        super().__init__()
        self.data = log(header(), user("q"))
        self.tree = fed(self.data)
        self.pending: list[tuple[NewRow, str | None]] = []
        self.numbers = itertools.count(1)

    @rule(data=st.data(), kind=st.sampled_from(["user", "assistant", "label", "session_info", "leaf"]))
    def attach(self, data: st.DataObject, kind: str) -> None:
        known = ["e1", *(new.id for new, _ in self.pending)]
        parent = data.draw(st.sampled_from([None, *known]))
        name = f"n{next(self.numbers)}"
        line = {
            "user": user("q"), "assistant": assistant("a"), "label": label("e1", name),
            "session_info": entry("session_info", name=name), "leaf": leaf(parent),
        }[kind] | {"id": name, "parentId": parent}  # fmt: skip
        role = line["message"]["role"] if "message" in line else None
        new = NewRow(log(line), line["type"], name, parent, role)
        goes_to = parent if kind == "leaf" else name
        self.tree.attach([new], leaf=goes_to)
        self.pending.append((new, goes_to))
        assert self.tree.pending_leaf_id == goes_to
        assert self.tree.row(name) is None
        assert self.tree.any_row(name) is not None

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.pending)))
        batch, self.pending = self.pending[:count], self.pending[count:]
        self.data += b"".join(new.line for new, _ in batch)
        self.tree.commit(count, leaf=batch[-1][1])

    @precondition(lambda self: self.pending)
    @rule()
    def roll_back(self) -> None:
        self.tree.roll_back()
        self.pending.clear()
        assert self.tree.pending_leaf_id == self.tree.leaf_id

    @invariant()
    def what_is_committed_is_what_a_reader_of_the_log_sees(self) -> None:
        anew, tree = fed(self.data), self.tree
        assert tree.committed == len(anew)
        for row in range(tree.committed):
            assert (tree.id(row), tree.kind(row), tree.role(row)) == (
                anew.id(row),
                anew.kind(row),
                anew.role(row),
            )
            assert (tree.parent(row), tree.span(row)) == (anew.parent(row), anew.span(row))
        assert (tree.leaf_id, tree.title, tree.labels, tree.seq) == (
            anew.leaf_id,
            anew.title,
            anew.labels,
            anew.seq,
        )
        assert tree.count_messages() == anew.count_messages()
        assert tree.end == len(self.data) + sum(len(new.line) for new, _ in self.pending)


GrowingTest = Growing.TestCase
GrowingTest.settings = settings(max_examples=40, stateful_step_count=20)


def test_of_very_many_problems_the_first_thousand_are_listed() -> None:
    problems = fed(log(header()), b"no entry\n" * 5_000).problems
    assert len(problems) == 1_001
    assert (problems[999].line, problems[1_000].line, problems[1_000].severity) == (1_001, 1_002, "warning")
