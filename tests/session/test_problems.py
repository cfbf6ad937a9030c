"""Problems of a log are told by kind, so that programs need not read sentences."""

from typing import get_args

import pytest

from sessiond.session.tree.log_inspection import log_problems
from sessiond.session.tree.problem_list import MAX_PROBLEMS
from sessiond.session.tree.problems import PROBLEMS, ProblemKind
from support.logs import Line, Loaded, assistant, header, loaded, log, user

ANOTHER = b'{"type":"custom","id":"c","parentId":"e2"}\n'
WHOLE = log(header(), user("q"), assistant("a"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (WHOLE, []),
        (b"", [("emptyLog", 1)]),
        (b"text\n" + log(user("q")), [("damagedHeader", 1)]),
        (b"\n" + log(user("q")), [("damagedHeader", 1)]),
        (b'{"type":"session"}\n' + log(user("q")), [("damagedHeader", 1)]),
        (b'{"type":"sess', [("damagedHeader", 1), ("tornLine", 1)]),
        (WHOLE + b"{broken\n" + ANOTHER, [("damagedLine", 4)]),
        (WHOLE + b"\0\0\n" + ANOTHER, [("nulBytes", 4)]),
        (WHOLE + b"[1]\n", [("notAnEntry", 4)]),
        (WHOLE + b'{"type":"x"}\n', [("notAnEntry", 4)]),
        (WHOLE + b'{"id":"x"}\n', [("notAnEntry", 4)]),
        (WHOLE + b'{"type":"x","id":"\\ud800"}\n', [("notAnEntry", 4)]),
        (WHOLE + b'{"type":"custom","id":"c","data":"\xff"}\n', [("invalidUtf8", 4)]),
        (WHOLE + b'{"type":"label","id":"c","targetId":"e1","label":"caf\xc3"}', [("invalidUtf8", 4)]),
        (b'{"type":"title","title":"\xe9"}\n' + WHOLE, [("invalidUtf8", 1)]),
        (WHOLE.replace(b"/home/dev", b"/home/\xe9\xe9"), [("invalidUtf8", 1)]),
        (b'{"type":"title","title":""}\n' + WHOLE.replace(b"/home/dev", b"/home/\xe9"), [("invalidUtf8", 2)]),
        (WHOLE + b'{"type":"mess', [("tornLine", 4)]),
        (WHOLE + b"\0" * 4096, [("tornLine", 4)]),
    ],
)
def test_damaged_bytes_have_a_kind_and_a_line(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert [(found.kind, found.line) for found in Loaded(data).tree.problems] == expected


def test_bytes_that_are_not_utf8_are_told_with_their_place_and_their_line_still_counts() -> None:
    data = (
        WHOLE
        + b'{"type":"custom","id":"c","parentId":"e2","data":"\xff"}\n'
        + ANOTHER.replace(b'"c"', b'"d"')
    )
    tree = Loaded(data).tree
    [found] = tree.problems
    assert (found.line, found.offset, found.severity) == (4, len(WHOLE), "warning")
    place = data.index(b"\xff")
    assert f"byte {place} " in found.reason
    assert [tree.id(row) for row in range(1, len(tree))] == ["e1", "e2", "c", "d"]


def test_text_beyond_ascii_that_is_utf8_is_no_problem() -> None:
    assert loaded(header(cwd="/h\u00f6me"), user("現在"), user("\U0001f600")).tree.problems == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([user("q", parent=5)], [("invalidParent", 2)]),
        ([user("q", parent="e1")], [("selfParent", 2)]),
        ([user("q", parent="gone"), user("r")], [("missingParent", 2)]),
        ([user("q"), b'{"type":"custom","id":"e1","parentId":null}\n'], [("duplicateEntryId", 3)]),
        ([user("q"), b'{"type":"leaf","id":"l","parentId":"e1","targetId":"gone"}\n'], [("missingLeaf", 3)]),
    ],
)
def test_entries_that_do_not_hang_together_have_a_kind_and_a_line(
    lines: list[Line | bytes], expected: list[tuple[str, int]]
) -> None:
    found = loaded(header(), *lines).tree.problems
    assert [(problem.kind, problem.line) for problem in found] == expected


def test_a_loop_of_parents_is_one_problem_at_its_last_line() -> None:
    around = loaded(
        header(),
        user("1", parent="e3"),
        user("2", parent="e1"),
        user("3", parent="e2"),
        user("on", parent="e2"),
    )
    assert [(problem.kind, problem.line) for problem in around.tree.problems] == [("parentCycle", 4)]
    twice = loaded(header(), user("1"), b'{"type":"custom","id":"e1","parentId":"e1"}\n')
    assert [(problem.kind, problem.line) for problem in twice.tree.problems] == [
        ("duplicateEntryId", 3),
        ("parentCycle", 3),
    ]


def test_parents_that_come_later_make_no_loop() -> None:
    late = loaded(header(), user("child", parent="e2"), user("parent", parent=None), user("on", parent="e1"))
    assert late.tree.problems == []


def test_problems_come_in_the_order_of_the_log_and_the_last_says_that_there_are_more() -> None:
    lines: list[Line | bytes] = [user("q", parent="gone"), b"{broken\n", user("r", parent="lost")]
    assert [(problem.kind, problem.line) for problem in loaded(header(), *lines).tree.problems] == [
        ("missingParent", 2), ("damagedLine", 3), ("missingParent", 4),
    ]  # fmt: skip
    many = loaded(header(), user("q", parent="gone"), *[b"{broken\n"] * (MAX_PROBLEMS + 5)).tree.problems
    assert (len(many), many[-1].kind) == (MAX_PROBLEMS + 1, "moreProblems")


def test_every_kind_has_its_sentence() -> None:
    assert set(PROBLEMS) == set(get_args(ProblemKind))


def found_in(data: bytes) -> list[tuple[str, int]]:
    return [
        (problem.kind, problem.line)
        for problem in log_problems(len(data), lambda start, end: data[start:end])
    ]


def test_a_log_can_be_looked_through_without_opening_it() -> None:
    assert found_in(b"") == [("emptyLog", 1)]
    assert found_in(WHOLE) == []
    assert found_in(WHOLE + b"{broken\n" + ANOTHER + b'{"torn') == [("damagedLine", 4), ("tornLine", 6)]


def test_a_batch_that_was_cut_off_is_found_as_a_whole() -> None:
    of_a_batch = b'{"type":"custom","id":"b1","parentId":"e2"\t}\n'
    assert found_in(WHOLE + of_a_batch) == [("incompleteBatch", 4)]
    assert found_in(WHOLE + of_a_batch + b'{"torn') == [("incompleteBatch", 4)]
    assert found_in(WHOLE + of_a_batch + ANOTHER) == []


def test_a_log_that_became_shorter_meanwhile_is_read_as_far_as_it_goes() -> None:
    assert log_problems(len(WHOLE) + 100_000, lambda start, end: WHOLE[start:end]) == []
