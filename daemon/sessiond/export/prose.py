"""Converts Markdown of messages to Markdown that is safe inside a larger document.

Headings are moved below those of the document, HTML is shown as text, remote images become links, and an open fence is
closed. The result is parsed again. If the parser still finds a construct that is not allowed, the text is put into a
fence that it cannot end. Characters that control a terminal or reverse the reading order are removed
(`preview.clean`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessiond.export.plain_text import is_plain
from sessiond.session.content import preview
from sessiond.session.content.markdown import fence

_HEADING_LEVELS: Final = 3
"""Levels that headings are moved down. The document has headings of two levels."""
_MAX_PARSED_CHARACTERS: Final = 100_000
"""Maximum characters of text that is parsed. Longer text is hardly prose, and parsing it takes a second."""

_VERBATIM: Final = ("fence", "code_block")
_ATX: Final = re.compile(r"#{1,6}(?=\s|$)")
_BACKTICKS: Final = re.compile(r"`+")
_LINK: Final = re.compile(r"<(?:https?://|mailto:)[^\s<>]*>", re.IGNORECASE)
_SENTINEL: Final = "The end"


def from_agent(text: str) -> str:
    """Return Markdown that an agent wrote."""
    return _contained(text, keep_lines=False)


def from_person(text: str) -> str:
    """Return text that a person typed, as Markdown with its line breaks."""
    return _contained(text, keep_lines=True)


def _contained(text: str, *, keep_lines: bool) -> str:
    text = re.sub(r"\r\n?", "\n", preview.clean(text)).strip("\n")
    if len(text) <= _MAX_PARSED_CHARACTERS:
        if is_plain(text):
            return _with_line_breaks(text) if keep_lines else text
        written = _rewritten(text, keep_lines=keep_lines)
        if _is_contained(written):
            return written
    return fence(text)


def _with_line_breaks(text: str) -> str:
    """Return plain paragraphs with a line break after each line that is followed by one of the same paragraph."""
    lines = text.split("\n")
    for row, following in enumerate(lines[1:]):
        if following.strip(" \t") and lines[row].strip(" \t") and not lines[row].endswith("  "):
            lines[row] += "\\"
    return "\n".join(lines)


def _rewritten(text: str, *, keep_lines: bool) -> str:
    lines = text.split("\n")
    tokens = _parser().parse(text)
    verbatim = {row for token in tokens if token.type in _VERBATIM for row in range(*_rows(token))}
    for token in tokens:
        if token.type == "heading_open":
            _lower_heading(lines, token)
    escaped = [line for block in _blocks(lines, verbatim) for line in block]
    if keep_lines:
        for row in _inner_line_rows(tokens):
            if not escaped[row].endswith(("\\", "  ")):
                escaped[row] += "\\"
    last = tokens[-1] if tokens else None
    if last is not None and last.type == "fence" and not _is_closed(lines, last):
        escaped.append(last.markup)
    return "\n".join(escaped)


def _rows(token: Token) -> tuple[int, int]:
    first, after = token.map or (0, 0)
    return first, after


def _lower_heading(lines: list[str], heading: Token) -> None:
    first, after = _rows(heading)
    level = min(int(heading.tag[1:]) + _HEADING_LEVELS, 6)
    if heading.markup.startswith("#"):
        lines[first] = _ATX.sub("#" * level, lines[first], count=1)
    elif after - first == 2:
        lines[first], lines[first + 1] = f"{'#' * level} {lines[first].strip()}", ""


def _inner_line_rows(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the lines of paragraphs that are followed by another line of the same paragraph."""
    for token in tokens:
        if token.type == "paragraph_open":
            first, after = _rows(token)
            yield from range(first, after - 1)


def _is_closed(lines: Sequence[str], last: Token) -> bool:
    first, after = _rows(last)
    return after - first > 1 and lines[after - 1].strip().startswith(last.markup)


def _blocks(lines: Sequence[str], verbatim: set[int]) -> Iterator[list[str]]:
    """Yield the lines block by block, without HTML. A backtick quote does not extend into the next block."""
    block: list[str] = []
    for row, line in enumerate(lines):
        if row not in verbatim and line.strip():
            block.append(line)
            continue
        if block:
            yield _without_html("\n".join(block)).split("\n")
            block = []
        yield [line]
    if block:
        yield _without_html("\n".join(block)).split("\n")


def _without_html(text: str) -> str:
    """Return text in which, except in backtick quotes, no `<` begins a tag and no `!` an image."""
    found: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        taken = sign
        if sign == "\\":
            taken = text[at : at + 2]
        elif sign == "`":
            taken = _code_span(text, at)
        elif sign == "<":
            link = _LINK.match(text, at)
            taken = link[0] if link else "<"
        found.append(
            f"\\{taken}" if taken == "<" or (taken == "!" and text[at + 1 : at + 2] == "[") else taken
        )
        at += len(taken)
    return "".join(found)


def _code_span(text: str, at: int) -> str:
    """Return a backtick quote with both runs, or only the opening run if no equal run closes it."""
    opening = _BACKTICKS.match(text, at)
    run = opening[0] if opening else "`"
    for closing in _BACKTICKS.finditer(text, at + len(run)):
        if closing[0] == run:
            return text[at : closing.end()]
    return run


def _is_contained(text: str) -> bool:
    """Return whether a heading after this text is one of the document, and all constructs in the text are allowed."""
    tokens = _html_parser().parse(f"{text}\n\n## {_SENTINEL}\n")
    *content, opening, title, closing = tokens if len(tokens) >= 3 else [*tokens, *[Token("", "", 0)] * 3]
    if (opening.type, opening.tag, opening.level, title.content) != ("heading_open", "h2", 0, _SENTINEL):
        return False
    return closing.type == "heading_close" and all(map(_is_harmless, content))


def _is_harmless(token: Token) -> bool:
    if token.type == "heading_open" and int(token.tag[1:]) <= _HEADING_LEVELS:
        return False
    inside = token.children or ()
    return token.type != "html_block" and not any(child.type in ("html_inline", "image") for child in inside)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])


@cache
def _html_parser() -> MarkdownIt:
    """Return a parser that accepts HTML, as viewers do."""
    return MarkdownIt("commonmark", {"html": True, "maxNesting": 40}).enable(["table", "strikethrough"])
