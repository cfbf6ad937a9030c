"""The checkers of histories: they accept what a correct log does, and find each fault that is planted."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from support.linearizability import ANYWHERE, UNANSWERED, Append, Read, faults_of, find_order


def stored(name: str, seq: int, called: float, answered: float, expected: str | None = ANYWHERE) -> Append:
    return Append((name,), called, answered, "stored", (seq,), expected)


@st.composite
def histories(draw: st.DrawFn, *, longest: int = 12) -> tuple[list[Append], list[str]]:
    """The operations of several clients on a correct log, and the log. Each takes effect at a moment of its own."""
    log: list[str] = []
    operations: list[Append] = []
    for moment in range(draw(st.integers(2, longest))):
        before, after = draw(st.floats(0, 5)), draw(st.floats(0.01, 5))
        called, answered = moment - before, moment + after
        names = tuple(f"e{moment}-{number}" for number in range(draw(st.integers(1, 3))))
        leaf = log[-1] if log else None
        match draw(st.sampled_from(["append", "expects", "conflict", "retry", "unknown", "lost"])):
            case "expects":
                operations.append(Append(names, called, answered, "stored", _seqs(log, names), leaf))
                log += names
            case "conflict" if log:
                wrong = draw(st.sampled_from([None, *log[:-1]]))
                operations.append(Append(names, called, answered, "conflict", (), wrong, leaf))
            case "retry" if log:
                name = draw(st.sampled_from(log))
                operations.append(stored(name, log.index(name) + 1, called, answered))
            case "unknown":
                operations.append(Append(names, called, outcome="unknown"))
                log += names
            case "lost":
                operations.append(Append(names, called, outcome="unknown"))
            case _:
                operations.append(Append(names, called, answered, "stored", _seqs(log, names)))
                log += names
    return draw(st.permutations(operations)), log


def _seqs(log: list[str], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(range(len(log) + 1, len(log) + 1 + len(names)))


@given(histories())
def test_a_correct_history_has_an_order_and_no_faults(history: tuple[list[Append], list[str]]) -> None:
    operations, log = history
    assert find_order(operations) is not None
    reads = [Read("r", tuple((seq, name) for seq, name in enumerate(log, 1)))]
    assert faults_of(operations, reads, log) == []


A, B, C = stored("a", 1, 0, 1), stored("b", 2, 2, 3), stored("c", 3, 4, 5)


def test_an_order_follows_the_answers() -> None:
    assert find_order([C, A, B]) == [1, 2, 0]


@pytest.mark.parametrize(
    ("operations", "fault"),
    [
        ([A, replace(B, seqs=(1,)), C], "two entries with one seq"),
        ([A, replace(B, seqs=(3,)), replace(C, seqs=(2,))], "an order against time"),
        ([A, C], "a seq that nobody has"),
        ([A, replace(B, expected=None), C], "an expected leaf that was not the leaf"),
        ([A, B, replace(C, outcome="conflict", seqs=(), expected="a", leaf="a")], "a conflict with an old leaf"),
        ([A, B, replace(C, outcome="conflict", seqs=(), expected="b", leaf="b")], "a conflict without one"),
        ([A, B, stored("a", 3, 6, 7)], "a retry that was stored again"),
        ([A, replace(B, names=("b", "x"), seqs=(2, 4)), C], "a batch that is torn apart"),
        ([A, Append(("u",), 1.5), replace(B, seqs=(4,)), C], "an unknown append that counts twice"),
        ([A, Append(("u",), 6), replace(B, seqs=(3,)), replace(C, seqs=(4,))], "an effect before the call"),
    ],
)  # fmt: skip
def test_the_search_finds_a_planted_fault(operations: list[Append], fault: str) -> None:
    assert find_order(operations) is None, fault


def test_an_unanswered_append_may_have_taken_effect_or_not() -> None:
    unknown = Append(("u",), 1.5)
    assert find_order([A, unknown, B, C]) is not None
    assert find_order([A, unknown, replace(B, seqs=(3,)), replace(C, seqs=(4,))]) is not None
    assert unknown.answered == UNANSWERED


LOG = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("operations", "lines", "log"),
    [
        ([A, B, C], [(1, "a"), (2, "b"), (3, "c")], ["a", "c"]),  # a loss
        ([A, B, C], [(1, "a"), (2, "b"), (3, "c")], ["a", "b", "c", "b"]),  # a double
        ([A, B, C], [], ["a", "b", "c", "x"]),  # a line of nobody
        ([A, replace(C, seqs=(2,)), replace(B, seqs=(3,))], [], ["a", "c", "b"]),  # against time
        ([A, B, C], [(1, "a"), (3, "c")], LOG),  # a gap for a reader
        ([A, B, C], [(1, "a"), (2, "b"), (2, "b")], LOG),  # a line that is shown twice
        ([A, B, C], [(1, "a"), (2, "c")], LOG),  # another line than the log has
        ([A, B, replace(C, outcome="refused", seqs=())], [], LOG),  # refused and stored
        ([A, B, Append(("c", "d"), 6)], [], LOG),  # half a batch
    ],
)  # fmt: skip
def test_the_witness_finds_a_planted_fault(
    operations: list[Append], lines: list[tuple[int, str]], log: list[str]
) -> None:
    assert faults_of([A, B, C], [Read("r", ((1, "a"), (2, "b"))), Read("r", ((3, "c"),))], LOG) == []
    assert faults_of(operations, [Read("r", tuple(lines))], log) != []
