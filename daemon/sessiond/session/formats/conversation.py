"""A conversation as no provider has it: turns of parts, which every format is written from.

Shapes only. `agent` reads them out of messages, `legal` puts them in order, one module a provider writes them.
"""

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

MADE_ID: Final = "noid_"
"""How the id of a call begins to which its provider gave none (Google need not)."""


class TextPart(msgspec.Struct, gc=False):
    """Words. `signature` is Google's, of the thoughts before them."""

    text: str
    signature: str | None = None


class Image(msgspec.Struct, gc=False):
    """An image as base64 with its media type, or else by its URL. `detail` is OpenAI's hint."""

    media_type: str | None
    data: str | None = None
    url: str | None = None
    detail: str | None = None


class Thinking(msgspec.Struct, gc=False):
    """What a model thought; of redacted thinking only the opaque `redacted` is there."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class Call(msgspec.Struct, gc=False):
    """A call of a tool. `arguments` is a JSON object; `unparsed` what a model wrote instead of one."""

    id: str
    name: str
    arguments: Raw
    signature: str | None = None
    unparsed: str | None = None


Part: TypeAlias = TextPart | Image | Thinking | Call


class Result(msgspec.Struct):
    """What a tool answered. `response` is the JSON object that its words were written from, if they were."""

    source: int
    call_id: str
    name: str
    parts: list[TextPart | Image]
    is_error: bool = False
    response: Raw | None = None


Reasons: TypeAlias = dict[int, str]
"""By the number of an agent's message, why it is not as it was, or is out (`session.reasons`).

The first change counts; leaving out counts more.
"""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "results"]


class Turn(msgspec.Struct):
    """One turn. `source` counts the agent's messages; turns of the role `results` have `results`, no parts.

    `plain`: the content was one text, not a list of blocks. `failed`: the turn was aborted or ended in an error.
    `told`: no provider has its role, its words are told as the user's. `foreign`: another provider made it than the
    one that is asked, so that its signatures mean nothing there.
    """

    role: Role
    source: int
    parts: list[Part] = msgspec.field(default_factory=list)
    results: list[Result] = msgspec.field(default_factory=list)
    plain: bool = False
    failed: bool = False
    told: bool = False
    foreign: bool = False
    api: str | None = None
    provider: str | None = None
