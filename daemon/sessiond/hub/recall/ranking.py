"""Ranks the entries that may answer a question by the words of all wordings that match, close together or not."""

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sessiond.hub.index.database import Database
from sessiond.hub.index.searching import files_of, is_in, session_of
from sessiond.hub.index.text_tables import recalled_text
from sessiond.hub.recall import candidates, question, synonyms
from sessiond.hub.recall.matching import Match, Matcher
from sessiond.hub.recall.stemming import Stemmer
from sessiond.protocol import types as t
from sessiond.session.content.search_words import readable

MAX_FOUND: Final = 60
"""The number of ranked passages among which those about the same matter are found."""
_NEAR: Final = 0.85
"""The weight of matches that are close together, compared with those anywhere in the entry."""
_NAME_WEIGHT: Final = 0.25
"""The weight of a rare name in code, compared with all the words of the best entry."""
_NUMBER_WEIGHT: Final = 1.15
"""The weight of a sentence with a number, if the question asks for a number or a time."""
_HALF_LIFE_MS: Final = 90 * 86_400_000.0
_RECENCY: Final = 0.05
_WEIGHTS: Final = {
    "toolResult": 0.5, "bashExecution": 0.5, "pythonExecution": 0.5, "fileMention": 0.5, "user": 0.95,
}  # fmt: skip
_SUMMARY_TYPES: Final = frozenset(("compaction", "branch_summary"))
_SUMMARY_WEIGHT: Final = 0.9
"""A summary repeats an entry in fewer words, so the entry comes first if both are found."""
_TITLE_TYPES: Final = frozenset(("label", "session_info", "title_change", "session", "session_init"))
_TITLE_WEIGHT: Final = 0.7
_NEIGHBORHOOD: Final = 40
"""The number of entries before and after a passage in which its neighbor is looked for."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """The message before or after a passage."""

    entry_id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """An entry that answers a question, with all of its text.

    Attributes:
        ref: The ref of the log.
        seq: The row in the log.
        on_path: Whether it lies on the path to the leaf.
        session: The list row of the session.
        project: The folder of its project.
        entry_id: The entry, or the one that it labels; empty for the title in the header.
        type: The type of the entry.
        role: The role of a message.
        at: The time in milliseconds since 1970.
        text: The text.
        start: Where the part that matches best begins.
        matched: The words of the question that it matches, with the values of the matches.
        subject: The stems of the words of the sentence that matches best.
        beyond: The stems of `subject` that the question does not have.
        score: Its value, compared with the best one, whose score is 1.0.
        neighbor: The message before or after it.
    """

    ref: str
    seq: int
    on_path: bool
    session: t.ListedSession
    project: str
    entry_id: str
    type: str
    role: str | None
    at: int | None
    text: str
    start: int
    matched: Mapping[str, float]
    subject: frozenset[str]
    beyond: frozenset[str]
    score: float
    neighbor: Neighbor | None


class _Row(NamedTuple):
    entry: int
    file: int
    seq: int
    entry_id: str
    type: str
    role: str | None
    at: int | None
    target: str | None
    text: str


class _Scored(NamedTuple):
    row: _Row
    match: Match


class Finder:
    """Finds passages in the index. Used on the thread of the index."""

    def __init__(self) -> None:
        self._stemmer = Stemmer()

    def find(self, database: Database, params: t.RecallParams) -> "list[Passage]":
        """Return the passages that answer a question, best first; empty if it has no word."""
        asked = question.read([params.question, *(params.also or ())], synonyms.load(), self._stemmer)
        connection = database.connection
        allowed = _allowed(connection, params)
        found = candidates.find(connection, asked, allowed)
        matcher = Matcher(asked.concepts, found.values, self._stemmer)
        scored = [_Scored(row, matcher.match(row.text)) for row in _rows(database, found.entries)]
        scored = _without_copies(scored)
        ranked = _ranked(scored, found, asked)[:MAX_FOUND]
        sessions: dict[int, tuple[str, t.ListedSession, list[tuple[int, int]]]] = {}
        projects: dict[str, str] = {}
        passages = []
        for candidate, score in ranked:
            file = candidate.row.file
            if file not in sessions:
                sessions[file] = session_of(connection, file)
            session = sessions[file][1]
            if session.cwd not in projects:
                projects[session.cwd] = _project_of(connection, session.cwd)
            passages.append(
                _passage(
                    database,
                    candidate,
                    score,
                    sessions[file],
                    projects[session.cwd],
                    asked.concepts,
                    matcher,
                )
            )
        return passages


def _allowed(connection: sqlite3.Connection, params: t.RecallParams) -> Collection[int] | None:
    """Return the numbers of the entries that the filter allows; None for all."""
    if params.cwd is None and params.project is None and params.agent is None:
        return None
    files = files_of(connection, cwd=params.cwd, project=params.project, agent=params.agent)
    numbers = ",".join(map(str, files))
    return {entry for (entry,) in connection.execute(f"SELECT id FROM entries WHERE file IN ({numbers})")}


def _rows(database: Database, entries: Collection[int]) -> list[_Row]:
    numbers = ",".join(map(str, entries))
    found = database.connection.execute(
        "SELECT entries.id, file, seq, entry_id, type, role, at, target_id FROM entries"
        " JOIN files ON files.id = entries.file"
        f" WHERE entries.id IN ({numbers}) AND draft IS NOT NULL ORDER BY entries.id"
    ).fetchall()
    return [
        _Row._make((*columns, readable(recalled_text(database.texts.text(columns[0]), columns[5]))))
        for columns in found
    ]


def _without_copies(scored: Sequence[_Scored]) -> list[_Scored]:
    """Return the entries without repeated texts, as in a fork. The oldest entry with a text stays."""
    originals: dict[str, _Scored] = {}
    for candidate in sorted(scored, key=lambda candidate: (candidate.row.at or 0, candidate.row.entry)):
        originals.setdefault(candidate.row.text, candidate)
    return list(originals.values())


def _ranked(
    scored: Sequence[_Scored], found: candidates.Candidates, asked: question.ParsedQuestion
) -> list[tuple[_Scored, float]]:
    """Return the entries with their scores, best first; of equal ones, the newer comes first."""
    now = time.time_ns() // 1_000_000
    number = _NUMBER_WEIGHT if asked.asks_number else 1.0
    weights = [
        _weight(candidate.row, now) * (number if candidate.match.has_number else 1.0) for candidate in scored
    ]
    values = [_value(candidate.match) * weight for candidate, weight in zip(scored, weights, strict=True)]
    rarity = {name: 1.0 / len(entries) ** 0.5 for name, entries in found.by_name.items()}
    named = [
        sum(value for name, value in rarity.items() if name in candidate.row.text.lower()) * weight
        for candidate, weight in zip(scored, weights, strict=True)
    ]
    most, most_named = max(values, default=0.0) or 1.0, max(named, default=0.0) or 1.0
    totals = [
        value / most + _NAME_WEIGHT * name / most_named for value, name in zip(values, named, strict=True)
    ]
    best = max(totals, default=0.0) or 1.0
    ranked = [(candidate, total / best) for candidate, total in zip(scored, totals, strict=True) if total]
    return sorted(ranked, key=lambda pair: (-pair[1], -(pair[0].row.at or 0)))


def _value(match: Match) -> float:
    """Return the value of an entry: that of its matches anywhere, and of those that are close together."""
    return (1 - _NEAR) * sum(match.best.values()) + _NEAR * sum(match.near.values())


def _weight(row: _Row, now: int) -> float:
    weight = _WEIGHTS.get(row.role or "", 1.0)
    if row.type in _SUMMARY_TYPES:
        weight = _SUMMARY_WEIGHT
    elif row.type in _TITLE_TYPES:
        weight = _TITLE_WEIGHT
    age = max(0, now - row.at) if row.at is not None else 10 * _HALF_LIFE_MS
    return float(weight * (1.0 + _RECENCY * 2.0 ** (-age / _HALF_LIFE_MS)))


def _project_of(connection: sqlite3.Connection, cwd: str) -> str:
    row = connection.execute("SELECT project FROM projects WHERE cwd = ?", (cwd,)).fetchone()
    return cwd if row is None else str(row[0])


def _passage(
    database: Database, scored: _Scored, score: float,
    place: tuple[str, t.ListedSession, list[tuple[int, int]]], project: str,
    concepts: Sequence[question.Concept], matcher: Matcher,
) -> Passage:  # fmt: skip
    ref, session, off_path = place
    matched = {concepts[number].word: value for number, value in sorted(scored.match.best.items())}
    row = scored.row
    subject = matcher.subject(row.text, scored.match)
    return Passage(
        ref=ref, seq=row.seq, on_path=not is_in(row.seq, off_path), session=session, project=project,
        entry_id=row.target or row.entry_id, type=row.type, role=row.role, at=row.at, text=row.text,
        start=scored.match.start, matched=matched,
        subject=subject, beyond=matcher.beyond(subject), score=score,
        neighbor=_neighbor(database, row, off_path),
    )  # fmt: skip


def _neighbor(database: Database, row: _Row, off_path: Sequence[tuple[int, int]]) -> Neighbor | None:
    """Return the reply to a prompt, or the prompt of a reply, if it is near and on the same side of a branch."""
    if row.type != "message" or row.role not in ("user", "assistant"):
        return None
    is_prompt = row.role == "user"
    role, sign, order = ("assistant", 1, "") if is_prompt else ("user", -1, " DESC")
    bounds = sorted((row.entry + sign, row.entry + sign * _NEIGHBORHOOD))
    found = database.connection.execute(
        "SELECT seq, entry_id, id FROM entries WHERE id BETWEEN ? AND ?"
        f" AND file = ? AND role = ? AND type = 'message' ORDER BY seq{order} LIMIT 1",
        (*bounds, row.file, role),
    ).fetchone()
    if found is None or is_in(found[0], off_path) != is_in(row.seq, off_path):
        return None
    return Neighbor(found[1], role, readable(recalled_text(database.texts.text(found[2]), role)))
