"""Renders a conversation as text for a summarizer: roles as labels, long tool results cut, thinking omitted.

The labels are those of pi (decision 0019). The text is untrusted; `prompts` puts it between tags.
"""

from collections.abc import Callable
from typing import Final

from sessiond.session.content.agent_message import AgentMessage, Block, text, texts
from sessiond.session.tree import lines

MAX_RESULT_CHARACTERS: Final = 2_000
"""Limit of the characters of a tool result or of a command's output."""

SEPARATOR: Final = "\n\n"
"""The text between two parts of a conversation."""


def render(message: AgentMessage) -> list[str]:
    """Return the parts of one message, each with its label; an empty list for a message without text.

    Join the parts of all messages with `SEPARATOR`.
    """
    parts_of = _PARTS.get(message.role) if isinstance(message.role, str) else None
    return (
        []
        if parts_of is None
        else [f"[{label}]: {content}" for label, content in parts_of(message) if content]
    )


def _of_user(message: AgentMessage) -> list[tuple[str, str]]:
    return [("User", "".join(texts(message)))]


def _of_assistant(message: AgentMessage) -> list[tuple[str, str]]:
    calls = "; ".join(map(_call, message.tool_calls))
    return [("Assistant", "\n".join(texts(message))), ("Assistant tool calls", calls)]


def _of_result(message: AgentMessage) -> list[tuple[str, str]]:
    return [("Tool result", _shortened("".join(texts(message))))]


def _of_command(message: AgentMessage) -> list[tuple[str, str]]:
    """Return the parts of a command that the user ran; none if it was excluded from the context."""
    if message.exclude_from_context is True:
        return []
    command = text(message.command) or text(message.code)
    return [("User command", command), ("Output", _shortened(text(message.output)))]


def _of_files(message: AgentMessage) -> list[tuple[str, str]]:
    files = message.files if isinstance(message.files, list) else []
    paths = [text(file.get("path")) for file in files if isinstance(file, dict)]
    return [("User files", ", ".join(filter(None, paths)))]


def _call(call: Block) -> str:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    arguments_text = ", ".join(f"{name}={lines.dumps(value).decode()}" for name, value in arguments.items())
    return f"{text(call.name)}({arguments_text})"


def _shortened(content: str) -> str:
    if len(content) <= MAX_RESULT_CHARACTERS:
        return content
    return f"{content[:MAX_RESULT_CHARACTERS]}\n[{len(content) - MAX_RESULT_CHARACTERS} characters more]"


_PARTS: Final[dict[str, Callable[[AgentMessage], list[tuple[str, str]]]]] = {
    "user": _of_user,
    "custom": _of_user,
    "developer": _of_user,
    "hookMessage": _of_user,
    "assistant": _of_assistant,
    "toolResult": _of_result,
    "bashExecution": _of_command,
    "pythonExecution": _of_command,
    "fileMention": _of_files,
    "branchSummary": lambda message: [("Summary of a branch", text(message.summary))],
    "compactionSummary": lambda message: [("Summary of the earlier conversation", text(message.summary))],
}
