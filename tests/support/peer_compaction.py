"""Records the compactions that the real pi would make: tests/data/compaction/pi-1.6.0.json.

It has an answer for each session of tests/data/compaction and for those of tests/data/conformance that pi opens; see
peer_programs/pi-compaction.mjs. Made by scripts/record-peers.
"""

import json  # noqa: TID251 - as scripts/record-peers writes it
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import golden
from support.peers import PI, PROGRAMS, PROJECT, PeerFailed, run_program

FOLDER = PROJECT / "tests" / "data" / "compaction"
RECORDED = FOLDER / f"{PI}.json"
KEEP = (1, 10, 40, 80, 120, 200, 300, 100_000)
BUDGETS = (0, 40)
_ENDLESS = ("self-parent", "cycle-of-two", "cycle-off-the-path", "duplicate-id-makes-a-cycle")


@dataclass(frozen=True)
class Question:
    """A session file, and the question to pi about it. `str(question)` is a name for a test."""

    case: str
    file: Path

    def __str__(self) -> str:
        return self.case


def questions() -> list[Question]:
    """All files with an answer."""
    ours = [Question(f"compaction/{file.stem}", file) for file in sorted(FOLDER.glob("*.jsonl"))]
    return [*ours, *(Question(f"conformance/{case.name}", case.file) for case in _opened_by_pi())]


def ask(question: Question) -> dict[str, Any]:
    """Return the answer of pi about a copy of a file; `failed` if pi throws an error."""
    with tempfile.TemporaryDirectory(prefix="peer-copy-") as folder:
        copy = Path(folder) / question.file.name
        shutil.copyfile(question.file, copy)
        asked = {"file": str(copy), "keep": KEEP, "moves": _moves(question.file)}
        try:
            answer: dict[str, Any] = json.loads(run_program(PI, PROGRAMS / "pi-compaction.mjs", asked))
        except PeerFailed:
            return {"failed": True}
    return answer


def record() -> str:
    """Make the recording again: a line for each file."""
    answers = {question.case: ask(question) for question in questions()}
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(answer)}" for case, answer in answers.items())
    return f"{{\n{lines}\n}}\n"


def recorded() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def _opened_by_pi() -> Iterator[golden.GoldenCase]:
    for case in golden.cases():
        asked = case.origin == "conformance" and case.peer == PI and case.name not in _ENDLESS
        opens = not case.hung and case.answers.open_error is None and not case.generated_ids
        if asked and opens and case.answers.views and not any(view.error for view in case.answers.views):
            yield case


def _moves(file: Path) -> list[tuple[str, str, int]]:
    """Moves from each tip to the other tips, to the first entry, and to an entry halfway; with and without a budget."""
    parents = {entry["id"]: entry.get("parentId") for entry in _entries(file)}
    tips = [entry_id for entry_id in parents if entry_id not in parents.values()][-3:]
    found = []
    for tip in tips:
        path = [tip]
        while (above := parents[path[-1]]) in parents:
            path.append(above)
        for target in dict.fromkeys((*tips, path[-1], path[(len(path) - 1) // 2])):
            if target != tip:
                found += [(tip, target, budget) for budget in BUDGETS]
    return found


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_bytes().split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry.get("type") != "session":
            yield entry
