"""Totals of usage: whatever is added, rewritten, renamed and removed, their sums are those of requests counted anew."""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count

import pytest

from sessiond.hub.index import usage_table, usage_totals
from sessiond.hub.index.usage_table import Model
from sessiond.hub.index.usage_totals import DAY_MS, HALF_HOUR_MS, HALF_HOURS, PriceSteps, UsageFilter
from sessiond.hub.usage import days
from sessiond.session.state.recorded_usage import RecordedUsage

FIRST = 20_000 * DAY_MS
MODELS = (
    Model("a", "flat", ""),
    Model("a", "tiered", ""),
    Model("b", "hourly", ""),
    Model("b", "changed", "fast"),
)
PRICES = (
    PriceSteps(),
    PriceSteps(limits=(200, 300)),
    PriceSteps(starts=(20_002,), is_hourly=True),
    PriceSteps(starts=(20_001, 20_003), limits=(250,)),
)
GROUPS = {"model": "model", "agent": "files.agent", "project": "coalesce(projects.project, files.cwd)"}
MIDNIGHT_OF_KATHMANDU = 18 * 60 + 15
"""In minutes after midnight in UTC. It is in the middle of a half-hour."""
ZONES = ("UTC", "Asia/Kathmandu", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe")


@dataclass
class File:
    """A session as the index knows it."""

    number: int
    ref: bytes
    created: str
    agent: str
    cwd: str
    usages: list[RecordedUsage] = field(default_factory=list)


class Index:
    """The tables of usage, with those columns of `files` that they need."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(
            "CREATE TABLE files(id INTEGER PRIMARY KEY, ref BLOB, created TEXT, agent TEXT, cwd TEXT);"
            "CREATE TABLE projects(cwd TEXT PRIMARY KEY, project TEXT);"
            "INSERT INTO projects VALUES('/a', '/p'), ('/b', '/p');"
            f"{usage_table.TABLES} {usage_totals.TABLES}"
        )

    def add(self, file: File, usages: list[RecordedUsage]) -> None:
        row = (file.number, file.ref, file.created, file.agent, file.cwd)
        self.connection.execute("INSERT OR IGNORE INTO files VALUES(?, ?, ?, ?, ?)", row)
        usage_table.add(self.connection, file.number, usages, FIRST)

    def rename(self, file: File) -> None:
        self.connection.execute("UPDATE files SET ref = ? WHERE id = ?", (file.ref, file.number))
        usage_table.rank_again(self.connection, file.number)

    def forget(self, file: File) -> None:
        usage_table.remove(self.connection, file.number)
        self.connection.execute("DELETE FROM files WHERE id = ?", (file.number,))

    def sums(self, wanted: UsageFilter, by: str, zone: days.Zone) -> dict[tuple[object, ...], list[float]]:
        """The sums by group, model, moment, size, and whether there is a recorded cost."""
        models = usage_table.models(self.connection)
        prices = {number: PRICES[MODELS.index(model)] for number, model in models.items()}
        group, cut = GROUPS.get(by, ""), set[int]()
        if by == "day":
            utc_days = usage_totals.days(self.connection, wanted)
            changes = zone.changes(utc_days)
            group, cut = days.sql_of_day(changes, "at"), days.cut_half_hours(changes, utc_days)
        found = usage_totals.sums(self.connection, wanted, group=group, prices=prices, cut=cut)
        return {
            (
                models[usage.model] if by == "model" else usage.group,
                models[usage.model], usage.moment, usage.size, usage.cost is None,
            ): [
                usage.requests, usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cache_write_1h,
                usage.reasoning, usage.cost or 0,
            ]
            for usage in found
        }  # fmt: skip


def counted(files: list[File]) -> Iterator[tuple[File, RecordedUsage]]:
    """The usage of each request that counts: the one with the most tokens, then that of the oldest session."""
    copies: dict[bytes, list[tuple[int, str, bytes, int, File, RecordedUsage]]] = defaultdict(list)
    places = count()
    for file in files:
        for item in file.usages:
            tokens = item.input + item.output + item.cache_read + item.cache_write
            copies[item.key].append((-tokens, file.created, file.ref, next(places), file, item))
    for found in copies.values():
        *_, file, usage = min(found)
        yield file, usage


def counted_anew(
    files: list[File], wanted: UsageFilter, by: str, zone: days.Zone
) -> dict[tuple[object, ...], list[float]]:
    """The same as `Index.sums`, of requests that are counted one by one."""
    found: dict[tuple[object, ...], list[float]] = {}
    for file, usage in counted(files):
        at = FIRST if usage.at is None else max(usage.at, 0)
        project = "/p" if file.cwd in ("/a", "/b") else file.cwd
        if not (
            at >= (wanted.since or 0)
            and at <= (at if wanted.until is None else wanted.until)
            and wanted.agent in (None, file.agent)
            and wanted.cwd in (None, file.cwd)
            and wanted.project in (None, project)
        ):
            continue
        model = Model(usage.provider, usage.model, usage.speed)
        steps = PRICES[MODELS.index(model)]
        (change,) = zone.changes([at // DAY_MS])[:1]
        for later in zone.changes([at // DAY_MS])[1:]:
            change = later if at >= later.at_ms else change
        group = {
            "day": (at + change.offset_ms) // DAY_MS, "model": model, "agent": file.agent, "project": project,
        }[by]  # fmt: skip
        moment = sum(at >= day * DAY_MS for day in steps.starts)
        if steps.is_hourly:
            moment = moment * HALF_HOURS + at % DAY_MS // HALF_HOUR_MS
        size = sum(usage.input + usage.cache_read + usage.cache_write > limit for limit in steps.limits)
        sums = found.setdefault((group, model, moment, size, usage.cost is None), [0] * 8)
        values = (
            1,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.cache_write_1h,
            usage.reasoning or 0,
            usage.cost or 0,
        )
        sums[:] = [a + b for a, b in zip(sums, values, strict=True)]
    return found


class History:
    """Changes by chance: sessions that share requests with others, and lines of one answer with growing tokens."""

    def __init__(self, seed: int, index: Index) -> None:
        self.random = random.Random(seed)
        self.files: list[File] = []
        self.index = index
        self._numbers = count(1)

    def change(self) -> None:
        kinds = [self.begin, self.go_on, self.go_on, self.go_on, self.rewrite, self.rename, self.remove]
        (self.random.choice(kinds) if self.files else self.begin)()

    def begin(self) -> None:
        chance, number = self.random, next(self._numbers)
        created = f"2026-01-0{chance.randint(1, 3)}"  # often the same one
        ref = f"{chance.randrange(1000)}-{number}".encode()
        self.files.append(
            File(number, ref, created, chance.choice(["", "x", "y"]), chance.choice(["/a", "/b", "/c"]))
        )
        self._add(self.files[-1])

    def go_on(self) -> None:
        self._add(self.random.choice(self.files))

    def rewrite(self) -> None:
        file = self.random.choice(self.files)
        usage_table.remove(self.index.connection, file.number)
        file.usages = []
        self._add(file)

    def rename(self) -> None:
        file = self.random.choice(self.files)
        file.ref = f"{self.random.randrange(1000)}-{file.number}".encode()
        self.index.rename(file)

    def remove(self) -> None:
        file = self.files.pop(self.random.randrange(len(self.files)))
        self.index.forget(file)

    def _add(self, file: File) -> None:
        new = [self._usage() for _ in range(self.random.randint(0, 6))]
        file.usages += new
        self.index.add(file, new)

    def _usage(self) -> RecordedUsage:
        chance = self.random
        known = [usage for file in self.files for usage in file.usages]
        if known and chance.random() < 0.3:
            return chance.choice(known)  # as in a fork
        key = chance.choice(known).key if known and chance.random() < 0.2 else chance.randbytes(4)
        minutes = chance.choice([0, 15, 30, MIDNIGHT_OF_KATHMANDU, chance.randrange(4 * 24 * 60)])
        at = FIRST + minutes * 60_000 + chance.choice([-1, 0, 1, 999])
        model = chance.choice(MODELS)
        cache_write = chance.randrange(100)
        return RecordedUsage(
            key, chance.choice([at, at, None, -at]), *model, input=chance.randrange(200), output=chance.randrange(3),
            cache_read=chance.randrange(200), cache_write=cache_write, cache_write_1h=min(cache_write, 20),
            reasoning=chance.choice([None, 2]), cost=chance.choice([None, None, 0.5]),
        )  # fmt: skip

    def question(self) -> tuple[UsageFilter, str, days.Zone]:
        chance = self.random
        since, until = sorted(
            FIRST + chance.randrange(4 * 24 * 60) * 60_000 + chance.choice([-1, 0]) for _ in range(2)
        )
        wanted = UsageFilter(
            chance.choice([None, since]), chance.choice([None, until]), chance.choice([None, None, "x"]),
            chance.choice([None, None, "/a"]), chance.choice([None, None, "/p"]),
        )  # fmt: skip
        return wanted, chance.choice(["day", *GROUPS]), days.zone(chance.choice(ZONES))


@pytest.fixture
def new_index() -> Iterator[Callable[[], Index]]:
    """Makes indexes, which are closed at the end of the test."""
    with ExitStack() as stack:

        def make() -> Index:
            index = Index()
            stack.callback(index.connection.close)
            return index

        yield make


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_totals_are_those_of_requests_counted_anew_after_every_change(
    seed: int, new_index: Callable[[], Index]
) -> None:
    history = History(seed, new_index())
    asked = 0
    for _ in range(100):
        history.change()
        for _ in range(4):
            question = history.question()
            expected = counted_anew(history.files, *question)
            assert history.index.sums(*question) == expected
            asked += bool(expected)
    assert asked > 100


@pytest.mark.parametrize("seed", range(3))
def test_an_index_that_is_built_again_in_any_order_has_the_same_totals(
    seed: int, new_index: Callable[[], Index]
) -> None:
    history = History(seed, new_index())
    for _ in range(80):
        history.change()
    again = new_index()
    order = sorted(history.files, key=lambda _: history.random.random())
    for file in order:
        again.add(file, file.usages)

    def totals(index: Index) -> list[tuple[object, ...]]:
        return index.connection.execute(
            "SELECT ref, half_hour, models.model, has_cost, shortest, longest, requests, input, output, cache_read,"
            " cache_write, cache_write_1h, reasoning, cost FROM usage_totals JOIN files ON files.id = file"
            " JOIN models ON models.id = usage_totals.model ORDER BY 1, 2, 3, 4"
        ).fetchall()

    assert totals(history.index) == totals(again) != []


def test_a_removed_session_leaves_no_totals(new_index: Callable[[], Index]) -> None:
    history = History(0, new_index())
    for _ in range(20):
        history.change()
    while history.files:
        history.remove()
    assert history.index.connection.execute("SELECT count(*) FROM usage_totals").fetchone() == (0,)
