"""A new session cut from a path (decision 0020)."""

import itertools
import json  # noqa: TID251  (lines hold lone surrogates, which msgspec refuses)
from typing import Any

from sessiond.session.tree import steps
from sessiond.session.tree.fork import Title, fork_lines
from sessiond.session.tree.tree import NONE
from support.logs import Loaded, assistant, compaction, entry, header, label, leaf, loaded, log, user

NEW_HEADER = b'{"type":"session","version":3,"id":"a-new-session","timestamp":"t","cwd":"/"}'


def fork(session: Loaded, leaf_id: str | None = None) -> list[bytes]:
    numbers = itertools.count(1)
    row = session.tree.leaf if leaf_id is None else session.row(leaf_id)
    return steps.run(
        fork_lines(session.tree, row, session.read, header=NEW_HEADER, new_id=lambda: f"n{next(numbers)}")
    )


def entries(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines[1:]]


def chain(lines: list[bytes]) -> list[tuple[str, str | None]]:
    return [(line["id"], line["parentId"]) for line in entries(lines)]


def test_a_fork_is_the_given_header_and_the_path_byte_for_byte() -> None:
    session = loaded(header(), user("q1"), assistant("a1"), user("other", parent="e1"))
    source = session.data.splitlines(keepends=True)
    assert fork(session, "e2") == [NEW_HEADER + b"\n", source[1], source[2]]
    assert fork(session) == [NEW_HEADER + b"\n", source[1], source[3]]


def test_a_fork_before_the_first_entry_is_a_header() -> None:
    session = loaded(header(), user("q1"))
    lines = fork_lines(session.tree, NONE, session.read, header=NEW_HEADER + b"\n", new_id=lambda: "x")
    assert steps.run(lines) == [NEW_HEADER + b"\n"]


def test_nothing_above_a_label_is_lost() -> None:
    session = loaded(
        header(), user("q1"), label("e1", "mark"), assistant("a1"), leaf("e3"), user("q2", parent="e4")
    )
    assert chain(fork(session)) == [("e1", None), ("e3", "e1"), ("e5", "e3"), ("n1", "e5")]


def test_labels_in_force_on_the_path_come_back_at_its_end_with_their_times() -> None:
    session = loaded(
        header(), user("q1"), label("e1", "first"), assistant("a1"), label("e3", "second"),
        label("e1", "renamed"), label("e3", "gone"), label("e3", None), user("aside", parent="e1"),
        label("e8", "aside"), label("e3", "set elsewhere"), label("nowhere", "lost"),
    )  # fmt: skip
    lines = entries(fork(session, "e7"))
    assert lines[2:] == [
        {
            "type": "label", "id": "n1", "parentId": "e3", "timestamp": "2026-03-01T08:00:05.000Z",
            "targetId": "e1", "label": "renamed",
        },
        {
            "type": "label", "id": "n2", "parentId": "n1", "timestamp": "2026-03-01T08:00:10.000Z",
            "targetId": "e3", "label": "set elsewhere",
        },
    ]  # fmt: skip


def test_a_label_first_in_a_path_leaves_a_root() -> None:
    session = loaded(header(), label("e2", "mark"), user("q1"))
    assert chain(fork(session)) == [("e2", None), ("n1", "e2")]


def test_a_compaction_that_kept_from_a_label_on_keeps_from_the_next_entry_on() -> None:
    session = loaded(
        header(), user("q1"), label("e1", "one"), label("e1", "two"), user("q2"), compaction("sum", "e2"),
        user("q3"), compaction("again", "e4"), label("e1", "three"), compaction("none", "e8"),
    )  # fmt: skip
    kept = [line.get("firstKeptEntryId") for line in entries(fork(session)) if line["type"] == "compaction"]
    assert kept == ["e4", "e4", "e9"]


