"""The tool calls of a turn. ACP describes one call in several messages, each of which may be the first."""

from dataclasses import dataclass, field
from typing import Any

from sessiond.acp import content
from sessiond.session.content import fields

Json = dict[str, Any]


@dataclass(slots=True)
class RecordedCall:
    """One tool call.

    Attributes:
        id: The agent's id of the call.
        known: The members that its messages have set; a later message replaces what it names.
        has_call: Whether the entry of the call was made.
        has_result: Whether the entry of its result was made.
    """

    id: str
    known: Json = field(default_factory=dict)
    has_call: bool = False
    has_result: bool = False

    def merge(self, update: Json) -> None:
        """Update the members from a message."""
        meta = {**fields.mapping(self.known.get("_meta")), **fields.mapping(update.get("_meta"))}
        self.known |= {
            name: value for name, value in update.items() if value is not None and name != "sessionUpdate"
        }
        if meta:
            self.known["_meta"] = meta

    @property
    def has_input(self) -> bool:
        """Whether its input has arrived; some agents send an empty input first."""
        return self.known.get("rawInput") not in (None, {}, "")

    @property
    def is_over(self) -> bool:
        """Whether it has completed or failed."""
        return self.known.get("status") in ("completed", "failed")

    @property
    def has_output(self) -> bool:
        """Whether a part of the result of the call has arrived."""
        return bool(self.known.get("content")) or self.known.get("rawOutput") is not None

    def call_block(self) -> Json:
        """Return the block of a message that makes the call."""
        return {
            "type": "toolCall", "id": self.id, "name": content.tool_name(self.known),
            "arguments": fields.arguments(self.known.get("rawInput")),
        }  # fmt: skip

    def description(self) -> Json:
        """Return what the editor shows of the call."""
        return {name: self.known[name] for name in ("title", "kind", "locations") if self.known.get(name)}

    def result(self) -> Json:
        """Return the message with its result."""
        blocks = content.result_blocks(self.known.get("content"), self.known.get("rawOutput"))
        details = {
            name: self.known[name] for name in ("rawOutput", "locations") if self.known.get(name) is not None
        }
        diffs = [
            part
            for part in fields.items(self.known.get("content"))
            if fields.mapping(part).get("type") == "diff"
        ]
        if diffs:
            details["diffs"] = diffs
        if self.known.get("status") != "completed":
            details["status"] = fields.text(self.known.get("status")) or "unknown"
        return {
            "role": "toolResult", "toolCallId": self.id, "toolName": content.tool_name(self.known),
            "content": blocks or [{"type": "text", "text": ""}],
            "isError": self.known.get("status") != "completed",
            **({"details": details} if details else {}),
        }  # fmt: skip
