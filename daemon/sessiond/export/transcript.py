"""Writes the path to the leaf as a Markdown document for people, with tool calls and results folded.

A turn of the agent has one heading, with its tool calls and their results below it. The same session yields the same
bytes, and a longer session only appends to them, so a version control system shows the additions. Text that is not
prose is in fences that it cannot end. All HTML is generated here.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from typing import Any, Final

from sessiond.export import prose
from sessiond.session.content import attachments, fields, preview
from sessiond.session.content.attachments import SHOWN_CHARS, Attachment
from sessiond.session.content.markdown import fence, inline
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession

_HIDDEN: Final = frozenset(("label", "leaf", "custom", "session_info", "title_change"))
_SETTINGS: Final = ("model_change", "thinking_level_change", "mode_change", "service_tier_change")
_IMAGE_EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_MAX_GROUPED_CHARACTERS: Final = 200
"""Characters of an argument that is shown together with others. A longer or multi-line argument gets a fence."""
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9]{1,12}")


@dataclass(slots=True)
class Pictures:
    """The images of a transcript: files in a folder beside it, to which it links. Without a folder, there are none."""

    folder: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    """The content of each image by file name. The name is derived from the content."""

    def link(self, kind: str, data: str) -> str | None:
        """Return the path of an image relative to the transcript; None without a folder or for an invalid image."""
        ending = _IMAGE_EXTENSIONS.get(kind)
        if self.folder is None or ending is None:
            return None
        try:
            picture = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return None
        name = f"{sha256(picture).hexdigest()[:16]}.{ending}"
        self.files[name] = picture
        return f"{self.folder}/{name}"


def to_markdown(whole: ExportedSession, losses: ConversionLosses, pictures: Pictures | None = None) -> bytes:
    """Return the transcript. Images that it links to are added to `pictures`."""
    text = "\n\n".join(_Transcript(whole, losses, pictures or Pictures()).parts()) + "\n"
    return text.encode("utf-8", "replace")


class _Transcript:
    def __init__(self, whole: ExportedSession, losses: ConversionLosses, pictures: Pictures) -> None:
        self._whole = whole
        self._losses = losses
        self._pictures = pictures
        self._labels: dict[str, str] = {}
        self._attached: dict[str, list[Attachment]] = {}
        for entry in whole.entries:
            if fields.type_of(entry) == "label":
                self._labels[fields.as_text(entry.get("targetId"))] = fields.as_text(entry.get("label"))
            elif (
                attached := attachments.attachment_of(entry)
            ) is not None and attached.target_id is not None:
                self._attached.setdefault(attached.target_id, []).append(attached)

    def parts(self) -> Iterator[str]:
        """Yield the paragraphs of the document."""
        whole, path = self._whole, self._whole.on_path()
        yield f"# {inline(whole.title or 'Session ' + whole.session_id)}"
        yield _session_facts(whole)
        branches = _branch_notes(whole, path)
        last_heading = ""
        for entry in path:
            name = fields.as_text(entry.get("id"))
            if fields.type_of(entry) in _HIDDEN:
                self._losses.lose(f"{fields.type_of(entry)} entry")
            elif _is_for_models_only(entry):
                self._losses.lose("custom_message entry that is not displayed")
            else:
                heading = _heading(entry)
                if heading is not None and not (heading == last_heading and _is_from_assistant(entry)):
                    yield from _heading_parts(heading, entry)
                last_heading = heading or last_heading
                if label := self._labels.get(name):
                    yield f"**Label:** {inline(label)}"
                yield from self._entry_parts(entry)
                for attached in self._attached.get(name, ()):
                    yield _attached_part(attached)
            yield from branches.get(name, ())
        if off_path := len(whole.entries) - len(path):
            self._losses.lost["entry off the path"] = off_path

    def _entry_parts(self, entry: dict[str, Any]) -> Iterator[str]:
        message = fields.mapping(entry.get("message"))
        match fields.type_of(entry):
            case "message":
                yield from self._message_parts(message)
            case "custom_message":
                yield from self._content_parts(entry.get("content"), prose.from_person)
            case "compaction" | "branch_summary":
                yield (
                    "*The following summary replaces the entries before it.*"
                    if fields.type_of(entry) == "compaction"
                    else "*Summary of an abandoned branch.*"
                )
                yield prose.from_agent(fields.as_text(entry.get("summary")))
            case kind if kind in _SETTINGS:
                yield f"*{inline(preview.text_of(entry) or kind.replace('_', ' '))}*"
            case _:
                text = preview.text_of(entry)
                yield fence(text) if text else fence(fields.dumps(fields.payload_of(entry)).decode(), "json")

    def _message_parts(self, message: dict[str, Any]) -> Iterator[str]:
        match message.get("role"):
            case "assistant":
                yield from self._content_parts(message.get("content"), prose.from_agent)
                if error := fields.text(message.get("errorMessage")):
                    yield f"*The response ended with an error:* {inline(error)}"
            case "toolResult":
                yield from self._result_parts(message)
            case "bashExecution":
                command, output = (fields.as_text(message.get(name)) for name in ("command", "output"))
                yield fence(f"$ {command}", "console")
                if output.strip():
                    yield _folded(f"Output, {_line_count(output)}", fence(output))
            case "branchSummary" | "compactionSummary":
                yield prose.from_agent(fields.as_text(message.get("summary")))
            case "user" | "developer" | "system" | "custom":
                yield from self._content_parts(message.get("content"), prose.from_person)
            case _:
                yield fence(fields.dumps(fields.without(message, "role")).decode(), "json")

    def _result_parts(self, message: dict[str, Any]) -> Iterator[str]:
        name = preview.one_line(fields.as_text(message.get("toolName")), 60) or "a tool"
        failed = " (error)" if message.get("isError") is True else ""
        shown = list(self._content_parts(message.get("content"), fence))
        pictures = [part for part in shown if part.startswith("![")]
        rest = [part for part in shown if not part.startswith("![")]
        text = preview.text_of_content(message.get("content"))
        yield _folded(f"Result of <code>{escape(name)}</code>{failed}, {_line_count(text)}", *rest)
        yield from pictures

    def _content_parts(self, content: Any, to_markdown: Callable[[str], str]) -> Iterator[str]:
        blocks = [content] if isinstance(content, str) else fields.items(content)
        for block in blocks:
            block = {"type": "text", "text": block} if isinstance(block, str) else fields.mapping(block)
            match block.get("type"):
                case "text":
                    if (text := fields.as_text(block.get("text"))).strip():
                        yield to_markdown(text)
                case "thinking":
                    if (thought := fields.as_text(block.get("thinking"))).strip():
                        yield _folded("Thinking", prose.from_agent(thought))
                case "toolCall":
                    yield _tool_call(
                        fields.as_text(block.get("name")),
                        fields.mapping(block.get("arguments")),
                    )
                case "image":
                    yield self._image_markdown(block)
                case other:
                    kind = preview.one_line(fields.as_text(other), 60) or "unknown type"
                    yield _folded(f"A block of {escape(kind)}", fence(fields.dumps(block).decode(), "json"))

    def _image_markdown(self, block: dict[str, Any]) -> str:
        source = fields.mapping(block.get("source"))
        kind = fields.as_text(fields.first(block, "mimeType") or source.get("media_type"))
        link = self._pictures.link(kind, fields.as_text(fields.first(block, "data") or source.get("data")))
        if link is not None:
            return f"![A picture]({link})"
        self._losses.lose("picture")
        return f"*A picture ({inline(kind or 'of unknown type')}), which is not included.*"


def _session_facts(whole: ExportedSession) -> str:
    facts = {
        "Session": whole.session_id, "Folder": whole.cwd, "Began": whole.timestamp,
        "Tags": ", ".join(whole.tags), "From": whole.parent_session or "",
    }  # fmt: skip
    return "\n".join(f"- {name}: {inline(value)}" for name, value in facts.items() if value)


def _heading(entry: dict[str, Any]) -> str | None:
    """Return the heading of an entry; None if it belongs to the turn before it."""
    message = fields.mapping(entry.get("message"))
    if fields.type_of(entry) in _SETTINGS:
        return None
    if fields.type_of(entry) != "message":
        return fields.type_of(entry).replace("_", " ").capitalize() or "Entry"
    role = fields.as_text(message.get("role"))
    if role == "toolResult":
        return None
    if role == "assistant":
        model = preview.one_line(fields.as_text(message.get("model")), 80)
        return f"Assistant, {model}" if model else "Assistant"
    named = {"bashExecution": "Command", "branchSummary": "Summary", "compactionSummary": "Summary"}
    return named.get(role, role.capitalize() or "Message")


def _is_from_assistant(entry: dict[str, Any]) -> bool:
    return fields.mapping(entry.get("message")).get("role") == "assistant"


def _attached_part(attached: Attachment) -> str:
    """Return a file that the agent wrote beside an entry, folded. Of a long text, the beginning is returned."""
    title = f"{escape(preview.one_line(attached.title, 120))}, {attached.size_bytes:,} bytes"
    if attached.head is None:
        return f"*{inline(attached.title)}, {attached.size_bytes:,} bytes, is no text.*"
    text = attached.head[:SHOWN_CHARS]
    note = [] if len(text) == len(attached.head) else ["*The beginning of it.*"]
    return _folded(title, fence(text), *note)


def _heading_parts(heading: str, entry: dict[str, Any]) -> Iterator[str]:
    yield f"## {inline(heading)}"
    if when := inline(fields.as_text(entry.get("timestamp"))):
        yield f"*{when}*"


def _tool_call(name: str, arguments: dict[str, Any]) -> str:
    """Return a folded tool call: its name and a short description, then its arguments."""
    about = escape(preview.one_line(preview.text_of_arguments(arguments), 120))
    title = f"<code>{escape(preview.one_line(name, 60)) or 'a tool'}</code> {about}".rstrip()
    long = {
        key: value
        for key, value in arguments.items()
        if isinstance(value, str) and ("\n" in value or len(value) > _MAX_GROUPED_CHARACTERS)
    }
    short = fields.without(arguments, *long)
    shown = [fence(fields.dumps(short).decode(), "json")] if short or not long else []
    for key, value in long.items():
        shown += [f"{inline(key)}:", fence(value, _language(key, arguments))]
    return _folded(title, *shown)


def _language(key: str, arguments: dict[str, Any]) -> str:
    """Return the language of a long argument: shell, or the extension of the file's name."""
    if key == "command":
        return "sh"
    path = fields.first(arguments, "path", "file_path", "filePath")
    ending = path.rpartition(".")[2] if isinstance(path, str) and "." in path else ""
    return ending if _LANGUAGE.fullmatch(ending) else "text"


