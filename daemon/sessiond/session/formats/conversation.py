"""A provider-independent conversation: turns of parts, from which every format is written.

`agent` reads the turns from messages, `legal` orders them, and one module for each provider writes them.
"""

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

GENERATED_ID_PREFIX: Final = "noid_"
"""Prefix of a generated call id, for calls whose provider gave none (Google may omit it)."""


class TextPart(msgspec.Struct, gc=False):
    """Text. `signature` is Google's signature of the thoughts before it."""

    text: str
    signature: str | None = None


class Image(msgspec.Struct, gc=False):
    """An image as base64 with its media type, or as a URL. `detail` is OpenAI's hint."""

    media_type: str | None
    data: str | None = None
    url: str | None = None
    detail: str | None = None


class Thinking(msgspec.Struct, gc=False):
    """A model's thinking. Redacted thinking has only the opaque `redacted`."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class Call(msgspec.Struct, gc=False):
    """A tool call.

    Attributes:
        id: The id that its result names.
        name: The name of the tool.
        arguments: A JSON object.
        signature: Google's signature of the thoughts before it.
        unparsed: The text of the arguments if the model wrote no object.
        source: The number of the agent's message, if it is not that of the turn.
    """

    id: str
    name: str
    arguments: Raw
    signature: str | None = None
    unparsed: str | None = None
    source: int | None = None


Part: TypeAlias = TextPart | Image | Thinking | Call


class Result(msgspec.Struct):
    """A tool result. `response` is the JSON object that its text was made from, if it was made from one."""

    source: int
    call_id: str
    name: str
    parts: list[TextPart | Image]
    is_error: bool = False
    response: Raw | None = None


Reasons: TypeAlias = dict[int, str]
"""The reasons why messages were changed or left out (`formats.reasons`), by the number of the agent's message.

The first change is recorded. The reason for leaving a message out replaces it.
"""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "results"]


class Turn(msgspec.Struct):
    """One turn.

    Attributes:
        role: The role. Turns of the role `results` have `results` and no parts.
        source: The number of the agent's message.
        parts: The content of the turn.
        results: The tool results, one for each call of the turn before.
        plain: Whether the content was a string and not a list of blocks.
        failed: Whether the turn was aborted or ended in an error.
        as_user_text: Whether the turn is written as user text because no provider has its role.
        foreign: Whether another provider than that of the request made the turn, so that its signatures are invalid.
        api: The API that the agent names.
        provider: The provider that the agent names.
    """

    role: Role
    source: int
    parts: list[Part] = msgspec.field(default_factory=list)
    results: list[Result] = msgspec.field(default_factory=list)
    plain: bool = False
    failed: bool = False
    as_user_text: bool = False
    foreign: bool = False
    api: str | None = None
    provider: str | None = None
