"""Finds data that an agent writes into its sessions and that our readers do not know.

A reader keeps a line without a counterpart unchanged, and names its kind. `KNOWN` has the kinds that the pinned version
of each agent writes and that are kept on purpose. Any other kind is new.
"""

import json  # noqa: TID251 - a list for people, in the form of the files beside it
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sessiond.agents import known
from sessiond.agents.table import AGENTS
from sessiond.session.dialects.source import Source
from support.real_agents import PROJECT, NativeSession, RealAgents, read_call
from support.scripted_model import ScriptedModel

KNOWN_FILE = PROJECT / "tests/data/agents/known_kinds.json"
KNOWN: dict[str, list[str]] = json.loads(KNOWN_FILE.read_text(encoding="utf-8"))
QUESTION, ANSWER = "Where is the heron?", "The heron stands in the reeds."
SECOND_QUESTION, SECOND_ANSWER = "And the owl?", "The owl sleeps in the barn."


@dataclass(frozen=True)
class Reading:
    """The result of a reader for one session file."""

    session_id: str
    kinds: frozenset[str]
    """The kinds of the lines that were kept as they are."""
    problems: tuple[str, ...]
    text: str
    """All entries, one a line."""


def reading(name: str, file_name: str, data: bytes) -> Reading:
    """Read one session file of an agent."""
    dialect = AGENTS[name].dialect
    assert dialect is not None
    session = known.DIALECTS[dialect].read(Source(file_name, data, "2026-03-01T08:00:00.000Z", False, {}))
    text = "\n".join(entry.line.decode() for entry in session.entries)
    problems = tuple(f"line {problem.line}: {problem.message}" for problem in session.report.problems)
    return Reading(session.source_id, frozenset(session.report.preserved), problems, text)


def two_turns(name: str, agents: RealAgents, model: ScriptedModel, project: Path) -> list[NativeSession]:
    """Let an agent call a tool, answer, and answer again after a resume. Returns its sessions."""
    file = project / "reeds.txt"
    file.write_text("a heron\n", encoding="utf-8")
    tool, arguments = read_call(name, file)
    model.when(QUESTION).calls(tool, **arguments).says(ANSWER)
    model.when(SECOND_QUESTION).says(SECOND_ANSWER)
    agents.turn(name, project, QUESTION)
    agents.resume(name, project, agents.native_id(name), SECOND_QUESTION)
    return agents.sessions(name)


def long_session(
    name: str,
    agents: RealAgents,
    model: ScriptedModel,
    project: Path,
    calls: int,
    half_way: threading.Event | None = None,
) -> NativeSession:
    """Let an agent read a number of files of 12 kB, one after the other, and answer again after a resume.

    The project has instructions of 14 kB, which some agents repeat in their sessions. The second half of the files
    waits for the event `half_way`.
    """
    for instructions in ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md"):
        (project / instructions).write_text("Herons stand in reeds.\n" * 600, encoding="utf-8")
    rule = model.when(QUESTION)
    for number in range(calls):
        file = project / f"notes-{number}.txt"
        file.write_text(f"note {number}\n" + "a heron in the reeds\n" * 600, encoding="utf-8")
        tool, arguments = read_call(name, file)
        if half_way is not None and number == calls // 2:
            rule.waits_for(half_way)
        rule.calls(tool, **arguments)
    rule.says(ANSWER)
    model.when(SECOND_QUESTION).says(SECOND_ANSWER)
    agents.turn(name, project, QUESTION)
    agents.resume(name, project, agents.native_id(name), SECOND_QUESTION)
    return agents.sessions(name)[-1]


def news(name: str, file_name: str, data: bytes) -> Iterator[str]:
    """One sentence for each part of a session of two turns that our reader does not know."""
    found = reading(name, file_name, data)
    for kind in sorted(found.kinds - set(KNOWN.get(name, ()))):
        yield f"unknown kind of line: {kind}"
    for problem in found.problems:
        yield f"problem: {problem}"
    for text in (QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER):
        if text not in found.text:
            yield f"not read: {text}"
