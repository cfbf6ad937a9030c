"""The text of an entry beside the tree: a heading, then its parts, with Markdown rendered.

`render_entry` makes every piece safe for the terminal after rendering, since Markdown can express any character.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.segment import Segment
from rich.text import Text

from sessiond import human
from sessiond.text import lines, one_line
from sessiond.tui.row_renderer import DIM, LABEL, TITLE, RowRenderer, role, role_style

MAX_CHARACTERS = 40_000
"""Maximum characters of one entry that are rendered; more would take too long."""

_TITLES = (
    "summary",
    "text",
    "name",
    "title",
    "label",
    "model",
    "modelId",
    "thinkingLevel",
    "mode",
    "targetId",
)


def render_entry(
    entry: dict[str, Any], label: str | None, renderer: RowRenderer, columns: int, now: float
) -> list[list[Segment]]:
    """Return the lines of an entry, each of at most `columns` columns. `now` is Unix time."""
    console = Console(
        width=max(columns, 1), color_system="standard", force_terminal=True, legacy_windows=False,
        emoji=False, markup=False, highlight=False, no_color=False, _environ={},
    )  # fmt: skip
    group = Group(*_parts(entry, label, now))
    return [
        [
            Segment(_harmless(segment.text, renderer), segment.style)
            for segment in line
            if segment.text and not segment.control
        ]
        for line in console.render_lines(group, pad=False)
    ]


def as_text(entry: dict[str, Any]) -> str:
    """Return the complete text of an entry, for the clipboard or an editor."""
    return "\n\n".join(text for _, text in _text_parts(entry) if text)


def _harmless(text: str, renderer: RowRenderer) -> str:
    return renderer.encodable(" ".join(lines(text)))


def _parts(entry: dict[str, Any], label: str | None, now: float) -> Iterator[RenderableType]:
    message = _mapping(entry.get("message"))
    name = str(message.get("role") or entry.get("type") or "entry")
    yield Text.assemble(
        (role(name).capitalize(), role_style(name) + TITLE), (f"  {one_line(str(entry.get('id')))}", DIM)
    )
    time = str(entry.get("timestamp") or "")
    about = [f"{time[:19].replace('T', ' ')} ({human.ago(time, now)})" if time else ""]
    about += [str(message.get(name) or "") for name in ("model", "toolName")]
    if message.get("stopReason") not in (None, "stop", "toolUse"):
        about.append(str(message["stopReason"]))
    if message.get("isError") is True:
        about.append("failed")
    yield Text(" · ".join(one_line(text) for text in about if text), style=DIM)
    if label:
        yield Text(f"[{one_line(label)}]", style=LABEL)
    left = MAX_CHARACTERS
    for kind, text in _text_parts(entry):
        yield Text("")
        shown, left = text[:left], left - len(text)
        yield _part(kind, shown)
        if left < 0:
            yield Text(f"… {-left:,} more characters: e opens the whole text.", style=DIM)
            return


def _part(kind: str, text: str) -> RenderableType:
    safe = "\n".join(lines(text))
    if kind == "markdown":
        from rich.markdown import Markdown  # takes long to import, so not before the first picture

        return Markdown(safe, hyperlinks=False, code_theme="ansi_dark", inline_code_theme=None)
    return Text(safe, style=DIM if kind in ("thinking", "note") else "")


def _text_parts(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parts of an entry: how each is rendered (markdown, plain, thinking, note), and its text."""
    message = entry.get("message")
    if isinstance(message, dict):
        yield from _of_message(message)
    elif entry.get("type") in ("compaction", "branch_summary", "branchSummary"):
        yield "markdown", str(entry.get("summary") or "")
    elif entry.get("content"):
        yield from _content(entry["content"], "markdown")
    elif found := next((entry[title] for title in _TITLES if isinstance(entry.get(title), str)), None):
        yield "plain", found
    else:
        omitted = ("type", "id", "parentId", "timestamp")
        yield "plain", _json({name: value for name, value in entry.items() if name not in omitted})


def _of_message(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match message.get("role"):
        case "toolResult":
            yield from _content(message.get("content"), "plain")
        case "bashExecution":
            yield "plain", f"$ {message.get('command') or ''}\n{message.get('output') or ''}"
        case _:
            yield from _content(message.get("content", message.get("summary")), "markdown")
    if isinstance(message.get("errorMessage"), str):
        yield "plain", message["errorMessage"]


def _content(content: Any, kind: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield kind, content
        return
    for part in content if isinstance(content, list) else ():
        part = _mapping(part)
        match part.get("type"):
            case "text":
                yield kind, str(part.get("text") or "")
            case "thinking":
                yield "note", "Thinking"
                yield "thinking", str(part.get("thinking") or "(not shown by the model)")
            case "toolCall":
                yield "note", f"Calls the tool {part.get('name') or '?'}"
                yield "plain", _json(part.get("arguments"))
            case "image":
                yield "note", f"[image: {part.get('mimeType') or 'unknown'}, {_size(part)}]"
            case other:
                yield "note", f"[{other or 'something'}]"


def _size(image: dict[str, Any]) -> str:
    data = image.get("data")
    if isinstance(data, str) and not data.startswith("blob:"):
        return human.size(len(data) * 3 // 4)
    return "stored as a blob"


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
