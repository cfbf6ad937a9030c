"""Finds the address of an image in a block that links to one, in each of the forms in which programs write it."""

from typing import Any

from sessiond.session.content import fields


def image_url(block: dict[str, Any]) -> str | None:
    """Return the address of the image of a block; None if the block has none.

    The forms are `url`, `source` as of Anthropic, and `image.source` of the Go library, with the address in `data`.
    """
    for holder in (block, fields.mapping(block.get("image"))):
        source = fields.mapping(holder.get("source"))
        if source.get("type") == "url" and (found := fields.first(source, "url", "data")) is not None:
            return fields.text(found)
    return fields.text(block.get("url"))
