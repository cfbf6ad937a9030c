"""Converts Markdown, code and plain text to HTML that is safe to insert and cannot contain script.

Raw HTML in Markdown is shown as text, except the tags that `markdown_rules` parses. Nothing has an id, because a page
has many texts. Links go to http, https and mailto only. Remote images become text with their
address. Characters that control a terminal or reverse the reading order are removed (`preview.clean`).
"""

import re
from functools import cache, lru_cache
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from sessiond.export import markdown_rules
from sessiond.export.formulas import formula
from sessiond.export.plain_text import is_plain
from sessiond.session.content import preview

_MAX_COLORED_CHARACTERS: Final = 20_000
"""Characters of one piece of code. Longer code is shown without colors, which cost about 10 us a character."""

_MAX_CACHED: Final = 128
"""Pieces of colored code, and lexers of file names, that are cached."""
_MAX_CACHED_CHARACTERS: Final = 4_000
"""Characters of a piece of code whose colored form is cached."""
_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#+\-=|~&!:$]|\d[.)]|\n(?: {4}|\t)")
_LINE_BREAK: Final = re.compile(r"\n[ \t]*")
_LINE_BREAK_AFTER_SPACES: Final = re.compile(
    r"(?<! ) *+\n[ \t]*"
)  # takes four times as long: it stops at every space
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n)+")
_LANGUAGE_NAME: Final = re.compile(r"[\w+#.-]{1,40}")
_CLASSES: Final = "h-"
_ALIGNMENTS: Final = {f"text-align:{side}": side for side in ("left", "center", "right")}


def markdown(text: str) -> str:
    """Return Markdown as HTML.

    The syntax is CommonMark with tables, strikethrough, task lists, footnotes, `<details>`, a few inline tags, and
    formulas in dollars or brackets.
    """
    text = preview.clean(text)
    if not _MARKUP.search(text):  # true of most messages of users; a hundred times cheaper
        paragraphs = re.split(r"\n\s*\n", text.strip())
        return "".join(f"<p>{_with_line_breaks(paragraph)}</p>" for paragraph in paragraphs if paragraph)
    if is_plain(text):
        return _plain_paragraphs(text)
    return str(_parser().render(text))


def _plain_paragraphs(text: str) -> str:
    """Return text without markup as the parser does, which takes fifty times as long."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    written: list[str] = []
    for paragraph in _BLANK_LINES.split(text):
        if paragraph := paragraph.strip("\t\n "):
            line_break = _LINE_BREAK_AFTER_SPACES if " \n" in paragraph else _LINE_BREAK
            paragraph = line_break.sub("<br />\n", paragraph)
            written.append(f"<p>{paragraph}</p>\n")
    return "".join(written)


def plain(text: str) -> str:
    """Return text unchanged, with its line breaks."""
    return f"<pre>{escape(preview.clean(text))}</pre>"


def code(text: str, language: str | None = None, *, file: str | None = None) -> str:
    """Return code with colors. The language is given by name, or by the name of a file.

    Short pieces are cached, because agents read the same files and run the same commands again.
    """
    text = preview.clean(text)
    lexer = _lexer(language or "")
    if lexer is None and file is not None:
        lexer = _lexer_of_file(file.rpartition("/")[2][-80:])
    if lexer is None or len(text) > _MAX_COLORED_CHARACTERS:
        return f"<pre><code>{escape(text)}</code></pre>"
    colored = _cached_colors(text, lexer) if len(text) <= _MAX_CACHED_CHARACTERS else _colored(text, lexer)
    return f"<pre><code>{colored}</code></pre>"


def _colored(text: str, lexer: Lexer) -> str:
    return highlight(text, lexer, _formatter()).removesuffix("\n")  # added after the last line, too


_cached_colors = lru_cache(_MAX_CACHED)(_colored)


def code_styles(style: str, scope: str) -> str:
    """Return the rules that color code in one of pygments' styles, below a selector."""
    formatter = HtmlFormatter(style=style, classprefix=_CLASSES)
    rules = formatter.get_token_style_defs(scope)  # type: ignore[no-untyped-call]  # its stub has no types here
    return "\n".join(rules)