def _branch_notes(whole: ExportedSession, path: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return a line for each branch that leaves the path, by the id of the entry where it leaves."""
    on_path = {fields.as_text(entry.get("id")) for entry in path}
    children: dict[str, list[dict[str, Any]]] = {}
    for entry in whole.entries:
        children.setdefault(fields.as_text(entry.get("parentId")), []).append(entry)
    found: dict[str, list[str]] = {}
    for name in on_path:
        for child in children.get(name, []):
            if fields.as_text(child.get("id")) not in on_path and (
                branch := _visible_entries(child, children)
            ):
                first, more = branch[0], len(branch) - 1
                text = preview.one_line(preview.text_of(first), 80)
                rest = f" and {more} more" if more else ""
                found.setdefault(name, []).append(f"*Another branch starts here:* {inline(text)}{rest}.")
    return found


def _is_for_models_only(entry: dict[str, Any]) -> bool:
    return fields.type_of(entry) == "custom_message" and entry.get("display") is False


def _visible_entries(root: dict[str, Any], children: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the visible entries at and below an entry, in tree order. Each entry occurs once, even in a cycle."""
    found, waiting, seen = [], [root], set()
    while waiting:
        entry = waiting.pop()
        name = fields.as_text(entry.get("id"))
        if name in seen:
            continue
        seen.add(name)
        if fields.type_of(entry) not in _HIDDEN and not _is_for_models_only(entry) and preview.text_of(entry):
            found.append(entry)
        waiting += reversed(children.get(name, []))
    return found


def _folded(title: str, *paragraphs: str) -> str:
    """Return a folded block. The title is HTML on one line, so that it ends before the content."""
    return "\n\n".join((f"<details>\n<summary>{title}</summary>", *paragraphs, "</details>"))


def _line_count(text: str) -> str:
    lines = len(text.rstrip("\n").split("\n")) if text.strip() else 0
    return "nothing" if not lines else "1 line" if lines == 1 else f"{lines:,} lines"
