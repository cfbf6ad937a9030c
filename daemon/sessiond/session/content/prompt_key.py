"""The key of the first prompt of a session, which copies and forks of the session share: they repeat its line."""

from collections.abc import Iterable

from sessiond.session.content import fields, preview


def prompt_key(entry: bytes) -> str:
    """Return the key of the entry of a prompt: a digest of its id and its time."""
    decoded = preview.decoded(entry)
    return fields.digest(fields.as_text(decoded.get("id")), fields.as_text(decoded.get("timestamp")))


def first_prompt_key(entries: Iterable[tuple[str | None, bytes]]) -> str:
    """Return the key of the first message of a user; empty if there is none.

    Args:
        entries: The role and the line of each entry, in order.
    """
    return next((prompt_key(line) for role, line in entries if role == "user"), "")
