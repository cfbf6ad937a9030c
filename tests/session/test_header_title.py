"""The room for a title at the end of a header: written in place, read by oh-my-pi."""

import json  # noqa: TID251 - headers are read as the peers read them

import msgspec
from hypothesis import given, strategies as st

from sessiond.session.tree.header_title import SECTOR, SLOT_BYTES, TITLE_SPACE, title_change, with_title_space

TITLES = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
NOW = "2026-03-01T08:00:00.000Z"


def header(cwd: str, title: str | None) -> bytes:
    fields = {"type": "session", "version": 3, "id": "x", "cwd": cwd}
    titled = fields if title is None else {**fields, "title": title}
    return msgspec.json.encode({**titled, "tags": ["a"]})


def changed(log: bytes, title: str | None) -> bytes:
    change = title_change(log, title, NOW)
    if change is None:
        return log
    assert len(change.former) == len(change.new)
    assert log[change.offset : change.offset + len(change.former)] == change.former
    return log[: change.offset] + change.new + log[change.offset + len(change.new) :]


@given(
    st.text(max_size=600).map(lambda text: f"/{text}").filter(lambda character: character.isprintable()),
    TITLES,
    TITLES,
    TITLES,
)
def test_titles_replace_each_other_in_place_and_nothing_else_changes(
    cwd: str, first: str, second: str, third: str
) -> None:
    log = with_title_space(header(cwd, first or None)) + b"\nlater\n"
    for title in (second, third, ""):
        now = changed(log, title)
        assert len(now) == len(log)
        assert now.endswith(b"\nlater\n")
        read = json.loads(now.split(b"\n")[0])
        assert title.startswith(read.get("title", "") if title else "")
        assert bool(read.get("title")) == bool(title)
        assert {name: item for name, item in read.items() if name != "title"} == json.loads(header(cwd, None))
        log = now


@given(st.integers(0, 2 * SECTOR), st.text("abc", max_size=200))
def test_the_room_never_crosses_the_border_of_a_sector(length: int, title: str) -> None:
    line = with_title_space(header("/" + "x" * length, title or None))
    change = title_change(line + b"\n", "another", NOW)
    assert change is not None
    assert change.offset // SECTOR == (change.offset + len(change.new) - 1) // SECTOR
    assert len(change.new) >= TITLE_SPACE


def test_a_header_without_room_stays_as_it_is() -> None:
    assert title_change(header("/work", None) + b"\n", "A title", NOW) is None
    assert title_change(b"garbage\n", "A title", NOW) is None
    assert title_change(b"", "A title", NOW) is None


@given(TITLES)
def test_the_title_slot_of_oh_my_pi_keeps_its_size(title: str) -> None:
    slot = {"type": "title", "v": 1, "title": "former", "updatedAt": NOW, "pad": ""}
    slot["pad"] = " " * (SLOT_BYTES - 1 - len(msgspec.json.encode(slot)))
    log = msgspec.json.encode(slot) + b"\n" + header("/work", None) + b"\n"
    now = changed(log, title)
    assert now[SLOT_BYTES:] == log[SLOT_BYTES:]
    read = json.loads(now[:SLOT_BYTES])
    assert title.startswith(read["title"])
    assert (read["v"], read["source"]) == (1, "user")
