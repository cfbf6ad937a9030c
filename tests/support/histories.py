"""Hypothesis strategies for whole session logs: branches, calls in any order, compactions, edits, moves, oddities.

Ids of calls come from a small pool, so that calls with the same id occur, and are answered twice, late, or never.
"""

import json  # noqa: TID251  (tests write lines that msgspec refuses to write)
from typing import Any

from hypothesis import strategies as st

from support import logs
from support.logs import Line, Loaded

_CALLS = ("x", "y", "z")
_WORDS = st.text("abc é😀", max_size=30)
_TALK = ("user", "assistant", "caller", "caller", "result")
_REST = (
    "bash", "system", "custom_message", "branch_summary", "compaction", "compaction", "context_edit",
    "context_edit", "reset", "leaf", "label", "model_change", "custom", "unknown", "unknown_role",
)  # fmt: skip


@st.composite
def histories(draw: st.DrawFn, *, longest: int = 40) -> Loaded:
    """A log in the form of the core. Most entries are children of the previous one."""
    lines: list[Line | bytes] = [logs.header()]
    ids: list[str] = []
    for number in range(draw(st.integers(2, longest))):
        entry_id = f"n{number}"
        if ids and draw(st.integers(0, 19)) == 0:
            above = draw(st.sampled_from([*ids, None]))
        else:
            above = ids[-1] if ids else None
        # Some references name a later entry, a missing entry, or the entry itself.
        to_come = [f"n{number + 1}", f"n{number + 3}"]
        target = draw(st.sampled_from([*ids[-8:], *to_come, "nobody", entry_id]))
        kind = draw(st.sampled_from(_TALK if draw(st.integers(0, 3)) else _REST))
        line = _line(draw, kind, target)
        line |= {"id": entry_id, "parentId": line["targetId"] if line["type"] == "leaf" else above}
        lines.append(line)
        ids.append(entry_id)
    return Loaded(logs.log(*lines))


def _line(draw: st.DrawFn, kind: str, target: str) -> Line:
    words = draw(_WORDS)
    match kind:
        case "user":
            return logs.user(words)
        case "assistant":
            return logs.assistant(words, **_usage(draw))
        case "caller":
            calls = draw(st.lists(st.sampled_from(_CALLS), min_size=1, max_size=3, unique=True))
            blocks: list[Any] = [logs.tool_call("read", {"path": f"{words}.py"}, call=call) for call in calls]
            stop = draw(st.sampled_from(("toolUse", "toolUse", "toolUse", "aborted")))
            return logs.assistant([{"type": "text", "text": words}, *blocks], stopReason=stop, **_usage(draw))
        case "result":
            return logs.tool_result(words * 5, call=draw(st.sampled_from(_CALLS)))
        case "bash":
            return logs.message("bashExecution", None, command=words, output="ok")
        case "system":
            return logs.message("system", words, sections={"a": words or None})
        case "custom_message":
            return logs.entry("custom_message", customType="note", content=words, display=True)
        case "branch_summary":
            return logs.entry("branch_summary", fromId=target, summary=words)
        case "compaction":
            return logs.compaction(words, target)
        case "context_edit":
            blocks = [logs.tool_call("write", {"path": "edited.py"}, call="x")]
            content = draw(st.sampled_from((None, {"content": words}, {"content": blocks})))
            return logs.entry("context_edit", targetId=target, replacement=content)
        case "reset":
            return logs.entry("reset_boundary")
        case "leaf":
            return logs.leaf(target)
        case "label":
            return logs.label(target, words)
        case "model_change":
            return logs.entry("model_change", model="anthropic/clock", role="default")
        case "custom":
            return logs.entry("custom", customType="state", data={"n": 1})
        case "unknown_role":
            return logs.message("oracle", words)
    return logs.entry("from_the_future", words=words)


def _usage(draw: st.DrawFn) -> dict[str, Any]:
    tokens = draw(st.sampled_from((None, None, 0, 17)))
    return (
        {} if tokens is None else {"usage": {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    )


_NUMBERS = st.integers() | st.floats(allow_nan=False)
_LEAVES: st.SearchStrategy[Any] = st.none() | st.booleans() | _NUMBERS | st.text(max_size=5)
_NAMES = st.sampled_from(
    (
        "role",
        "content",
        "type",
        "text",
        "id",
        "toolCallId",
        "usage",
        "arguments",
        "summary",
        "details",
        "path",
    )
)
_ANYTHING: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def hostile_logs(draw: st.DrawFn) -> Loaded:
    """A chain of entries of the known types whose fields hold anything; some lines are cut off."""
    lines: list[Line | bytes] = [logs.header()]
    kinds = ("message", "compaction", "context_edit", "branch_summary", "custom_message", "leaf", "label")
    for number in range(draw(st.integers(1, 12))):
        message = draw(st.dictionaries(_NAMES, _ANYTHING, max_size=4))
        message |= {
            "role": draw(st.sampled_from(("user", "assistant", "toolResult", "system", "x", None, 7)))
        }
        fields = {"message": message, "targetId": f"n{number - 1}", "firstKeptEntryId": f"n{number // 2}"}
        fields |= draw(st.dictionaries(_NAMES | st.sampled_from(sorted(fields)), _ANYTHING, max_size=3))
        fields |= {"replacement": draw(_ANYTHING)}
        line = logs.entry(draw(st.sampled_from(kinds)))
        line = {**fields, **line, "id": f"n{number}", "parentId": f"n{number - 1}" if number else None}
        if draw(st.integers(0, 9)) == 0:
            whole = json.dumps({**line, "timestamp": "x"}).encode()
            lines.append(whole[: draw(st.integers(0, len(whole)))] + b"\n")
        else:
            lines.append(line)
    return Loaded(logs.log(*lines))
