"""One entry as a Markdown document of its own, and the address that editors open it by."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from sessiond.session.content import fields, markdown, preview

SCHEME: Final = "sessiond"
LANGUAGE: Final = "markdown"


@dataclass(frozen=True, slots=True)
class EntrySurroundings:
    """What is to be said of an entry beside what it says itself."""

    session: str
    """The session's title, or its id."""
    label: str | None
    parent_id: str | None
    children: tuple[str, ...]
    on_path: bool


def entry_document(entry: bytes, around: EntrySurroundings, *, most: int | None = None) -> str:
    """The document of an entry, as everybody sees it (`Tree.entry`): heading, facts, and all that it says.

    `most` is how many characters of what it says are enough.
    """
    said = preview.decoded(entry)
    heading, about, body = markdown.entry(said, around.label)
    facts = {
        "Session": around.session,
        "Entry": fields.as_text(said.get("id")),
        "Parent": around.parent_id or "none: it begins the conversation",
        "Children": ", ".join(around.children),
        "Place": "" if around.on_path else "on another branch than the leaf",
    }
    listed = "\n".join(f"- {name}: {markdown.inline(value)}" for name, value in facts.items() if value)
    if most is not None:
        body = markdown.beginning(body, most)
    return "\n\n".join(filter(None, [f"# {heading}", about, listed, *body])) + "\n"


def entry_uri(session_id: str, entry_id: str) -> str:
    """The address of an entry's document; ids of other programs may hold anything."""
    return f"{SCHEME}://session/{quote(session_id, safe='')}/entry/{quote(entry_id, safe='')}.md"


def named_by(uri: str) -> tuple[str, str] | None:
    """The session and the entry that such an address names, or None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    match parts.path.split("/") if parts.scheme == SCHEME and parts.netloc == "session" else []:
        case ["", session_id, "entry", name] if name.endswith(".md"):
            return unquote(session_id), unquote(name.removesuffix(".md"))
    return None
