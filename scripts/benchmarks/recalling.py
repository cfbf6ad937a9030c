"""The rate at which recall finds the answer among sessions of several agents, compared with full-text search."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any, Final

from scripts.benchmarks import recall_corpus
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.recall_corpus import Fact
from scripts.benchmarks.report import Row, at_least, at_most, sampled

from sessiond.hub.recall.stop_words import STOP_WORDS

SESSIONS: Final = 2_000
SMOKE_SESSIONS: Final = 100
SMOKE_FACTS: Final = 16
SAME: Final = 90.0
OTHER: Final = 60.0
"""The targets for the questions whose answer is among the first five passages, in percent."""
BUDGET: Final = 2_000
_FIRST: Final = 5
_NOT_FOUND: Final = 1_000_000
_PATIENCE: Final = 300.0
_REASON: Final = (
    "answers that share few words with all wordings, synonyms included: among the passages of 2,000 sessions, which are"
    " made of the words of the questions, some contain more of them by chance"
)


@dataclass(frozen=True)
class Score:
    """The percentages of questions whose answer is first, and among the first five."""

    first: float
    among: float

    def __str__(self) -> str:
        return f"{self.first:.0f} %, {self.among:.0f} %"


@dataclass
class Recalled:
    """The cost of the recalls of one kind, and whether the newest statement came before the older one."""

    tokens: list[int]
    cpu: list[float]
    newest_first: list[bool]


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Plant the facts, and ask each question in the project of its fact and in all projects."""
    home = folder / "home"
    count = SMOKE_SESSIONS if quick else SESSIONS
    planted = recall_corpus.facts()[: SMOKE_FACTS if quick else None]
    recall_corpus.write(home / "data/sessions", planted, count)
    rows: list[Row] = []
    with sessiond(home) as daemon, daemon.connect() as client:
        _index(client)
        spent = Recalled([], [], [])
        for in_project in (True,) if quick else (True, False):
            place = f"{'its project of' if in_project else 'all'} {count:,} sessions"
            has_bar = in_project and not quick
            with _plain(home / "state/index.db") as plain:
                rows += _asked(
                    daemon, client, planted, plain, spent, place, in_project=in_project, has_bar=has_bar
                )
        rows.append(
            Row(
                "tokens of a result, most",
                f"{max(spent.tokens):,}",
                f"mean {mean(spent.tokens):,.0f}",
                f"<= {BUDGET:,}",
                at_most(max(spent.tokens), BUDGET),
            )
        )
        rows.append(
            Row(
                "both statements of a contradicted fact are found: the newest comes first",
                f"{100 * mean(spent.newest_first):.0f} %",
            )
        )
        rows.append(sampled("processor time of a recall, p50", [quantiles(spent.cpu, n=100)[49]], "s"))
        rows.append(sampled("processor time of a recall, p99", [quantiles(spent.cpu, n=100)[98]], "s"))
    return rows


def _asked(
    daemon: Daemon, client: Any, planted: Sequence[Fact], plain: Callable[[str, str], list[str]],
    spent: Recalled, place: str, *, in_project: bool, has_bar: bool,
) -> Iterator[Row]:  # fmt: skip
    def search(question: str, fact: Fact) -> list[str]:
        words = " ".join(f'"{word}"' for word in _words(question))
        params = {"query": words, "limit": _FIRST} | ({"project": fact.project} if in_project else {})
        return [hit["entryId"] for hit in client.call("session/search", params)["hits"]]

    def recalled(wordings: Sequence[str], fact: Fact) -> list[str]:
        params: dict[str, Any] = {"question": wordings[0], "budgetTokens": BUDGET}
        params |= {"also": wordings[1:]} if wordings[1:] else {}
        params |= {"project": fact.project} if in_project else {}
        before = daemon.cpu()
        result = client.call("session/recall", params)
        spent.cpu.append(daemon.cpu() - before)
        spent.tokens.append(result["tokens"])
        found = [passage["entryId"] for passage in result["passages"]]
        if fact.later and f"fact-{fact.name}" in found and fact.answer_id in found:
            spent.newest_first.append(found.index(fact.answer_id) < found.index(f"fact-{fact.name}"))
        return found

    def bm25(question: str, fact: Fact) -> list[str]:
        return plain(question, fact.project if in_project else "")

    questions: list[tuple[str, Callable[[Fact], list[str]], float | None]] = [
        ("question that shares words", lambda fact: [fact.same], SAME),
        ("question in other words", lambda fact: [fact.other], None),
        ("question in other words, two wordings in `also`", lambda fact: [fact.other, *fact.also], OTHER),
    ]
    for what, wordings, bar in questions:
        every = _score([_rank(fact, search(wordings(fact)[0], fact)) for fact in planted])
        ranked = _score([_rank(fact, bm25(" ".join(wordings(fact)), fact)) for fact in planted])
        ranks = [_rank(fact, recalled(wordings(fact), fact)) for fact in planted]
        score = _score(ranks)
        yield Row(
            f"{what}, in {place}: answer first, among five",
            str(score),
            f"search: {every}; any word, bm25: {ranked}",
            "" if bar is None or not has_bar else f">= {bar:.0f} % among five",
            "" if bar is None or not has_bar else at_least(score.among, bar),
            reason="" if bar is None or not has_bar or score.among >= bar else _REASON,
        )
        for kind in ("stated", "contradicted", "abandoned", "compacted"):
            some = [rank for rank, fact in zip(ranks, planted, strict=True) if fact.kind == kind]
            yield Row(f"  {kind} ({len(some)})", str(_score(some)))
        for file in dict.fromkeys(fact.file for fact in planted):
            some = [rank for rank, fact in zip(ranks, planted, strict=True) if fact.file == file]
            yield Row(f"  {file} ({len(some)})", str(_score(some)))


def _rank(fact: Fact, found: Sequence[str]) -> int:
    """Return the place of the answer among the results, from 0."""
    return found.index(fact.answer_id) if fact.answer_id in found else _NOT_FOUND


def _score(ranks: Sequence[int]) -> Score:
    return Score(100 * mean(rank == 0 for rank in ranks), 100 * mean(rank < _FIRST for rank in ranks))


def _words(question: str) -> list[str]:
    # The index splits at underscores, too, and has no positions, by which it would find two words as one.
    return [word for word in re.findall(r"[^\W_]+", question) if word.lower() not in STOP_WORDS]


class _Plain:
    """FTS5 on the unchanged words of the index: entries with any of the words, by bm25."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, question: str, project: str) -> list[str]:
        """Return the ids of the first entries, of one project or, if it is empty, of all."""
        words = " OR ".join(f'"{word}"' for word in _words(question))
        found = self._connection.execute(
            "SELECT entry_id FROM words JOIN entries ON entries.id = words.rowid JOIN files ON files.id = file"
            " WHERE words MATCH ? AND (? = '' OR cwd = ?) ORDER BY bm25(words) LIMIT ?",
            (words, project, project, _FIRST),
        )
        return [entry for (entry,) in found]


@contextmanager
def _plain(index: Path) -> Iterator[_Plain]:
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        yield _Plain(connection)


def _index(client: Any) -> None:
    """Wait until all texts are indexed."""
    until = time.monotonic() + _PATIENCE
    while client.call("session/recall", {"question": "x", "waitMs": 60_000})["unsearched"]["sizeBytes"]:
        if time.monotonic() > until:
            raise TimeoutError
