"""The union of two copies of a session: both end with the same lines and say the same, whoever did what before."""

import json  # noqa: TID251 - the tests' own reader is not the daemon's
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, strategies as st

from sessiond.session.tree.steps import run
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import LineSum, as_batch, comparable, lines_in, store_digest
from sessiond.session.union.difference import LineKey, own_lines, parents_of
from sessiond.session.union.log_position import read_position
from sessiond.session.union.merge import ancestry, merge, read_own, tags_in
from sessiond.session.union.whole_log import whole_log

HEADER = (
    b'{"type":"session","version":3,"id":"a-session","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n'
)


@dataclass
class Copy:
    """One copy of a session, with a clock of its own that may be days away from the other's."""

    name: str
    days: int = 1
    lines: list[bytes] = field(default_factory=list)
    _written: int = 0

    @property
    def tree(self) -> Tree:
        tree = Tree()
        tree.read(HEADER + b"".join(line + b"\n" for line in self.lines))
        tree.finish()
        return tree

    def write(self, kind: str, **fields: Any) -> str:
        """Append an entry at the leaf. Returns its id."""
        self._written += 1
        name = f"{self.name}{self._written}"
        parent = fields.pop("parent", self.tree.leaf_id)
        stamp = f"2026-02-{self.days:02}T00:{self._written // 60:02}:{self._written % 60:02}.000Z"
        entry = {"type": kind, "id": name, "parentId": parent, "timestamp": stamp, **fields}
        self.lines.append(json.dumps(entry, separators=(",", ":")).encode())
        return name

    def say(self, text: str = "hello", **fields: Any) -> str:
        return self.write("message", message={"role": "user", "content": text}, **fields)

    def branch(self, target: str | None) -> str:
        return self.write("leaf", parent=target, targetId=target)

    def tag(self, *tags: str) -> str:
        return self.write("custom", customType="sessiond.tags", data={"tags": list(tags)})

    def title(self, name: str) -> str:
        return self.write("session_info", name=name)

    def label(self, target: str, text: str) -> str:
        return self.write("label", targetId=target, label=text)

    @property
    def says(self) -> tuple[Any, ...]:
        tree = self.tree
        labels = {name: label.text for name, label in tree.labels.items()}
        return tree.leaf_id, tree.title, tree.tags, labels, tree.auto_compact

    def keys(self) -> list[LineKey]:
        tree = self.tree
        return [
            LineKey(row, tree.id(row), line.hex(), tree.parent(row)) for row, line in enumerate(self.lines, 1)
        ]


def merged(here: Copy, there: Copy) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """The own lines of both copies, and the lines that both get after them."""
    keys = here.keys(), there.keys()
    own = own_lines(*keys), own_lines(*reversed(keys))
    assert not own[0].refused
    mine, theirs = (
        [copy.lines[seq - 1] for seq in own.seqs] for copy, own in zip((here, there), own, strict=True)
    )
    common = [tags for row, line in enumerate(here.lines, 1)
              if row not in own[0].seqs and (tags := tags_in(line)) is not None]  # fmt: skip
    lines = merge(
        read_own(mine), read_own(theirs), here.tree.leaf_id, there.tree.leaf_id,
        common_tags=common[-1] if common else [], is_above=ancestry(map(parents_of, keys)),
    )  # fmt: skip
    return mine, theirs, lines


def sync(here: Copy, there: Copy, *, push: bool = True, pull: bool = True) -> int:
    """Bring two copies together. Returns how many lines were written."""
    mine, theirs, lines = merged(here, there)
    if push:
        there.lines += [*mine, *lines]
    if pull:
        here.lines += [*theirs, *lines]
    return push * (len(mine) + len(lines)) + pull * (len(theirs) + len(lines))


def copies(*, days: tuple[int, int] = (1, 1)) -> tuple[Copy, Copy]:
    """Two copies that have the same four messages."""
    here = Copy("a", days[0])
    for text in ("one", "two", "three", "four"):
        here.say(text)
    return here, Copy("b", days[1], list(here.lines))


def test_changes_of_one_side_only_hold_whatever_the_clocks() -> None:
    here, there = copies(days=(1, 20))
    here.title("new name")
    here.tag("kept")
    here.label("a2", "mark")
    leaf = here.branch("a2")
    sync(here, there)
    assert here.says == there.says == ("a2", "new name", ("kept",), {"a2": "mark"}, None)
    assert here.lines[-1] == there.lines[-1]
    assert leaf in here.lines[-1].decode()


