"""Sessions in the form of the agents' writers, and their texts as the readers of this program return them."""

import json  # noqa: TID251 - files are read as other programs read them
from typing import Any

from sessiond.agents import known
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_turns import accepts_data, native_conversation
from sessiond.session.formats.agent import read_turn
from sessiond.session.formats.conversation import Call, Result, TextPart, Turn
from sessiond.session.tree.origin import OriginStep
from support.dialects import as_log, imported
from support.formats import PNG
from support.logs import (
    Line,
    Loaded,
    assistant,
    entry,
    header,
    log,
    time_of,
    tool_call,
    tool_result,
    user,
)

READ_BACK = [writer for writer in NATIVE_WRITERS if writer in known.DIALECTS and writer != "pi"]
"""The agents whose own formats this program reads."""

Said = tuple[str, ...]
"""One text: its kind and its words; for a call, its id, tool and arguments; for a result, its id and text."""


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
    assert not [item for item in items if isinstance(item, str)]
    return [said for item in items if not isinstance(item, str) for said in _said(item)]


def to_be_said(whole: ExportedSession) -> list[Said]:
    """Write a session for an agent, and return the texts of the native session."""
    turns = [
        native_turn.turn for native_turn in native_conversation(whole, ConversionLosses(), accepts_data).turns
    ]
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
    return [*spoken, *(("call", call.id, call.name, bytes(call.arguments).decode()) for call in calls)]


PICTURE = {"type": "image", "data": PNG, "mimeType": "image/png"}

THOUGHT = {"type": "thinking", "thinking": "I should read the file.", "thinkingSignature": "signed"}


def a_task(**fields: Any) -> ExportedSession:
    """A question with a picture, an answer with two calls, one of which fails, and a last answer."""
    calls = [
        THOUGHT, {"type": "text", "text": "I look."}, tool_call("read", {"path": "notes.txt"}, call="toolu_1"),
        tool_call("bash", {"command": "false"}, call="call|2"),
    ]  # fmt: skip
    return exported(
        user([{"type": "text", "text": "Look at this"}, PICTURE]),
        assistant(calls, model="claude-opus-4-8", provider="anthropic", stopReason="toolUse"),
        tool_result("three notes", call="toolu_1", isError=False),
        tool_result("Exit code 1", call="call|2", name="bash", isError=True),
        assistant("There are three notes.", model="claude-opus-4-8", provider="anthropic", stopReason="stop"),
        **fields,
    )  # fmt: skip


SKILLS = "<skills_instructions>\n- pdf: reads PDF files\n</skills_instructions>"

OPENED = "<ide_opened_file>The user opened /x.py in the IDE.</ide_opened_file>"

COMMAND = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>the parser</command-args>"
)


def with_added_text(**fields: Any) -> ExportedSession:
    """A session in which the agent has put text before, between and around the words of the user."""
    return exported(
        entry("custom_message", customType="codex.developer", content=SKILLS, display=False),
        user([{"type": "text", "text": OPENED}, {"type": "text", "text": "rename the parser"}]),
        entry("custom_message", customType="claude-code.skill_listing", content="pdf: reads", display=False),
        assistant([THOUGHT, {"type": "text", "text": "renamed"}], stopReason="stop"),
        user("<local-command-stdout>Total cost: $1</local-command-stdout>"),
        user("<bash-input>ls -l</bash-input>"), user("<bash-stdout>two files</bash-stdout>"),
        user(COMMAND), entry("custom_message", customType="claude-code.meta", content="You review", display=False),
        assistant("reviewed", stopReason="stop"), user("<command-name>/clear</command-name>"),
        entry("custom_message", customType="my-extension", content="from an extension", display=False),
        agent="claude-code", **fields,
    )  # fmt: skip


LINEAGE = (OriginStep("claude-code", "first-session"), OriginStep("gemini", "second-session"))
