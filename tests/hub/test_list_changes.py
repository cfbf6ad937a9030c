"""The changes of a filtered list: whatever the pages and their order, a client ends with the rows that there are."""

import random
import sqlite3
from collections.abc import Iterator

import msgspec
import pytest

from sessiond.hub.index import list_changes, listing
from sessiond.hub.index.list_changes import MAX_CHANGED, ListChanges, ListRow
from sessiond.hub.index.listing import ListRange
from sessiond.protocol import types as t
from support.held_texts import HeldTexts

FILTERS = (
    t.ListFilter(),
    t.ListFilter(cwd="/a"),
    t.ListFilter(cwd="/a", tags=["x"]),
    t.ListFilter(query="odd", include_drafts=True),
    t.ListFilter(cwd="/b", query="even", tags=["x", "y"]),
    t.ListFilter(agent="codex"),
    t.ListFilter(automated=False),
    t.ListFilter(automated=True, cwd="/a"),
)


class Files:
    """The columns of the index that lists use, with the changes of its rows."""

    def __init__(self) -> None:
        self.changes = ListChanges()
        self.rows: dict[int, ListRow] = {}
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute(f"CREATE TABLE files(file PRIMARY KEY, {', '.join(ListRow._fields)})")

    def put(self, file: int, row: ListRow | None) -> None:
        self.changes.record(self.rows.pop(file, None), row)
        self.connection.execute("DELETE FROM files WHERE file = ?", (file,))
        if row is not None:
            self.rows[file] = row
            self.connection.execute(f"INSERT INTO files VALUES(?{', ?' * len(row)})", (file, *row))

    def listed(self, asked: t.ListFilter) -> dict[str, list[bytes]]:
        """The content of the matching rows, by session."""
        found: dict[str, list[bytes]] = {}
        for row in self.rows.values():
            words = (asked.query or "").split()
            tags = msgspec.json.decode(row.tags, type=set[str])
            if (
                (asked.include_drafts or not row.draft)
                and asked.cwd in (None, row.cwd)
                and tags.issuperset(asked.tags or ())
                and all(word in row.filter_text for word in words)
                and asked.agent in (None, row.agent)
                and asked.automated in (None, bool(row.automated))
            ):
                found.setdefault(row.session_id, []).append(row.info)
        return {session_id: sorted(rows) for session_id, rows in found.items()}


class ListClient:
    """A client that applies what it is sent."""

    def __init__(self, files: Files, asked: t.ListFilter) -> None:
        self.files, self.asked = files, asked
        self.rows = files.listed(asked)
        self.position = self.complete_at = files.changes.position
        self.removed: list[str] = []

    def take(self, up_to: int, most: int) -> bool:
        """Receive some changes. Returns whether there are more."""
        range_ = ListRange(self.position, self.complete_at, max(up_to, self.position), most)
        delta = listing.delta(self.files.connection, self.files.changes, self.asked, range_)
        assert delta is not None
        sent = [msgspec.json.encode(row) for row in delta.rows]
        ids = [msgspec.json.decode(row, type=dict[str, str])["id"] for row in sent]
        for session_id in (*delta.removed, *ids):
            self.rows.pop(session_id, None)
        for session_id, row in zip(ids, sent, strict=True):
            self.rows[session_id] = sorted([*self.rows.get(session_id, []), row])
        self.removed += delta.removed
        self.position = delta.position
        if delta.is_complete:
            self.complete_at = delta.position
        return not delta.is_last

    def connect_again(self) -> None:
        """Only the position is known after that."""
        self.complete_at = 0


@pytest.fixture
def files() -> Iterator[Files]:
    made = Files()
    yield made
    made.connection.close()