def test_entries_of_both_sides_become_branches_and_the_later_leaf_is_the_leaf() -> None:
    here, there = copies(days=(1, 2))
    here.say("mine")
    last = there.say("theirs")
    sync(here, there)
    assert here.says == there.says
    assert here.tree.leaf_id == last
    assert here.tree.parent(here.tree.row("a5") or 0) == here.tree.parent(here.tree.row("b1") or 0)


def test_the_deeper_of_two_leaves_is_the_leaf_if_one_is_above_the_other() -> None:
    here, there = copies(days=(9, 1))
    here.branch("a2")
    last = there.say("deeper, and earlier by its clock")
    sync(here, there)
    assert here.tree.leaf_id == there.tree.leaf_id == last


def test_two_branches_to_the_same_entry_are_merged_to_the_same_line_from_both_sides() -> None:
    here, there = copies(days=(22, 14))
    here.branch("a1")
    there.branch("a1")
    assert merged(here, there)[2] == merged(there, here)[2]


def test_tags_of_both_sides_are_added_and_removed() -> None:
    here, there = copies()
    here.tag("common", "old")
    sync(here, there)
    here.tag("common", "old", "mine")
    there.tag("common", "theirs")
    sync(here, there)
    assert here.tree.tags == there.tree.tags == ("common", "mine", "theirs")


def test_the_later_of_two_titles_and_of_two_labels_holds() -> None:
    here, there = copies(days=(3, 2))
    here.title("later")
    there.title("earlier")
    here.label("a1", "later")
    there.label("a1", "earlier")
    there.label("a2", "only there")
    sync(here, there)
    assert here.says == there.says
    assert (here.tree.title, here.tree.labels["a1"].text, here.tree.labels["a2"].text) == (
        "later", "later", "only there",
    )  # fmt: skip


def test_a_line_with_the_same_id_and_other_content_is_refused_by_both() -> None:
    here, there = copies()
    here.lines.append(
        b'{"type":"message","id":"same","parentId":null,"timestamp":"t","message":{"role":"user"}}'
    )
    there.lines.append(
        b'{"type":"message","id":"same","parentId":"a1","timestamp":"t","message":{"role":"user"}}'
    )
    own = own_lines(here.keys(), there.keys())
    assert (own.seqs, own.refused) == ([], ["same"])
    assert own_lines(there.keys(), here.keys()).refused == ["same"]


def test_a_second_line_under_an_id_travels_if_the_first_is_known() -> None:
    here, there = copies()
    here.lines.append(here.lines[3].replace(b"four", b"other"))
    own = own_lines(here.keys(), there.keys())
    assert (own.seqs, own.superseding, own.refused) == ([5], ["a4"], [])
    assert own_lines(there.keys(), here.keys()).seqs == []


ACTIONS: tuple[Callable[[Copy, random.Random], object], ...] = (
    lambda copy, dice: copy.say(str(dice.random())),
    lambda copy, dice: copy.say("elsewhere", parent=_any(copy, dice)),
    lambda copy, dice: copy.branch(_any(copy, dice)),
    lambda copy, dice: copy.title(f"title {dice.randrange(3)}"),
    lambda copy, dice: copy.tag(*dice.sample(("x", "y", "z", "w"), dice.randrange(4))),
    lambda copy, dice: copy.label(_any(copy, dice) or "a1", dice.choice(("", "one", "two"))),
    lambda copy, dice: copy.write(
        "custom", customType="sessiond.settings", data={"autoCompact": {"enabled": dice.random() < 0.5}}
    ),
)  # fmt: skip


def _any(copy: Copy, dice: random.Random) -> str | None:
    tree = copy.tree
    return dice.choice([None, *filter(None, (tree.id(row) for row in range(1, tree.committed)))])


@given(
    st.integers(),
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(("work", "work", "work", "sync", "push"))), max_size=25
    ),
)
def test_copies_converge_whatever_was_done_on_each_and_in_whichever_order_they_met(
    seed: int, steps: list[tuple[int, str]]
) -> None:
    dice = random.Random(seed)
    first, second = copies(days=(dice.randrange(1, 28), dice.randrange(1, 28)))
    everyone = [first, second, Copy("c", dice.randrange(1, 28), list(first.lines))]
    for place, what in steps:
        copy, other = everyone[place], everyone[(place + 1 + dice.randrange(2)) % 3]
        if what == "work":
            dice.choice(ACTIONS)(copy, dice)
        else:
            sync(copy, other, pull=what == "sync")
    for one, two in ((0, 1), (1, 2), (0, 1), (0, 2)):
        sync(everyone[one], everyone[two])
    assert {frozenset(copy.lines) for copy in everyone} == {frozenset(first.lines)}
    assert all(len(copy.lines) == len(set(copy.lines)) for copy in everyone)
    assert first.says == second.says == everyone[2].says
    assert not first.tree.problems
    assert sync(first, second) == sync(second, everyone[2]) == 0