def _with_line_breaks(text: str) -> str:
    return "<br>".join(escape(line) for line in text.split("\n"))


@cache
def _formatter() -> "HtmlFormatter[str]":
    return HtmlFormatter(nowrap=True, classprefix=_CLASSES)


@cache
def _lexer(language: str) -> Lexer | None:
    if not _LANGUAGE_NAME.fullmatch(language):
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(_MAX_CACHED)
def _lexer_of_file(file: str) -> Lexer | None:
    """Return the lexer for a file name without its folder. A search for it takes as long as 100 characters of code."""
    try:
        return get_lexer_for_filename(file, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt(
        "commonmark", {"html": False, "breaks": True, "maxNesting": 40, "highlight": _highlighted_fence}
    )
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin)
    parser.disable(
        "footnote_inline"
    )  # `^[…]` is rare in what agents write, and common in regular expressions
    markdown_rules.extend(parser)
    parser.validateLink = _is_allowed_link  # type: ignore[method-assign]  # the documented way to choose links
    parser.add_render_rule("image", _image_text)
    parser.add_render_rule("link_open", _link_tag)
    parser.add_render_rule("th_open", _table_cell)
    parser.add_render_rule("td_open", _table_cell)
    parser.add_render_rule("task_box", _task_box)
    parser.add_render_rule("math_inline", _formula)
    parser.add_render_rule("math_inline_double", _formula_block)
    parser.add_render_rule("math_block", _formula_block)
    parser.add_render_rule("footnote_ref", _footnote_number)
    parser.add_render_rule("footnote_block_open", _footnotes_open)
    parser.add_render_rule("footnote_block_close", _footnotes_close)
    parser.add_render_rule("footnote_open", _footnote_open)
    parser.add_render_rule("footnote_anchor", _footnote_anchor)
    return parser


def _is_allowed_link(url: str) -> bool:
    return _LINK.match(url) is not None


def _highlighted_fence(text: str, language: str, _attributes: str) -> str:
    return code(text, language)


def _table_cell(self: RendererHTML, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Return a table cell with its alignment as a class: the page's policy refuses the parser's inline style."""
    alignment = _ALIGNMENTS.get(str(tokens[index].attrs.get("style", "")))
    return f"<{tokens[index].tag} class={alignment}>" if alignment else f"<{tokens[index].tag}>"


def _task_box(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    if tokens[index].meta["done"]:
        return '<input type=checkbox disabled checked aria-label="done"> '
    return '<input type=checkbox disabled aria-label="not done"> '


def _formula(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return formula(tokens[index].content, is_block=False)


def _formula_block(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return formula(tokens[index].content, is_block=True)


def _footnote_number(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """Return the number of a footnote. The page's script finds the footnote by it, in the same text."""
    number = tokens[index].meta["id"] + 1
    return (
        f'<sup><button type=button data-note={number} aria-label="Footnote {number}">{number}</button></sup>'
    )


def _footnotes_open(*_arguments: Any) -> str:
    return "<ol class=footnotes>"


def _footnotes_close(*_arguments: Any) -> str:
    return "</ol>"


def _footnote_open(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return f"<li data-noted={tokens[index].meta['id'] + 1}>"


def _footnote_anchor(_self: RendererHTML, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """Return the button that leads back from a footnote to the text, once for all its numbers."""
    meta = tokens[index].meta
    if meta.get("subId", 0):
        return ""
    return f' <button type=button data-back={meta["id"] + 1} aria-label="Back to the text">↩</button>'


def _link_tag(self: RendererHTML, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Return a link whose target gets no referrer and no access to this page."""
    tokens[index].attrs |= {"rel": "noopener noreferrer nofollow", "target": "_blank"}
    return self.renderToken(tokens, index, options, env)


def _image_text(self: RendererHTML, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Return the image's text and address. The page does not fetch the image."""
    token = tokens[index]
    text = self.renderInlineAsText(token.children, options, env) or "picture"
    return f"<span class=remote>{escape(text)} ({escape(str(token.attrs.get('src', '')))})</span>"
