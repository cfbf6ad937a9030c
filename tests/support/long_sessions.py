"""Sessions of agents as lines, of any length, with all kinds of lines that affect the reading of later lines."""

from typing import Any

from support import dialect_files
from support.dialect_files import SESSION, answer, call, codex, event, item, meta, said


def claude_session(turns: int, *, long: int = 0) -> list[Any]:
    """A conversation of Claude Code with a tool call and a title in each turn.

    Args:
        turns: The number of turns.
        long: The length of the long lines that the program adds.
    """
    lines: list[Any] = []
    last: str | None = None

    def link(type: str, uuid: str, content: Any = None, **fields: Any) -> None:
        nonlocal last
        lines.append(dialect_files.claude(type, uuid, fields.pop("parent", last), content, **fields))
        if fields.get("isSidechain") is not True:
            last = uuid

    def beside(type: str, **fields: Any) -> None:
        lines.append({"type": type, "sessionId": SESSION, **fields})

    for turn in range(turns):
        asked = f"question {turn}"
        beside("queue-operation", operation="enqueue", content=asked, timestamp="2026-01-01T00:00:01.000Z")
        if turn % 5 == 3:
            beside("queue-operation", operation="popAll")
        beside("queue-operation", operation="dequeue")
        link("user", f"line-of-{turn}-0", asked)
        if long:
            link(
                "attachment", f"snapshot-{turn}", attachment={"type": "prompt_snapshot", "text2": "y" * long}
            )
        parts = {"message_id": f"m{turn}"}
        link("assistant", f"think-{turn}", [{"type": "thinking", "thinking": "hm"}], stop=None, **parts)
        link(
            "assistant",
            f"line-of-{turn}-1",
            [{"type": "text", "text": "I look"}, call(2 * turn)],
            stop=None,
            **parts,
        )
        link(
            "assistant",
            f"also-{turn}",
            [call(2 * turn + 1)],
            stop="tool_use",
            usage={"input_tokens": 3},
            **parts,
        )
        above = last
        link(
            "user",
            f"line-of-{turn}-2",
            [answer(2 * turn, "x" * long or "content")],
            parent=f"line-of-{turn}-1",
        )
        link("user", f"second-{turn}", [answer(2 * turn + 1)], parent=above)
        if turn % 4 == 1:
            for part in range(2):
                link(
                    "assistant" if part else "user",
                    f"aside-{turn}-{part}",
                    f"task {turn}",
                    parent=f"aside-{turn}-0" if part else None,
                    isSidechain=True,
                    agentId=f"agent{turn}",
                )
        link(
            "assistant", f"line-of-{turn}-3", f"answer {turn}", usage={"input_tokens": 5, "output_tokens": 7}
        )
        if long:
            link("attachment", f"after-{turn}", attachment={"type": "prompt_snapshot", "text2": "z" * long})
        beside("last-prompt", lastPrompt=str(turn), leafUuid=last)
        if turn % 6 == 4:
            kept = [f"line-of-{turn}-0", f"line-of-{turn}-3"]
            metadata = {"preTokens": 99, "preservedMessages": {"uuids": kept}}
            old = last
            link("system", f"boundary-{turn}", parent=None, subtype="compact_boundary", content="Compacted",
                 logicalParentUuid=old, compactMetadata=metadata)  # fmt: skip
            link("user", f"summary-{turn}", "A summary", isCompactSummary=True)
        if turn % 7 == 5:
            beside("last-prompt", lastPrompt="", leafUuid=f"line-of-{turn - 1}-3", explicit=True)
            last = f"line-of-{turn - 1}-3"
        if turn % 8 == 6:
            last = "never-written" if turn % 16 == 6 else None
        title = {"type": "ai-title", "aiTitle": f"title {turn}"}
        if turn == 1:
            title = {"type": "custom-title", "customTitle": "chosen by a person"}
        lines.append({**title, "sessionId": SESSION})
        link("future-kind", f"future-{turn}", data=turn)
    return lines


def codex_session(turns: int, *, long: int = 0) -> list[Any]:
    """A conversation of Codex with a tool call in each turn, compactions, rollbacks, and other models."""
    lines: list[Any] = [meta()]

    def at(line: Any) -> None:
        second = len(lines)
        lines.append(
            {
                **line,
                "timestamp": f"2026-01-01T00:{second // 60 % 60:02}:{second % 60:02}.{second // 3600:03}Z",
            }
        )

    total = 0
    for turn in range(turns):
        at(codex("turn_context", {"model": f"gpt-{turn // 3}", "effort": "high", "cwd": "/work"}))
        asked = f"<b>question {turn}</b>" if turn % 3 == 1 else f"question {turn}"
        at(said("user", asked))
        if turn % 2:
            at(event("user_message", message=asked))
        at(event("agent_message", message=f"only shown {turn}"))
        at(item("function_call", name="shell", call_id=f"c{turn}", arguments="{}"))
        at(item("function_call_output", call_id=f"c{turn}", output="x" * long or "done"))
        at(event("agent_message", message=f"answer {turn}"))
        at(said("assistant", f"answer {turn}"))
        total += 10
        usage = {"input_tokens": total, "output_tokens": 1, "total_tokens": total}
        at(
            event(
                "token_count", info={"last_token_usage": usage, "total_token_usage": {**usage, "turn": turn}}
            )
        )
        if turn % 5 == 4:
            history = [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]}
            ]
            at(codex("compacted", {"message": f"summary {turn}", "replacement_history": history}))
        if turn % 6 == 3:
            at(event("thread_rolled_back", num_turns=2))
    return lines


def pi_session(turns: int, *, long: int = 0) -> list[Any]:
    """A conversation of pi, with rewinds and lines that set the leaf."""
    time = {"timestamp": "2026-01-01T00:00:00.000Z"}
    lines: list[Any] = [{"type": "session", "version": 3, "id": SESSION, "cwd": "/work", **time}]
    last: str | None = None

    def entry(type: str, id: str, **fields: Any) -> None:
        nonlocal last
        lines.append({"type": type, "id": id, "parentId": fields.pop("parent", last), **time, **fields})
        last = id

    for turn in range(turns):
        entry("message", f"u{turn:07}", message={"role": "user", "content": f"question {turn}"})
        content = [{"type": "text", "text": f"answer {turn}" + "x" * long}]
        entry(
            "message", f"a{turn:07}", message={"role": "assistant", "content": content, "usage": {"input": 3}}
        )
        if turn % 4 == 2:
            entry("leaf", f"l{turn:07}", targetId=f"a{turn - 1:07}")
            last = f"a{turn - 1:07}"
        if turn % 5 == 4:
            entry("compaction", f"c{turn:07}", summary="s", firstKeptEntryId=f"u{turn:07}", tokensBefore=9)
    return lines


SESSIONS = {"claude-code": claude_session, "codex": codex_session, "pi": pi_session}