@given(st.integers(), st.integers(1, 8), st.integers(1, 8))
def test_the_merge_is_the_same_from_both_sides(seed: int, many: int, more: int) -> None:
    dice = random.Random(seed)
    here, there = copies(days=(dice.randrange(1, 28), dice.randrange(1, 28)))
    for copy, count in ((here, many), (there, more)):
        for _ in range(count):
            dice.choice(ACTIONS)(copy, dice)
    assert merged(here, there)[2] == merged(there, here)[2]


@given(st.integers(), st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_a_cut_between_the_two_directions_is_completed_by_the_next_sync(
    seed: int, many: int, more: int, pushed: bool
) -> None:
    dice = random.Random(seed)
    here, there = copies(days=(dice.randrange(1, 28), dice.randrange(1, 28)))
    for copy, count in ((here, many), (there, more)):
        for _ in range(count):
            dice.choice(ACTIONS)(copy, dice)
    sync(here, there, push=pushed, pull=not pushed)
    reached = (there if pushed else here).says
    sync(here, there)
    assert here.says == there.says == reached
    assert sync(here, there) == 0


@given(st.permutations(range(6)))
def test_the_digest_does_not_depend_on_the_order_of_lines_or_on_the_marks_of_batches(
    order: Sequence[int],
) -> None:
    lines = [b'{"id":"%d"}' % number for number in range(6)]
    shuffled = [lines[place] for place in order]
    once, again = LineSum(), LineSum()
    once.add(lines)
    again.add(lines_in(as_batch(shuffled)))
    again.add(shuffled)
    assert (once.count, once.digest) == (again.count, again.digest) == (6, once.digest)


def test_a_torn_line_and_an_incomplete_batch_do_not_count() -> None:
    copy, _ = copies()
    whole = HEADER + b"".join(line + b"\n" for line in copy.lines)
    position = run(read_position(whole))
    assert position.line_count == 4
    assert run(read_position(whole + b'{"type":"mess')) == position
    assert (
        run(read_position(whole + as_batch([b'{"type":"x","id":"p"}'] * 2).split(b"\n")[0] + b"\n"))
        == position
    )


def test_the_digest_of_a_store_has_no_order() -> None:
    sessions = [("one", 3, "0" * 64), ("two", 4, "1" * 64)]
    assert store_digest(sessions) == store_digest(reversed(sessions)) != store_digest(sessions[:1])


def test_a_line_of_a_batch_is_compared_without_its_mark() -> None:
    assert comparable(b'{"a":1\t}\n') == comparable(b'{"a":1}\n') == b'{"a":1}'


_ODD_LINES = st.lists(
    st.sampled_from(
        [
            b'{"type":"custom","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}',
            b'{"type":"custom","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","customType":"x"\t}',
            b"", b"  ", b"\xff\xfe", b"\0\0\0", b"[1]", b'{"type":"title","v":1,"title":"t"}', b'{"id":"c"}', b"\t}",
        ]
    ),
    max_size=6,
)  # fmt: skip


@given(before=_ODD_LINES, after=_ODD_LINES, end=st.sampled_from([b"\n", b"", b"\t}\n"]))
def test_lines_that_are_taken_without_a_tree_are_those_of_the_tree(
    before: list[bytes], after: list[bytes], end: bytes
) -> None:
    data = b"".join(line + b"\n" for line in before) + HEADER + b"\n".join(after) + end
    taken = whole_log(data, "a-session")
    if taken is None:
        return
    tree = Tree()
    tree.read(data)
    tree.finish(settled=False)
    assert taken.head == data[: tree.span(0)[1]]
    rows = [data[slice(*tree.span(row))] for row in range(1, tree.committed)]
    assert lines_in(taken.lines) == [comparable(row) for row in rows if row.strip()]
    lines = LineSum()
    lines.add(lines_in(taken.lines))
    assert run(read_position(data)).digest == lines.digest


def test_an_ordinary_log_is_taken_without_a_tree() -> None:
    line = b'{"type":"custom","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"%s}\n'
    taken = whole_log(HEADER + line % b"\t" + line % b"", "a-session")
    assert taken == (HEADER, line % b"" + line % b"")
    assert whole_log(HEADER + line % b"", "another-session") is None
    assert whole_log(HEADER + line % b"" + line % b"\t", "a-session") is None
