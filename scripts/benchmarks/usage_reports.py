"""Reports of usage over many requests, on the thread of the index, beside a plain sum over the rows of all requests."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.benchmarks.report import Row, duration, middle, sampled

from sessiond.hub.index import usage_table
from sessiond.hub.index.columns import COLUMNS
from sessiond.hub.index.database import Database
from sessiond.hub.index.period import time_of
from sessiond.hub.index.usage_table import Model
from sessiond.hub.usage import report
from sessiond.hub.usage.price_lookup import look_up
from sessiond.hub.usage.prices import PriceBook
from sessiond.protocol import types as t
from sessiond.session.state.recorded_usage import RecordedUsage

SESSIONS, SMOKE_SESSIONS = 10_000, 400
REQUESTS = 50
"""The requests of a session. Every tenth session is a fork, whose first half is also in the previous session."""
LIMIT = 0.100
_DAY_MS = 86_400_000
_DAYS = 365
_FIRST = 1_735_689_600_000
"""The first day of 2025 in milliseconds since 1970."""
_MEAN_PAUSE_MS = 90_000
_MODELS = (
    Model("anthropic", "claude-opus-4-5-20251101", ""),
    Model("anthropic", "claude-sonnet-4-5-20250929", ""),
    Model("openai", "gpt-5.1-codex", ""),
    Model("google", "gemini-2.5-pro", ""),
    Model("deepseek", "deepseek-chat", ""),
    Model("openrouter", "x-ai/grok-code-fast-1", ""),
)
_AGENTS = ("claude-code", "codex", "gemini", "opencode", "")
_AUTUMN = {"since": "2025-09-01T08:20:00Z", "until": "2025-11-30T20:10:00Z"}
_QUESTIONS: dict[str, dict[str, Any]] = {
    "by day": {"by": "day", "timeZone": "Europe/Berlin"},
    "by day, where clocks are 5:45 hours ahead": {"by": "day", "timeZone": "Asia/Kathmandu"},
    "by day, of three months": {"by": "day", "timeZone": "Europe/Berlin"} | _AUTUMN,
    "by model": {"by": "model"},
    "by agent": {"by": "agent"},
    "by project": {"by": "project"},
    "by project, of three months": {"by": "project"} | _AUTUMN,
    "by model, of an agent": {"by": "model", "agent": "codex"},
}


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Fill the table of an index, and measure the processor time of each report, of a plain sum, and of the table."""
    sessions, rounds = (SMOKE_SESSIONS, 3) if quick else (SESSIONS, 7)
    database = Database(str(folder / "index.db"))
    database.open()
    added = _fill(database, sessions)
    book = PriceBook()
    book.add(look_up(_MODELS))
    plain: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in _QUESTIONS}
    requests = 0
    for _ in range(rounds):
        plain.append(_cpu(lambda: _plain_sum(database)))
        for name, asked in _QUESTIONS.items():
            taken[name].append(_cpu(lambda asked=asked: _report(database, book, asked)))  # type: ignore[misc]
        requests = _report(database, book, {"by": "model"}).total.request_count
    _check(requests, sessions)
    database.close()
    reference = f"a plain sum over all rows ({duration(middle(plain))})"
    what = f"usage of {sessions * REQUESTS:,} requests in {sessions:,} sessions"
    return [
        *(
            sampled(
                f"{what}, {name}", times, "s", ratio=f"{middle(times) / middle(plain):.2f} x {reference}",
                limit=None if quick else LIMIT,
            )
            for name, times in taken.items()
        ),
        sampled("  to add a request to the table", [added / (sessions * REQUESTS)], "s"),
    ]  # fmt: skip


def _fill(database: Database, sessions: int) -> float:
    """Add the sessions, in two transactions each, like a session that grows. Returns the processor time."""
    chance = random.Random(17)
    used = 0.0
    copied: list[RecordedUsage] = []
    for number in range(sessions):
        usages = [*copied, *_requests(chance, REQUESTS - len(copied))]
        copied = usages[: REQUESTS // 2] if number % 10 == 8 else []
        _add_file(database, number)
        for half in (usages[: REQUESTS // 2], usages[REQUESTS // 2 :]):
            start = time.process_time()
            with database.transaction() as connection:
                usage_table.add(connection, number, half, None)
            used += time.process_time() - start
    return used


def _add_file(database: Database, number: int) -> None:
    values: dict[str, object] = dict.fromkeys(COLUMNS, "") | {
        "ref": f"/home/ada/sessions/{number}.jsonl".encode(), "head": b"", "draft": 0, "provisional": 0,
        "cwd": f"/home/ada/work/project-{number % 100}", "created": f"{number:010}",
        "agent": _AGENTS[number % len(_AGENTS)], "info": b"x" * 800, "off_path": b"",
    }  # fmt: skip
    names = ", ".join(["id", *values, "indexed_bytes", "indexed_rows", "tail", "is_indexed", "checksum"])
    row = (number, *values.values(), 0, 0, b"", 1, 0)
    database.connection.execute(f"INSERT INTO files({names}) VALUES(?{', ?' * (len(row) - 1)})", row)


def _requests(chance: random.Random, count: int) -> Iterator[RecordedUsage]:
    """Yield requests of one model whose prompts grow and are mostly cached."""
    at = _FIRST + chance.randrange(_DAYS * _DAY_MS)
    model = chance.choice(_MODELS)
    cached = 15_000
    for _ in range(count):
        at += int(chance.expovariate(1 / _MEAN_PAUSE_MS))
        new = int(chance.expovariate(1 / 3_000))
        cached += new
        yield RecordedUsage(
            chance.randbytes(12), at, *model, input=chance.randrange(20), output=chance.randrange(2_000),
            cache_read=cached - new, cache_write=new, cache_write_1h=0, reasoning=None,
            cost=0.01 if model.provider == "openrouter" else None,
        )  # fmt: skip


def _report(database: Database, book: PriceBook, asked: dict[str, Any]) -> t.UsageReportResult:
    period = {name: time_of(asked[name]) if name in asked else None for name in ("since", "until")}
    params = t.UsageReportParams(
        by=asked["by"], agent=asked.get("agent"), time_zone=asked.get("timeZone", "UTC")
    )
    sums = report.read(database.connection, params, period["since"], period["until"], book)
    return report.made(sums, params, book, t.UnsearchedTexts(session_count=0, size_bytes=0))


def _plain_sum(database: Database) -> object:
    return database.connection.execute(
        "SELECT count(*), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(cost) FROM usage"
    ).fetchone()


def _check(requests: int, sessions: int) -> None:
    """Raise `RuntimeError` unless each request was counted once."""
    expected = sessions * REQUESTS - sessions // 10 * (REQUESTS // 2)
    if requests != expected:
        raise RuntimeError(f"{requests} requests were counted, not {expected}")


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
