"""The sessions in which recall is measured: facts of tests/data/recall among passages made of the same words.

The passages around the facts are drawn from the words of all facts and questions, as often as these have them. So every
word of a question also occurs many times where it answers nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import msgspec
from scripts.benchmarks.session_files import assistant_message, session_name, user_message

FACTS: Final = Path(__file__).resolve().parents[2] / "tests/data/recall"
PROJECTS: Final = tuple(
    f"/home/ada/{name}" for name in ("alder", "birch", "cedar", "elder", "hazel", "maple")
)
AGENTS: Final = ("", "claude-code", "codex", "gemini", "opencode")
"""The agents that the sessions come from; the first sessions began in sessiond."""
ENTRIES: Final = 12
"""The entries of a session."""
_START: Final = datetime(2026, 1, 5, tzinfo=UTC)
_ALTERNATIVES: Final = re.compile(r"\{([^{}/]+)/([^{}]+)\}")

Kind = Literal["stated", "contradicted", "abandoned", "compacted"]
"""The way in which a fact is stated: plainly, contradicted later, on an abandoned branch, or before a compaction."""


@dataclass(frozen=True)
class Fact:
    """A fact of a project, and questions that it answers.

    Attributes:
        name: A part of the ids of its entries.
        file: The name of the file that it is from.
        project: The folder of the project.
        kind: The way in which it is stated.
        text: The fact; for a contradicted fact, the first statement.
        later: The contradicting fact of a later session.
        same: A question that shares words with it.
        other: A question in other words.
        also: Other wordings of `other`.
    """

    name: str
    file: str
    project: str
    kind: Kind
    text: str
    later: str
    same: str
    other: str
    also: tuple[str, ...]

    @property
    def answer_id(self) -> str:
        """The id of the entry that answers the questions."""
        return f"later-{self.name}" if self.later else f"fact-{self.name}"


@dataclass
class _Block:
    file: str
    fact: str
    later: str = ""
    same: str = ""
    other: str = ""
    also: list[str] = field(default_factory=list)


def facts() -> list[Fact]:
    """Return the facts of the files, two for each block."""
    found: list[Fact] = []
    kinds: tuple[Kind, ...] = ("stated", "abandoned", "compacted")
    for number, block in enumerate(_blocks()):
        for side in (0, 1):
            project = PROJECTS[(number + 3 * side) % len(PROJECTS)]
            kind: Kind = "contradicted" if block.later else kinds[(number + side) % len(kinds)]
            fact, later, same, other, *also = (
                _ALTERNATIVES.sub(rf"\{side + 1}", text)
                for text in (block.fact, block.later, block.same, block.other, *block.also)
            )
            found.append(
                Fact(f"{number}-{side}", block.file, project, kind, fact, later, same, other, tuple(also))
            )
    return found


def write(folder: Path, planted: Sequence[Fact], sessions: int) -> None:
    """Write session files.

    Args:
        folder: The folder of sessions of a daemon.
        planted: The facts. Each statement is in a separate session, at a random time.
        sessions: The number of sessions, at least 400. Those without a fact are spread over the projects evenly.
    """
    random = Random(17)
    talk = _Talk(random, planted)
    statements = [(fact, fact.text, f"fact-{fact.name}") for fact in planted]
    statements += [(fact, fact.later, f"later-{fact.name}") for fact in planted if fact.later]
    random.shuffle(statements)
    statements.sort(
        key=lambda statement: statement[2].startswith("later-")
    )  # the later statement is in a later session
    earlier, newer = sessions * 4 // 5, len([fact for fact in planted if fact.later])
    places = random.sample(range(earlier), len(statements) - newer)
    places += random.sample(range(earlier, sessions), newer)
    days = [day * 180 / sessions for day in range(sessions)]
    by_place = dict(zip(places, statements, strict=True))
    for number in range(sessions):
        at = _START + timedelta(days=days[number])
        _write_session(folder, talk, random, number, at, by_place.get(number))


def _write_session(
    folder: Path, talk: "_Talk", random: Random, number: int, at: datetime, statement: tuple[Fact, str, str] | None
) -> None:  # fmt: skip
    session = f"recall-{number:05}"
    cwd = statement[0].project if statement else PROJECTS[number % len(PROJECTS)]
    lines = _Lines(session, cwd, at, AGENTS[number % len(AGENTS)])
    place = random.randrange(1, ENTRIES - 4)
    for entry in range(ENTRIES):
        if statement is None or entry != place:
            lines.message(random, talk.passage())
            continue
        fact, text, entry_id = statement
        before = lines.last
        lines.message(random, talk.around(text), entry_id)
        if fact.kind == "abandoned" and entry_id.startswith("fact"):
            lines.message(random, talk.passage())
            lines.last = before
        elif fact.kind == "compacted":
            lines.message(random, talk.passage())
            lines.compaction(talk.passage())
    path = folder / f"--{cwd.strip('/').replace('/', '-')}--" / session_name(session)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines.written))


class _Lines:
    """The lines of one session."""

    def __init__(self, session: str, cwd: str, at: datetime, agent: str) -> None:
        self._session = session
        self._at = at
        self.last: str | None = None
        self.written: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": session, "timestamp": self._time(), "cwd": cwd}
        ]
        if agent:
            data = {"source": agent, "sourceId": session, "sourcePath": f"/home/ada/.{agent}/{session}"}
            self._write({"type": "custom", "customType": "sessiond.origin", "data": data})

    def message(self, random: Random, text: str, entry_id: str | None = None) -> None:
        """Add a message with a text, usually of an assistant."""
        message = user_message(text) if random.random() < 1 / 3 else assistant_message(text)
        self._write({"type": "message", "message": message}, entry_id)

    def compaction(self, summary: str) -> None:
        """Add a compaction that replaces all entries before the last one."""
        self._write(
            {"type": "compaction", "summary": summary, "firstKeptEntryId": self.last, "tokensBefore": 9_000}
        )

    def _write(self, entry: dict[str, Any], entry_id: str | None = None) -> None:
        self._at += timedelta(minutes=1)
        made = entry_id or f"{self._session[-5:]}-{len(self.written)}"
        self.written.append({**entry, "id": made, "parentId": self.last, "timestamp": self._time()})
        self.last = made

    def _time(self) -> str:
        return f"{self._at:%Y-%m-%dT%H:%M:%S}.000Z"


class _Talk:
    """Makes passages of the words of facts and questions."""

    def __init__(self, random: Random, planted: Sequence[Fact]) -> None:
        self._random = random
        self._words = [
            word.strip(".,;:?()")
            for fact in planted
            for text in (fact.text, fact.later, fact.same, fact.other, *fact.also)
            for word in text.split()
        ]

    def passage(self) -> str:
        """Return one to five sentences."""
        return " ".join(self._sentence() for _ in range(self._random.randint(1, 5)))

    def around(self, text: str) -> str:
        """Return a text with none to three sentences before and after it."""
        before, after = (
            " ".join(self._sentence() for _ in range(self._random.randint(0, 3))) for _ in range(2)
        )
        return f"{before} {text} {after}".strip()

    def _sentence(self) -> str:
        words = self._random.choices(self._words, k=self._random.randint(7, 22))
        return " ".join(words).capitalize() + "."


def _blocks() -> Iterator[_Block]:
    for path in sorted(FACTS.glob("facts-*.txt")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            if not lines:
                continue
            made = _Block(path.name, lines[0])
            for line in lines[1:]:
                name, _, text = line.partition(": ")
                if name == "also":
                    made.also.append(text)
                else:
                    setattr(made, name, text)
            yield made
