"""The JSON examples of the protocol: each is an exchange of messages, `→` to the daemon and `←` from it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

_ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = _ROOT / "protocol.md"
EXAMPLES = _ROOT / "daemon" / "protocol-examples.md"

_HEADING = re.compile(r"^#{2,4} \[?([^\]]+)")
_ARROW = re.compile(r"^([→←]) ", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """One message of a document: its line, its direction, and its content."""

    document: str
    heading: str
    line: int
    from_client: bool
    message: dict[str, Any]

    @property
    def where(self) -> str:
        return f"{self.document}:{self.line}"


@dataclass(frozen=True)
class Answered:
    """A request of a document with the reply that follows it."""

    request: Example
    reply: Example

    @property
    def method(self) -> str:
        return str(self.request.message["method"])


def examples() -> list[Example]:
    """Every message of every example: first those of `DOCUMENT`, then those of `EXAMPLES`, in their order."""
    return [
        Example(document.name, heading, number, is_from_client, message)
        for document in (DOCUMENT, EXAMPLES)
        for heading, line, text in _blocks(document)
        for number, is_from_client, message in _messages(line, text)
    ]


def answered() -> list[Answered]:
    """Every request to the daemon with its reply. Raises `LookupError` when one has none."""
    return _with_replies(from_client=True)


def asked_of_clients() -> list[Answered]:
    """Every request of the daemon with the client's reply. Raises `LookupError` when one has none."""
    return _with_replies(from_client=False)


def notifications() -> list[Example]:
    """Every notification that the daemon sends."""
    return [
        example
        for example in examples()
        if not example.from_client and "method" in example.message and "id" not in example.message
    ]


def _with_replies(*, from_client: bool) -> list[Answered]:
    messages = [example for example in examples() if "id" in example.message]
    replies = {
        message.message["id"]: message
        for message in messages
        if message.from_client is not from_client and "method" not in message.message
    }
    requests = [
        message for message in messages if message.from_client is from_client and "method" in message.message
    ]
    return [Answered(request, replies[request.message["id"]]) for request in requests]


def _blocks(document: Path) -> Iterator[tuple[str, int, str]]:
    """Heading, first line and text of each ```json block."""
    heading, first, block = "", 0, None
    for number, line in enumerate(document.read_text(encoding="utf-8").split("\n"), 1):
        if block is None:
            if found := _HEADING.match(line):
                heading = found[1]
            elif line == "```json":
                first, block = number + 1, list[str]()
        elif line == "```":
            yield heading, first, "\n".join(block)
            block = None
        else:
            block.append(line)


def _messages(first: int, text: str) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """Line of each message, whether a client sends it, and its content."""
    arrows = list(_ARROW.finditer(text))
    ends = [*(arrow.start() for arrow in arrows[1:]), len(text)]
    for arrow, end in zip(arrows, ends, strict=True):
        line = first + text.count("\n", 0, arrow.start())
        message = msgspec.json.decode(text[arrow.end() : end], type=dict[str, Any])
        yield line, arrow[1] == "→", message
