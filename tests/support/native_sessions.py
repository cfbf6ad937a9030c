"""Sessions as their agents' writers write them, and what is said in them as this program reads them back."""

import json  # noqa: TID251 - files are read as other programs read them
from typing import Any

from sessiond.agents import known
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_turns import accepts_data, native_conversation
from sessiond.session.formats.agent import read_turn
from sessiond.session.formats.conversation import Call, Result, TextPart, Turn
from support.dialects import as_log, imported
from support.logs import Line, Loaded, header, log, time_of

READ_BACK = [it for it in NATIVE_WRITERS if it in known.DIALECTS and it != "pi"]
"""The agents whose own formats this program reads."""

Said = tuple[str, ...]
"""One thing said: its kind, then its words; a call with its id, tool and arguments; a result with its id and text."""


def exported(*lines: Line, **fields: Any) -> ExportedSession:
    """The session of these lines, as an export has it."""
    whole = Loaded(log(header(), *lines))
    known = {
        "session_id": "session-1", "timestamp": time_of(0), "cwd": "/home/dev/clock", "title": None, "tags": (),
        "parent_session": None, "entries": whole.entries(), "leaf": whole.tree.leaf_id,
    }  # fmt: skip
    return ExportedSession(**(known | fields))


def native(agent: str, whole: ExportedSession) -> tuple[list[dict[str, Any]], ConversionLosses]:
    """The lines that an agent's writer writes, and its losses."""
    losses = ConversionLosses()
    data = NATIVE_WRITERS[agent](whole, losses)
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()], losses


def said_in(loaded: Loaded) -> list[Said]:
    """Return the texts in the context of a session."""
    items = [read_turn(message, 0) for message in loaded.context().messages]
    assert not [it for it in items if isinstance(it, str)]
    return [said for item in items if not isinstance(item, str) for said in _said(item)]


def to_be_said(whole: ExportedSession) -> list[Said]:
    """Return the texts of a native session of this session."""
    turns = [it.turn for it in native_conversation(whole, ConversionLosses(), accepts_data).turns]
    items: list[Turn | Result] = []
    for turn in turns:
        items += [turn, *turn.results]
    return [said for item in items for said in _said(item)]


def read_back(agent: str, whole: ExportedSession) -> list[Said]:
    """Return the texts of a session after it was written for an agent and read again."""
    return said_in(as_log(imported(NATIVE_WRITERS[agent](whole, ConversionLosses()))))


def _said(item: Turn | Result) -> list[Said]:
    texts = [part.text for part in item.parts if isinstance(part, TextPart)]
    if isinstance(item, Result):
        return [("result", item.call_id, "\n".join(texts))]
    calls = [part for part in item.parts if isinstance(part, Call)]
    spoken = [(item.role, "\n".join(texts))] if texts else []
    return [*spoken, *(("call", it.id, it.name, bytes(it.arguments).decode()) for it in calls)]
