"""Parts of messages that the readers of several agents make in the same way."""

from typing import Any

from sessiond.session.content import fields
from sessiond.session.formats import build


def timed(message: dict[str, Any], at: str) -> dict[str, Any]:
    """Return a message with its time in milliseconds since 1970, if the time (ISO 8601) is valid."""
    milliseconds = fields.milliseconds(at)
    return message if milliseconds is None else {**message, "timestamp": milliseconds}


def image_of(url: str) -> dict[str, Any] | None:
    """Return the image of a data URL; None for any other URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return build.image(head.removeprefix("data:").removesuffix(";base64"), data)
