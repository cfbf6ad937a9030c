"""The messages in lines of Claude Code's transcript, as the Claude Agent SDK passes the lines to a store.

Unlike the reader of files (`agents.claude_code.reader`), it sees one line at a time and never a later one. So each line
of an answer becomes a message of its own, and lines follow each other in their order, not in that of `parentUuid`.
"""

from typing import Any, Final

from sessiond.adapters.items import Entry
from sessiond.agents.claude_code import attachments as claude_attachments, messages as claude_messages
from sessiond.session.content import fields

_TITLES: Final = ("summary", "ai-title", "agent-name", "custom-title")
"""Types of lines with a title, the best title last."""
_TITLE_FIELDS: Final = {
    "summary": "summary", "ai-title": "aiTitle", "agent-name": "agentName", "custom-title": "customTitle",
}  # fmt: skip
_CUSTOM_TYPE: Final = "claude-code"


class LineReader:
    """Reads the lines of one transcript in order. It stores the names of called tools and the best title."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._title_rank = 0
        self._tokens_before: int | float = 0

    def shown(self, line: dict[str, Any]) -> list[Entry]:
        """Return the entries that show a line; empty for a line that is not for people or models."""
        at = fields.text(line.get("timestamp"))
        at = at if at is not None and fields.milliseconds(at) is not None else ""
        message = fields.mapping(line.get("message"))
        has_content = isinstance(message.get("content"), list | str)
        found: list[Entry] = []
        match line.get("type"):
            case "assistant" if has_content:
                found = [self._answer(line, message, at)]
            case "user" if has_content and line.get("isCompactSummary") is True:
                text = claude_messages.plain_text(message["content"])
                found = [{"type": "compaction", "summary": text, "tokensBefore": self._tokens_before}]
            case "user" if has_content:
                found = self._of_user(line, message["content"], at)
            case "system" if line.get("subtype") == "compact_boundary":
                data = fields.mapping(line.get("compactMetadata"))
                self._tokens_before = fields.number(data.get("preTokens"))
            case "attachment":
                attachment = fields.mapping(line.get("attachment"))
                made = claude_attachments.entry_of(attachment, custom_type=_CUSTOM_TYPE, at=at)
                found = [] if made is None else [{"type": made[0], **made[1]}]
            case str() as type if type in _TITLES:
                found = self._title(type, fields.text(line.get(_TITLE_FIELDS[type])))
        return [entry | {"timestamp": at} for entry in found] if at else found

    def _answer(self, line: dict[str, Any], message: dict[str, Any], at: str) -> Entry:
        failed = line.get("isApiErrorMessage") is True
        made = claude_messages.assistant([message], at=at, synthetic_is_error=failed)
        if fields.text(message.get("stop_reason")) is None:
            made.pop(
                "usage", None
            )  # each line of an answer repeats its usage, so the usage of the last line counts
        for block in made["content"]:
            if block.get("type") == "toolCall":
                self._tools[block["id"]] = block["name"]
        return {"type": "message", "message": {"usage": _NO_USAGE, **made}}

    def _of_user(self, line: dict[str, Any], content: Any, at: str) -> list[Entry]:
        found: list[Entry] = []
        spoken: list[Any] = []
        for block in fields.items(content):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                tool = self._tools.get(fields.as_text(block.get("tool_use_id")), "")
                found.append({"type": "message", "message": claude_messages.tool_result(block, tool, at=at)})
            else:
                spoken.append(block)
        if isinstance(content, str) or spoken:
            message = claude_messages.user(content if isinstance(content, str) else spoken, at=at)
            if line.get("isMeta") is not True and claude_attachments.is_human(line.get("origin")):
                found.append({"type": "message", "message": message})
            else:
                custom_type = f"{_CUSTOM_TYPE}.meta"
                inserted = {
                    "customType": custom_type, "content": message["content"], "display": False,
                }  # fmt: skip
                found.append({"type": "custom_message", **inserted})
        return found

    def _title(self, type: str, title: str | None) -> list[Entry]:
        rank = _TITLES.index(type)
        if title is None or rank < self._title_rank:
            return []
        self._title_rank = rank
        return [{"type": "session_info", "name": title}]


_NO_USAGE: Final = {**claude_messages.usage({})}
