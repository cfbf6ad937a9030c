"""The origin of a session: which entries name it, in the whole log and at its ends."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.agents.pi import reader as home
from sessiond.session.dialects.source import Source
from sessiond.session.listing.log_ends import facts_of_ends
from sessiond.session.tree.origin import LogOrigin, origin_of
from sessiond.session.tree.tree import Tree
from support import logs

PEERS = Path(__file__).parent.parent / "data/peers"
DATA = {"source": "codex", "sourceId": "abc", "sourcePath": "/home/r.jsonl", "sourceVersion": "0.169.0"}
ORIGIN = LogOrigin("codex", "abc", "/home/r.jsonl", "0.169.0")
FILLER = [logs.assistant("filler " * 20, id=f"f{number}") for number in range(30)]


def origin(**data: Any) -> logs.Line:
    return logs.entry("custom", id="origin-1", parent=None, customType="sessiond.origin", data=DATA | data)


def state(word: str, **more: Any) -> logs.Line:
    return logs.entry("custom", customType="sessiond.originState", data={"state": word}, **more)


def tree_of(*lines: logs.Line) -> Tree:
    tree = Tree()
    tree.read(logs.log(logs.header(), *lines))
    tree.finish()
    return tree


def test_an_origin_has_agent_id_file_and_version() -> None:
    tree = tree_of(origin(), logs.user("hello"))
    assert tree.origin == ORIGIN
    assert tree.origin_state == "present"


def test_the_first_origin_counts_and_the_last_state() -> None:
    tree = tree_of(origin(), state("gone"), origin(sourceId="other"), state("present"), state("gone"))
    assert tree.origin == ORIGIN
    assert tree.origin_state == "gone"


def test_an_agent_that_is_named_wins_over_the_format() -> None:
    named = origin_of(DATA | {"agent": "oh-my-pi"})
    assert named is not None
    assert named.agent == "oh-my-pi"


@pytest.mark.parametrize(("file", "agent"), [("omp-18.3.4.jsonl", "oh-my-pi"), ("pi-1.6.0.jsonl", "pi")])
def test_a_session_that_oh_my_pi_wrote_names_it(file: str, agent: str) -> None:
    data = (PEERS / file).read_bytes()
    read = home.read(Source(name=file, data=data, modified="2026-01-01T00:00:00.000Z"))
    tree = tree_of(*(msgspec.json.decode(entry.line) for entry in read.entries))
    assert tree.origin is not None
    assert tree.origin.agent == agent


@pytest.mark.parametrize(
    "data",
    [None, [], "codex", {}, {"source": "codex"}, {"sourceId": "abc"}, {"source": 7, "sourceId": "abc"},
     {"source": "x" * 200, "sourceId": "abc"}, {"source": "codex", "sourceId": ""}],
)  # fmt: skip
def test_data_that_names_no_source_is_no_origin(data: object) -> None:
    assert origin_of(data) is None


def test_members_that_are_no_text_or_too_long_are_unknown() -> None:
    assert origin_of(DATA | {"sourcePath": 7, "sourceVersion": "9" * 1_000}) == LogOrigin(
        "codex", "abc", None, None
    )


def test_the_beginning_of_a_log_gives_its_origin() -> None:
    data = logs.log(
        logs.header(), origin(), logs.user("prompt"), *FILLER, state("gone"), logs.assistant("end")
    )
    found = facts_of_ends(data[:2_000], data[-2_000:])
    assert found is not None
    assert (found.origin, found.origin_state) == (ORIGIN, "gone")


def test_a_beginning_that_ends_within_the_origin_does_not_suffice() -> None:
    data = logs.log(
        logs.header(), origin(meta="x" * 3_000), logs.user("prompt"), *FILLER, logs.assistant("end")
    )
    assert facts_of_ends(data[:2_000], data[-2_000:]) is None
    found = facts_of_ends(data[:5_000], data[-2_000:])
    assert found is not None
    assert found.origin == ORIGIN


ENDED = logs.entry(
    "custom", customType="sessiond.originState", data={"state": "archived", "ended": True}, parent=None
)


@pytest.mark.parametrize(
    ("after", "ended"),
    [
        ([], True),
        ([state("archived")], True),
        ([logs.entry("custom", customType="other", data={"ended": True})], True),
        ([logs.user("and the owl?")], False),
        ([logs.assistant("in the barn")], False),
        ([logs.user("and the owl?"), ENDED], True),
    ],
)
def test_the_end_of_an_agent_is_revoked_by_the_next_message_only(after: list[logs.Line], ended: bool) -> None:
    some = (origin(), *FILLER, logs.user("hello", id="u1"), ENDED, *after)
    tree = tree_of(*some)
    assert tree.has_ended is ended
    assert tree.origin_state == "archived"
    data = logs.log(logs.header(), *some)
    middle = data.index(b"filler", len(data) // 3)
    found = facts_of_ends(data[:middle], data[middle:])
    assert found is not None
    assert found.has_ended is ended


@pytest.mark.parametrize("value", [1, "true", None, [True]])
def test_only_true_says_that_an_agent_has_ended(value: object) -> None:
    entry = logs.entry("custom", customType="sessiond.originState", data={"state": "present", "ended": value})
    assert not tree_of(origin(), logs.user("hello"), entry).has_ended
