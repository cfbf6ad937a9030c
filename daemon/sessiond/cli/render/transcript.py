"""Messages and other entries as a terminal shows them: a heading, then all lines of the text."""

from __future__ import annotations

from sessiond.cli.render.content_text import in_full, speaker
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.render.style import Style

_COLORS = {"user": "cyan", "assistant": "green"}
_BY = ("toolName", "model", "customType")


def message(content: dict[str, Any], entry_id: str, style: Style) -> Iterator[str]:
    """Yield the lines of a message with a heading that has the id of its entry."""
    yield _heading(str(content.get("role", "?")), content, entry_id, style)
    yield from _indented(in_full(content))


def entry(entry: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield the lines of any entry; an entry without text is shown as JSON."""
    content = entry.get("message")
    if not isinstance(content, dict):
        content = entry
    yield _heading(speaker(entry), content, str(entry.get("id")), style)
    yield from _indented(in_full(content) or _as_json(entry))


def _heading(author: str, content: dict[str, Any], entry_id: str, style: Style) -> str:
    name = next((str(content[field]) for field in _BY if content.get(field)), "")
    author = one_line(author)
    parts = [style(author, "bold", *filter(None, [_COLORS.get(author)]))]
    parts += [style(part, "dim") for part in map(one_line, (name, entry_id)) if part]
    return "  ".join(parts)


def _indented(text: list[str]) -> Iterator[str]:
    for line in text:
        yield f"  {line}".rstrip()
    yield ""


def _as_json(entry: dict[str, Any]) -> list[str]:
    import json  # noqa: TID251 - the thin client has no msgspec

    return lines(json.dumps(entry, indent=2, ensure_ascii=False))
