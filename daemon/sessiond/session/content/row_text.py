"""The line that a row of a tree shows for an entry: the error of a failed turn first, then text without Markdown."""

import re
from typing import Any, Final

import msgspec

from sessiond.session.content import preview, typed_words

_SEARCHED: Final = 3
"""The part of a text that is searched for signs of Markdown, in multiples of the limit of a line."""
_SIGNS: Final = re.compile(r"[*`~\[#>+-]")
_LINE_SIGNS: Final = re.compile(
    r"^[ \t]*(?:(?:```|~~~)[^\n`]*$|(?:[-*_][ \t]*){3,}$|(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)+)",
    re.MULTILINE,
)
"""Fences, rules, and what begins a heading, a quotation or an item of a list."""
_CODE: Final = re.compile(r"(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\)")
_STRONG: Final = re.compile(r"(\*\*|~~)(?=\S)([^\n]+?)(?<=\S)\1")
_EMPHASIS: Final = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])")
_STATUS: Final = re.compile(r"\b([45][0-9]{2})\b")
_MARKED_TYPES: Final = frozenset(("compaction", "branch_summary", "custom_message"))
_MARKED_ROLES: Final = frozenset(("user", "assistant", "branchSummary", "compactionSummary"))


def row_text(entry: dict[str, Any], limit: int) -> str:
    """Return the line of a decoded entry, of at most `limit` characters."""
    message = entry.get("message")
    text = preview.text_of(entry)
    if isinstance(message, dict):
        role = message.get("role")
        if role == "user":
            text = _text_of_user(message.get("content"))
        if isinstance(role, str) and role in _MARKED_ROLES:
            text = without_markdown(text, _SEARCHED * limit)
        if (error := _error_of(message)) is not None:
            failed = f"[error: {short_error(error)}]"
            text = failed if error.strip() in text else f"{failed} {text}"
    elif str(entry.get("type")) in _MARKED_TYPES:
        text = without_markdown(text, _SEARCHED * limit)
    return preview.one_line(text, limit)


def _text_of_user(content: object) -> str:
    """Return the words of a person, or else a command or a summary, or else the names of added texts."""
    text = (
        typed_words.typed_content(content)
        or typed_words.command_in(content)
        or typed_words.told_content(content)
    )
    return text or " ".join(f"[{kind}]" for kind in dict.fromkeys(typed_words.added_to(content)))


def without_markdown(text: str, searched: int) -> str:
    """Return a text without the signs of Markdown in its first `searched` characters.

    Words stay as they are: names such as `__init__` and `a_b`, and the content of code.
    """
    head = text[:searched]
    if _SIGNS.search(head) is None:
        return text
    head = _LINE_SIGNS.sub("", head)
    if "`" in head:
        pieces = _CODE.split(head)  # plain text, the signs of code, the code, plain text, …
        pieces[0::3] = map(_plain, pieces[0::3])
        del pieces[1::3]
        head = "".join(pieces)
    else:
        head = _plain(head)
    return head + text[searched:]


def short_error(text: str) -> str:
    """Return the error of a request to a model in short: `Overloaded (529)`.

    Args:
        text: The error as an agent stores it: words, or the answer of the provider as JSON, perhaps with its status.
    """
    before, brace, rest = text.partition("{")
    words = _message_in(brace + rest) if brace else None
    if words is None:
        return text.strip()
    status = _STATUS.search(before)
    return f"{words} ({status[1]})" if status is not None and status[1] not in words else words


def _plain(text: str) -> str:
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text or "~~" in text:
        text = _EMPHASIS.sub(r"\1", _STRONG.sub(r"\2", text))
    return text


def _error_of(message: dict[str, Any]) -> str | None:
    """Return the error of an assistant message that failed, or None."""
    error = message.get("errorMessage")
    if message.get("role") != "assistant" or message.get("stopReason") not in ("error", "aborted"):
        return None
    return error if isinstance(error, str) and error.strip() else None


def _message_in(document: str) -> str | None:
    """Return the message in the answer of a provider, or None."""
    try:
        found = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    while isinstance(found, dict):
        message = found.get("message")
        if isinstance(message, str) and message.strip():
            return message.strip()
        found = found.get("error")
    return found.strip() if isinstance(found, str) and found.strip() else None
