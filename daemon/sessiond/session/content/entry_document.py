"""Renders one entry as a Markdown document, and defines the URI under which editors open it."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from sessiond.session.content import fields, markdown, preview

SCHEME: Final = "sessiond"
LANGUAGE: Final = "markdown"


@dataclass(frozen=True, slots=True)
class EntrySurroundings:
    """The facts about an entry that are not in the entry."""

    session: str
    """The session's title, or its id."""
    label: str | None
    parent_id: str | None
    children: tuple[str, ...]
    on_path: bool
    attachments: tuple[str, ...] = ()
    """The ids of the entries with the files that the agent wrote beside this one."""


def entry_document(
    entry: bytes, surroundings: EntrySurroundings, *, max_characters: int | None = None
) -> str:
    """Return the document of an entry: heading, its whole content, and then facts with their ids.

    Args:
        entry: The entry as clients receive it (`Tree.entry`).
        surroundings: Facts about the entry.
        max_characters: Limit of the characters of the content; None for no limit.

    """
    decoded = preview.decoded(entry)
    heading, about, body = markdown.entry(decoded, surroundings.label)
    facts = {
        "Session": surroundings.session,
        "Entry": fields.as_text(decoded.get("id")),
        "Parent": surroundings.parent_id or "none (first entry)",
        "Children": ", ".join(surroundings.children),
        "Beside it": ", ".join(surroundings.attachments),
        "Place": "" if surroundings.on_path else "on another branch than the leaf",
    }
    fact_lines = "\n".join(f"- {name}: {markdown.inline(value)}" for name, value in facts.items() if value)
    if max_characters is not None:
        body = markdown.truncate(body, max_characters)
    return "\n\n".join(filter(None, [f"# {heading}", about, *body, "---", fact_lines])) + "\n"


def entry_uri(session_id: str, entry_id: str) -> str:
    """Return the URI of an entry's document. Ids are quoted, because ids of other programs may have any characters."""
    return f"{SCHEME}://session/{quote(session_id, safe='')}/entry/{quote(entry_id, safe='')}.md"


def parse_entry_uri(uri: str) -> tuple[str, str] | None:
    """Return the session id and the entry id in such a URI, or None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    match parts.path.split("/") if parts.scheme == SCHEME and parts.netloc == "session" else []:
        case ["", session_id, "entry", name] if name.endswith(".md"):
            return unquote(session_id), unquote(name.removesuffix(".md"))
    return None
