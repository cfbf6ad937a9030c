"""Redaction: texts without secrets."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import Params, Wire

RedactableText = Annotated[str, Meta(max_length=1_000_000)]


class RedactParams(Params, frozen=True):
    """Return texts without the secrets that an export removes: each is replaced by `[redacted: KIND]`.

    A client that shows what sessions contain to another party, such as a model, calls this method with the whole texts
    before it cuts them, because a part of a secret is not recognized. Texts are not stored.
    """

    texts: Annotated[list[RedactableText], Meta(max_length=10_000)]  # the texts


class RedactResult(Wire, frozen=True):
    """The texts without secrets, in the order of the request."""

    texts: list[str]  # one for each text of the request
    redacted_count: int  # the number of secrets that were replaced
    redaction_incomplete: bool  # whether the rules for the keys of providers are not installed