def test_a_fork_has_the_context_of_its_source() -> None:
    session = loaded(
        header(), user("q1"), label("e1", "mark"), user("q2"), assistant("a2"), label("e3", "mark"),
        compaction("sum", "e3"), leaf("e6"), user("q3", parent="e7"),
    )  # fmt: skip
    forked = Loaded(b"".join(fork(session)))
    assert list(map(bytes, forked.context().messages)) == list(map(bytes, session.context().messages))
    assert forked.tree.problems == []


def test_only_a_parent_that_was_taken_out_is_changed_in_a_line() -> None:
    odd = (
        b'{ "type":"message","id":"e3","parentId":"e2" ,"n":1.00,"message":{ "role":"user","content":"x"}}\n'
    )
    session = Loaded(log(header(), user("q"), label("e1", "m")) + odd)
    changed = (
        b'{"type":"message","id":"e3","parentId":"e1","n":1.00,"message":{ "role":"user","content":"x"}}\n'
    )
    assert fork(session)[2] == changed


def test_an_orphan_becomes_a_root() -> None:
    assert chain(fork(loaded(header(), user("q", parent="nowhere"), user("r")))) == [
        ("e1", None),
        ("e2", "e1"),
    ]


def test_a_parent_can_be_taken_out_above_a_line_with_a_lone_surrogate() -> None:
    session = loaded(header(), user("q"), label("e1", "m"), user("\ud83d"))
    assert chain(fork(session))[1] == ("e3", "e1")


def test_titles_and_tags_set_on_the_path_stay() -> None:
    tags = entry("custom", customType="sessiond.tags", data={"tags": ["a"]})
    session = loaded(header(), user("q"), entry("session_info", name="Title"), tags)
    forked = Loaded(b"".join(fork(session)))
    assert (forked.tree.title, forked.tree.tags) == ("Title", ("a",))


def test_a_new_title_stands_behind_those_of_the_path() -> None:
    session = loaded(header(), user("q"), entry("session_info", name="Title"), label("e1", "mark"))
    lines = fork_lines(
        session.tree, session.tree.leaf, session.read, header=NEW_HEADER,
        new_id=iter(("n1", "n2")).__next__, title=Title("Another", "now"),
    )  # fmt: skip
    written = steps.run(lines)
    forked = Loaded(b"".join(written))
    assert chain(written)[2:] == [("n1", "e2"), ("n2", "n1")]
    assert (forked.tree.title, forked.tree.labels["e1"].text) == ("Another", "mark")


def test_a_new_title_is_said_by_an_entry_for_pi_which_does_not_read_that_of_the_header() -> None:
    session = loaded(header(), user("q"))
    lines = fork_lines(
        session.tree, session.tree.leaf, session.read, header=NEW_HEADER, new_id=lambda: "x",
        title=Title("Another", "now"),
    )  # fmt: skip
    said = json.loads(steps.run(lines)[-1])
    assert (said["type"], said["name"], said["parentId"]) == ("session_info", "Another", "e1")


def test_the_title_of_the_source_is_said_again_only_where_the_path_does_not_say_it() -> None:
    for said, count in ((entry("session_info", name="Named"), 3), (user("on"), 4)):
        session = loaded(header(), user("q"), said)
        lines = fork_lines(
            session.tree, session.tree.leaf, session.read, header=NEW_HEADER, new_id=lambda: "x",
            title=Title("Another", "now"), is_new_title=False,
        )  # fmt: skip
        assert len(steps.run(lines)) == count


def test_an_old_session_is_forked_as_version_3() -> None:
    old = log(
        header(version=1),
        b'{"type":"message","timestamp":"t","message":{"role":"hookMessage","content":"h"}}\n',
        b'{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":1,"tokensBefore":1}\n',
    )
    first, second = entries(fork(Loaded(old)))
    assert first["message"]["role"] == "custom"
    assert (second["parentId"], second["firstKeptEntryId"]) == (first["id"], first["id"])


def test_a_long_path_is_worked_off_in_steps() -> None:
    session = loaded(header(), *(user("q") for _ in range(5_000)))
    lines = fork_lines(session.tree, session.tree.leaf, session.read, header=NEW_HEADER, new_id=lambda: "x")
    assert len(list(lines)) > 15
