"""A tree that is restored from its open index, and then reads the rest of its log, is the tree of the whole log."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from sessiond.session.tree import mapped_columns, open_index, steps
from sessiond.session.tree.tree import NewRow, Tree
from sessiond.session.tree.turns import SilentTurns
from support.logs import Line, assistant, compaction, entry, header, label, leaf, log, tool_call, user


def tree_of(data: bytes) -> Tree:
    tree = Tree()
    tree.read(data)
    tree.finish()
    return tree


def reader_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda start, end: data[start:end]


def silent_turns(data: bytes, tree: Tree | None = None, silent: SilentTurns | None = None) -> SilentTurns:
    """The rows of a log that views omit, some of which may be known."""
    tree = tree_of(data) if tree is None else tree
    silent = SilentTurns() if silent is None else silent

    def read(rows: Sequence[int]) -> list[bytes]:
        return [tree.entry(row, data[slice(*tree.span(row))]) for row in rows]

    steps.run(silent.extend(tree, read))
    return silent


def index_of(data: bytes) -> memoryview | None:
    parts = steps.run(open_index.encode(tree_of(data), silent_turns(data), reader_of(data)))
    return None if parts is None else memoryview(b"".join(parts))


def restored(index: memoryview, data: bytes, *, unchanged: int | None = None) -> Tree | None:
    """The tree of a log that begins with the indexed lines, after its other lines have been read too."""
    found = open_index.restore(index, len(data) if unchanged is None else unchanged, reader_of(data))
    if found is None:
        return None
    found.tree.read(data[found.tree.end :])
    found.tree.finish()
    return found.tree


def picture(tree: Tree) -> Any:
    """Everything a tree says of itself."""
    rows = range(len(tree))
    names = [tree.id(row) for row in rows]
    return (
        [(tree.id(row), tree.type(row), tree.parent(row), tree.role(row), tree.span(row)) for row in rows],
        [tree.any_row(name) for name in names if name is not None], tree.any_row("absent"),
        [(tree.line(row), tree.is_entry(row)) for row in rows], tree.committed, tree.irregular,
        tree.leaf_id, tree.pending_leaf_id, tree.title, tree.tags, tree.labels, tree.auto_compact, tree.state_rows,
        tree.version, tree.header, tree.slot_title, tree.slot_updated_at,
        tree.end, tree.tail, tree.tail_is_entry, tree.problems,
    )  # fmt: skip


WHOLE = (
    header(title="First", tags=["a"]), user("q"), assistant("a"), label("e1", "mark"), compaction("sum", "e2"),
    leaf("e2"), user("r"), entry("session_info", name="Title"), user("é→"),
    entry("custom", customType="sessiond.tags", data={"tags": ["b", "c"]}),
    entry("custom", customType="sessiond.settings", data={"autoCompact": {"enabled": True}}),
)  # fmt: skip
ODD = (
    b"garbage\n", b"\n", b'{"type":"x","id":"e1","parentId":null}\n', b'{"type":"x","id":"y","parentId":"later"}\n',
    b'{"type":"x","id":"later","parentId":"y"}\n', b'{"type":"leaf","id":"l","parentId":null,"targetId":"absent"}\n',
    b'{"type":"message","id":"m","parentId":"e2","message":{"role":"user","content":"\xff"}}\n', b'{"type":"mess',
    b'{"type":"x","id":"z","parentId":"e2"}', b'{"type":"x","id":"z","parentId":"z"}\n', b"\0\0\n", b"\t\n",
)  # fmt: skip
SLOT = b'{"type":"title","v":1,"title":"Slot","updatedAt":"2026-01-01T00:00:00Z","pad":""}\n'

ENTRIES = st.lists(
    st.one_of(st.sampled_from(WHOLE[1:]), st.sampled_from(ODD), st.binary(max_size=8)), max_size=12
)


@settings(max_examples=300)
@given(st.sampled_from([b"", SLOT]), st.integers(1, len(WHOLE)), ENTRIES, st.data())
@example(b"", len(WHOLE), [], None)
@example(SLOT, len(WHOLE), list(ODD), None)
def test_any_log_opens_the_same_with_the_index_of_any_of_its_beginnings(
    slot: bytes, sound: int, more: list[Line | bytes], data: Any
) -> None:
    whole = slot + log(*WHOLE[:sound], *more)
    place = len(slot + log(*WHOLE[:sound])) if data is None else data.draw(st.integers(0, len(whole)))
    index = index_of(whole[:place])
    if index is None:
        return
    found = restored(index, whole)
    assert found is not None
    assert picture(found) == picture(tree_of(whole))


def test_an_index_has_the_rows_that_views_omit() -> None:
    call = tool_call("bash", {"command": "ls"})
    begun = log(header(), user("q"), assistant([call]), assistant("a"))
    whole = begun + log(user("r", id="r", parent="e3"), assistant([call], id="s", parent="r"))
    index = index_of(begun)
    assert index is not None
    found = open_index.restore(index, len(whole), reader_of(whole))
    assert found is not None
    assert list(found.silent.marks(0, 9)) == [0, 0, 1, 0]
    found.tree.read(whole[found.tree.end :])
    found.tree.finish()
    extended = silent_turns(whole, found.tree, found.silent)
    assert list(extended.marks(0, 9)) == list(silent_turns(whole).marks(0, 9)) == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("known", [0, 2])
def test_an_index_may_lack_the_last_rows_that_views_omit(known: int) -> None:
    data = log(header(), user("q"), assistant([tool_call("bash", {})]), assistant("a"))
    some = SilentTurns(bytes(silent_turns(data).marks(0, known)))
    parts = steps.run(open_index.encode(tree_of(data), some, reader_of(data)))
    assert parts is not None
    found = open_index.restore(memoryview(b"".join(parts)), len(data), reader_of(data))
    assert found is not None
    found.tree.finish()
    assert len(found.silent) == known
    assert list(silent_turns(data, found.tree, found.silent).marks(0, 9)) == [0, 0, 1, 0]


def test_a_log_without_problems_has_an_index() -> None:
    assert index_of(log(*WHOLE)) is not None
    assert index_of(SLOT + log(*WHOLE)) is not None


@pytest.mark.parametrize("odd", ODD)
def test_a_log_with_a_problem_has_none_and_is_read_with_all_checks(odd: bytes) -> None:
    data = log(*WHOLE) + odd
    is_unusual = tree_of(data).problems or tree_of(data).tail_is_entry
    assert (index_of(data) is None) is bool(is_unusual)


@pytest.mark.parametrize("data", [b"", log(header()), log(header(version=1), user("q")), log(user("q"))])
def test_a_log_without_entries_or_of_version_1_has_none(data: bytes) -> None:
    assert index_of(data) is None


def test_an_index_does_not_count_beyond_the_bytes_that_are_unchanged() -> None:
    data = log(*WHOLE)
    index = index_of(data)
    assert index is not None
    assert restored(index, data, unchanged=len(data)) is not None
    assert restored(index, data, unchanged=len(data) - 1) is None


def test_other_first_or_last_lines_make_an_index_useless() -> None:
    data = log(*WHOLE)
    index = index_of(data)
    assert index is not None
    for place in (data.index(b"First"), data.index(b'"custom"'), len(data) - 3):
        other = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert restored(index, other) is None


def test_an_index_of_another_version_is_not_used() -> None:
    data = log(*WHOLE)
    index = index_of(data)
    assert index is not None
    for other in (b"", b"open index 0", bytes(200), index[:15], b"X" + index[1:].tobytes()):
        assert restored(memoryview(other), data) is None


def new_row(number: int, parent_id: str | None) -> NewRow:
    line = log(user("new", id=f"new-{number}", parent=parent_id))
    return NewRow(line, "message", f"new-{number}", parent_id, "user")


def test_a_tree_may_grow_while_its_index_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_index, "ROWS_A_STEP", 2)
    data = log(*WHOLE)
    tree, expected = tree_of(data), picture(tree_of(data))
    work = open_index.encode(tree, silent_turns(data), reader_of(data))
    for number in range(1000):
        try:
            next(work)
        except StopIteration as end:
            parts = end.value
            break
        tree.attach([new_row(number, tree.pending_leaf_id)], leaf=f"new-{number}")
        tree.commit(1, leaf=f"new-{number}")
    assert len(tree) > 100
    found = restored(memoryview(b"".join(parts)), data)
    assert found is not None
    assert picture(found) == expected


def test_a_restored_tree_grows_and_rolls_back_like_any_other() -> None:
    data = log(*WHOLE)
    index = index_of(data)
    assert index is not None
    found = restored(index, data)
    assert found is not None
    whole = tree_of(data)
    for tree in (found, whole):
        tree.attach([new_row(1, tree.pending_leaf_id), new_row(2, "new-1")], leaf="new-2")
        tree.commit(1, leaf="new-1")
        tree.attach([new_row(3, "e2")], leaf="new-3")
    assert picture(found) == picture(whole)
    found.roll_back()
    whole.roll_back()
    assert picture(found) == picture(whole)


def test_ids_with_equal_hashes_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_columns, "hash_of", lambda _: 7)
    data = log(*WHOLE)
    index = index_of(data)
    assert index is not None
    found = restored(index, data)
    assert found is not None
    assert picture(found) == picture(tree_of(data))


def test_a_log_whose_ids_would_be_found_slowly_has_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_columns, "hash_of", lambda _: 7)
    assert index_of(log(header(), *[user("q") for _ in range(mapped_columns.MAX_EQUAL_HASHES)])) is not None
    assert index_of(log(header(), *[user("q") for _ in range(mapped_columns.MAX_EQUAL_HASHES + 1)])) is None


def test_ids_that_cannot_be_sorted_in_steps_give_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)
    monkeypatch.setattr(open_index, "SPARE_IN_BUCKET", 0)
    data = log(header(), *[user("q", id=f"{chance.getrandbits(32):08x}") for _ in range(2000)])
    assert index_of(data) is not None
    monkeypatch.setattr(mapped_columns, "hash_of", lambda name: len(name) << 20 | chance.getrandbits(20))
    assert index_of(data) is None