def some_row(chance: random.Random, number: int) -> ListRow:
    session_id = f"s{chance.randrange(6)}"
    tags = chance.sample(["x", "y", "z"], chance.randrange(4))
    info = msgspec.json.encode({"id": session_id, "number": str(number)})
    return ListRow(
        session_id, chance.randrange(2), chance.choice(["/a", "/b"]), msgspec.json.encode(tags).decode(),
        chance.choice(["odd", "even", "odd even"]), chance.choice(["", "codex"]), chance.randrange(2), info,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_a_client_that_applies_all_changes_has_the_current_rows(files: Files, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(5):
        files.put(number, some_row(chance, number))
    clients = [ListClient(files, asked) for asked in FILTERS]
    confirmed = files.changes.position
    for number in range(120):
        file = chance.randrange(8)
        before = files.rows.get(file)
        row = some_row(chance, number)
        if before is not None and chance.random() < 0.6:  # usually one column changes
            column = chance.randrange(1, 7)
            changed = [*before[:column], row[column], *before[column + 1 : 7]][:7]
            info = msgspec.json.encode({"id": before.session_id, "number": str(number)})
            row = ListRow._make([*changed, info])
        files.put(file, None if chance.random() < 0.2 else row)
        if chance.random() < 0.5:
            confirmed = files.changes.position
        for client in clients:
            if chance.random() < 0.3:
                client.take(confirmed, most=chance.choice([1, 2, 100]))
            if chance.random() < 0.03:
                client.connect_again()
    for client in clients:
        while client.take(files.changes.position, most=2):
            pass
        assert client.rows == files.listed(client.asked)


def test_a_session_that_never_matched_is_not_removed(files: Files) -> None:
    there = ListRow("there", 0, "/b", "[]", "odd", "", 0, b'{"id": "there"}')
    client = ListClient(files, t.ListFilter(cwd="/a"))
    files.put(1, there._replace(draft=1))
    files.put(1, there)
    client.take(files.changes.position, most=1)
    files.put(1, there._replace(tags='["x"]', filter_text="even"))
    files.put(1, None)
    client.take(files.changes.position, most=1)
    assert client.removed == []


def test_a_session_that_never_matched_is_not_removed_with_its_second_file(files: Files) -> None:
    there = ListRow("there", 0, "/b", "[]", "odd", "", 0, b'{"id": "there"}')
    client = ListClient(files, t.ListFilter(cwd="/a"))
    files.put(1, there._replace(draft=1))
    files.put(2, there)
    files.put(1, None)
    files.put(2, None)
    client.take(files.changes.position, most=1)
    assert client.removed == []


def test_a_row_that_is_replaced_by_an_equal_one_is_no_change(files: Files) -> None:
    row = ListRow("s", 0, "/a", "[]", "odd", "", 0, b'{"id": "s"}')
    files.put(1, row)
    before = files.changes.position
    files.put(1, ListRow(*row))
    assert files.changes.position == before


def test_the_last_changes_are_remembered_and_earlier_positions_are_refused(files: Files) -> None:
    for number in range(MAX_CHANGED + 3):
        files.changes.record(None, ListRow(f"s{number}", 0, "/a", "[]", "odd", "", 0, b"{}"))
    assert files.changes.oldest == 3
    known = ListRange(3, 3, files.changes.position, 10)
    assert listing.delta(files.connection, files.changes, t.ListFilter(), known) is not None
    assert listing.delta(files.connection, files.changes, t.ListFilter(), known._replace(after=2)) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_range_has_the_last_change_of_each_session_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(list_changes, "MAX_CHANGED", 30)
    chance, changes = random.Random(seed), ListChanges()
    last: dict[str, int] = {}
    for number in range(500):
        session_id = f"s{chance.randrange(25)}"
        changes.record(None, ListRow(session_id, 0, "/a", "[]", "odd", "", 0, b"%d" % number))
        last[session_id] = changes.position
        after, up_to = sorted(chance.sample(range(changes.position + 1), 2)) if number else (0, 1)
        limit = chance.choice([1, 3, 100])
        expected = sorted((at, name) for name, at in last.items() if after < at <= up_to)[:limit]
        assert [(change.position, name) for name, change in changes.since(after, up_to, limit)] == expected


def test_a_range_costs_its_changes_and_not_all_changes() -> None:
    changes, held = ListChanges(), HeldTexts()
    for number in range(5 * MAX_CHANGED):
        session_id = held.text(f"s{number % 100}")
        changes.record(None, ListRow(session_id, 0, "/a", "[]", "odd", "", 0, b"%d" % number))
        del session_id
        assert number % MAX_CHANGED or len(held) <= 2 * MAX_CHANGED
    after, up_to = _Position(changes.position - 3), _Position(changes.position)
    assert len(changes.since(after, up_to, 10)) == 3
    assert after.comparisons + up_to.comparisons < 30


class _Position(int):
    """A position that counts how often it is compared with that of a change."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        self.comparisons += 1
        return super().__lt__(other)
