"""Export as a transcript for people: Markdown in which everything that was said stands in a fence."""

from typing import Final

from sessiond.session import markdown
from sessiond.session.dialects import fields
from sessiond.session.dialects.exported import Losses, Whole, type_of
from sessiond.session.markdown import inline

_HIDDEN: Final = frozenset(("label", "leaf", "custom", "session_info", "title_change"))


def to_markdown(whole: Whole, losses: Losses) -> bytes:
    """The path to the leaf, as a transcript."""
    path = whole.on_path()
    labels: dict[str, str] = {}
    for entry in whole.entries:
        if type_of(entry) == "label":
            labels[fields.as_text(entry.get("targetId"))] = fields.as_text(entry.get("label"))
    parts = [f"# {inline(whole.title or 'Session ' + whole.session_id)}", _facts(whole)]
    for entry in path:
        if type_of(entry) in _HIDDEN:
            losses.lose(f"{type_of(entry)} entry")
            continue
        heading, about, body = markdown.entry(entry, labels.get(fields.as_text(entry.get("id"))))
        parts += [f"## {heading}", about, *body]
    off_path = len(whole.entries) - len(path)
    if off_path:
        losses.lost["entry off the path"] = off_path
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _facts(whole: Whole) -> str:
    facts = {
        "Session": whole.session_id, "Folder": whole.cwd, "Began": whole.timestamp,
        "Tags": ", ".join(whole.tags), "From": whole.parent_session or "",
    }  # fmt: skip
    return "\n".join(f"- {name}: {inline(value)}" for name, value in facts.items() if value)
