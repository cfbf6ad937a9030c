"""The facts that the beginning and the end of a log give, beside those of the whole log."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings, strategies as st

from sessiond.session.listing import info
from sessiond.session.listing.lifecycle import lifecycle_and_model
from sessiond.session.listing.log_ends import EndFacts, facts_of_ends
from sessiond.session.tree.tree import Tree
from support import logs

FILLER = [logs.assistant("filler " * 20, id=f"f{number}") for number in range(30)]


def ends(data: bytes, first: int = 2_000, last: int = 2_000) -> EndFacts | None:
    return facts_of_ends(data[:first], data[len(data) - last :])


def certain(data: bytes, first: int = 2_000, last: int = 2_000) -> EndFacts:
    found = ends(data, first, last)
    assert found is not None
    return found


def whole(data: bytes) -> tuple[info.SessionFacts, Tree, str]:
    """The facts of the whole log, its tree, and its lifecycle."""
    tree = Tree()
    tree.read(data)
    tree.finish()

    def read(rows: Any) -> list[bytes]:
        return [tree.entry(row, data[slice(*tree.span(row))]) for row in rows]

    return info.summarize(tree, read), tree, lifecycle_and_model(tree, read)[0]


KINDS: dict[str, Callable[..., logs.Line]] = {
    "user": lambda number, **more: logs.user(f"prompt {number}", **more),
    "assistant": lambda number, **more: logs.assistant(f"answer {number}", **more),
    "call": lambda number, **more: logs.assistant([logs.tool_call("read", {"path": str(number)})], **more),
    "result": lambda number, **more: logs.tool_result(f"result {number}", **more),
    "label": lambda number, **more: logs.label("e1", f"label {number}", **more),
    "title": lambda number, **more: logs.entry("session_info", name=f"title {number}", **more),
    "empty title": lambda _, **more: logs.entry("session_info", name="", **more),
    "model": lambda number, **more: logs.entry("model_change", provider="acme", modelId=str(number), **more),
    "unknown": lambda number, **more: logs.entry("of_the_future", text=f"{number}", **more),
    "leaf": lambda _, **more: logs.leaf("e1", **more),
}
BAD = [b"", b"{", b"\xff\xfe", b'{"type":5}', b"[1]", b'{"type":"message","message":5,"id":"x5"}', b"\0\0\0"]


@settings(max_examples=400)
@given(
    kinds=st.lists(st.sampled_from([*KINDS, "bad"]), min_size=12, max_size=60),
    times=st.lists(st.integers(0, 3_599), min_size=60, max_size=60),
    slot=st.sampled_from([None, "", "slot title"]),
    title=st.sampled_from([None, "header title"]),
    torn=st.sampled_from(
        [b"", b'{"type":"message","id":"to', b'{"type":"label","id":"last","parentId":"e1"}']
    ),
    last=st.integers(300, 3_000),
    pick=st.integers(0, 6),
)
def test_a_final_result_is_that_of_the_whole_log(
    kinds: list[str], times: list[int], slot: str | None, title: str | None, torn: bytes, last: int, pick: int
) -> None:
    lines: list[Any] = [
        BAD[(pick + number) % len(BAD)] + b"\n"
        if kind == "bad"
        else KINDS[kind](number, timestamp=logs.time_of(time))
        for number, (kind, time) in enumerate(zip(kinds, times, strict=False))
    ]
    first: list[Any] = [logs.header(title=title)]
    if slot is not None:
        first.insert(
            0, msgspec.json.encode({"type": "title", "title": slot, "updatedAt": logs.time_of(1_800)}) + b"\n"
        )
    data = logs.log(*first, logs.user("first prompt"), *lines) + torn
    found = ends(data, 700, min(last, len(data) - 700))
    event(f"suffices: {found is not None}")
    if found is None:
        return
    facts, tree, lifecycle = whole(data)
    assert found.header == tree.header
    assert found.updated_at == facts.updated_at
    assert found.first_prompt == facts.first_prompt
    assert found.lifecycle in (None, lifecycle)


def test_the_title_tags_and_leaf_at_the_end_are_found() -> None:
    tags = logs.entry("custom", customType="sessiond.tags", data={"tags": ["a", "b"]})
    title = logs.entry("session_info", name="Renamed")
    data = logs.log(
        logs.header(title="Old"), logs.user("prompt"), *FILLER, tags, title, logs.assistant("end")
    )
    facts, tree, _ = whole(data)
    found = certain(data)
    assert (found.title, found.tags) == ("Renamed", facts.tags)
    assert found.leaf_id == tree.leaf_id
    assert (found.first_prompt, found.lifecycle) == ("prompt", "complete")


def test_a_title_in_the_middle_is_not_found() -> None:
    title = logs.entry("session_info", name="Renamed")
    data = logs.log(
        logs.header(title="Old"), logs.user("prompt"), *FILLER, title, *FILLER, logs.assistant("end")
    )
    assert certain(data).title == "Old"
    assert whole(data)[0].title == "Renamed"


def test_a_leaf_line_determines_the_leaf() -> None:
    data = logs.log(
        logs.header(), logs.user("prompt"), *FILLER, logs.user("other", id="o"), logs.assistant("x", id="x"),
        logs.leaf("o"),
    )  # fmt: skip
    found = certain(data)
    assert (found.leaf_id, found.lifecycle) == ("o", "interrupted")
    assert (whole(data)[1].leaf_id, whole(data)[2]) == ("o", "interrupted")


def test_a_path_that_leaves_the_end_has_no_lifecycle() -> None:
    labels = [logs.label("e1", f"{number}", id=f"l{number}", parent="e1") for number in range(30)]
    data = logs.log(
        logs.header(),
        logs.user("prompt"),
        *FILLER,
        *labels,
        logs.assistant("x", parent="e1"),
        logs.label("e1", "z", parent="e1"),
    )
    found = certain(data)
    assert found.lifecycle is None
    assert found.updated_at == whole(data)[0].updated_at


@pytest.mark.parametrize(
    "data",
    [
        logs.log(logs.header(version=1), logs.user("prompt"), *FILLER),
        logs.log(logs.header(version=2), logs.user("prompt"), *FILLER),
        logs.log(logs.header(id=""), logs.user("prompt"), *FILLER),
        logs.log(logs.user("no header"), *FILLER),
        logs.log(logs.header(padding="x" * 3_000), logs.user("prompt"), *FILLER),
        logs.log(logs.header(), *FILLER, logs.user("z" * 4_000)),
        logs.log(logs.header(), *FILLER, *(logs.label("e1", "no message") for _ in range(60))),
        b"\0" * 10_000,
    ],
    ids=["version 1", "version 2", "no id", "no header", "long header", "long end", "no message", "zeros"],
)
def test_ends_that_do_not_show_the_header_and_the_last_times_do_not_suffice(data: bytes) -> None:
    assert ends(data) is None
