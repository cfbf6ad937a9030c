r"""Rules that extend the Markdown parser: folded sections, some inline tags, task lists, and formulas.

The parser accepts no HTML. `<details>` and a few inline tags are syntax of their own here: a tag counts only with its
end tag and without attributes, so a text can neither leave an element open nor close one of the page.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar

_DETAILS: Final = re.compile(r"<details( open)?>\s*", re.IGNORECASE)
_DETAILS_END: Final = re.compile(r"\s*</details>\s*", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\s*<summary>(.*?)</summary>\s*", re.IGNORECASE | re.DOTALL)
_CONTAINERS: Final = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
"""The beginning of a line in quotes and lists."""
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_MAX_SUMMARY_LINES: Final = 5
_TAG: Final = re.compile(r"<(br\s*/?|kbd|sub|sup|mark|ins|u)>", re.IGNORECASE)
_MAX_TAGGED_CHARACTERS: Final = 500
"""The distance at which an end tag or the end of a formula is searched, which bounds the work for each beginning."""
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+")
_FORMULA_ENDS: Final = {"(": "\\)", "[": "\\]"}
_MAX_FORMULA_CHARACTERS: Final = 2_000
_IN_DOLLARS: Final = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)


def extend(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.use(
        dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True
    )
    parser.inline.ruler.at("math_inline", _dollar_formula)
    parser.block.ruler.before("fence", "details", _details, {"alt": ["paragraph", "blockquote", "list"]})
    parser.inline.ruler.before("escape", "bracket_formula", _bracket_formula)
    parser.inline.ruler.before("autolink", "inline_tag", _inline_tag)
    parser.core.ruler.after("inline", "task_list", _task_list)


def _line(state: StateBlock, row: int) -> str:
    return state.src[state.bMarks[row] + state.tShift[row] : state.eMarks[row]]


def _details(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse `<details>` on a line of its own, up to its `</details>`. The content is Markdown."""
    if state.src[state.bMarks[start] + state.tShift[start] :][:1] != "<" or state.is_code_block(start):
        return False
    opening = _DETAILS.match(_line(state, start))
    if opening is None:
        return False
    close = _closing_line(state, start, end)
    if close is None:
        return False
    if silent:
        return True
    summary, content = _summary(state, start, close, _line(state, start)[opening.end() :])
    token = state.push("details_open", "details", 1)
    token.map = [start, close + 1]
    token.attrs = {"open": ""} if opening[1] else {}
    state.push("summary_open", "summary", 1)
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = summary or "Details", [start, content], []
    state.push("summary_close", "summary", -1)
    parent, state.parentType = state.parentType, "details"
    line_max, state.lineMax = state.lineMax, close
    state.md.block.tokenize(state, content, close)
    state.lineMax, state.parentType = line_max, parent
    state.push("details_close", "details", -1)
    state.line = close + 1
    return True


def _closing_line(state: StateBlock, start: int, end: int) -> int | None:
    """Return the line that ends the section that begins at `start`. Lines in fences do not count."""
    closing_lines = state.env.get("details")
    if closing_lines is None:
        closing_lines = state.env["details"] = _closing_lines(state)
    found: int | None = closing_lines.get(start)
    return found if found is not None and found < end else None


def _closing_lines(state: StateBlock) -> dict[int, int]:
    """Return the closing line of each section of the text, by its first line, after one pass over the text."""
    found: dict[int, int] = {}
    opened: list[int] = []
    fence = ""
    for row in range(len(state.bMarks) - 1):
        line = _CONTAINERS.sub("", state.src[state.bMarks[row] : state.eMarks[row]], count=1)
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        elif not fence and _DETAILS.match(line):
            opened.append(row)
        elif not fence and opened and _DETAILS_END.fullmatch(line):
            found[opened.pop()] = row
    return found


def _summary(state: StateBlock, start: int, close: int, first: str) -> tuple[str, int]:
    """Return the summary of a section, and the first line of its content."""
    text, row = first, start
    while row + 1 < close and row - start < _MAX_SUMMARY_LINES and "</summary>" not in text.lower():
        row += 1
        text = f"{text}\n{_line(state, row)}"
    summary = _SUMMARY.fullmatch(text)
    return (" ".join(summary[1].split()), row + 1) if summary else (first, start + 1)


def _inline_tag(state: StateInline, silent: bool) -> bool:
    """Parse `<br>`, and `<kbd>` and others with their end tags. Their content is Markdown."""
    if state.src[state.pos] != "<":
        return False
    tag = _TAG.match(state.src, state.pos, state.posMax)
    if tag is None:
        return False
    name = tag[1].lower().rstrip("/ \t\n")
    if name == "br":
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = tag.end()
        return True
    following = state.src[tag.end() : min(state.posMax, tag.end() + _MAX_TAGGED_CHARACTERS)]
    end = re.search(f"</{name}>", following, re.IGNORECASE)
    if end is None:
        return False
    close = tag.end() + end.start()
    if not silent:
        state.push(f"{name}_open", name, 1)
        pos_max, state.pos, state.posMax = state.posMax, tag.end(), close
        state.md.inline.tokenize(state)
        state.posMax = pos_max
        state.push(f"{name}_close", name, -1)
    state.pos = close + len(name) + 3
    return True


def _dollar_formula(state: StateInline, silent: bool) -> bool:
    """Parse `$…$`, except two variables of a shell such as `$HOME/$USER`."""
    start = state.pos
    if state.src[start] != "$" or not _IN_DOLLARS(state, True):
        return False
    following = state.src[state.pos : state.pos + 1]
    is_variable = following.isalpha() or following in ("_", "{", "(")
    if is_variable or silent:
        state.pos = start if is_variable else state.pos
        return not is_variable
    state.pos = start
    return _IN_DOLLARS(state, False)


def _bracket_formula(state: StateInline, silent: bool) -> bool:
    r"""Parse `\(…\)` and `\[…\]`, as models write formulas beside `$…$`."""
    if state.src[state.pos] != "\\":
        return False
    sign = state.src[state.pos + 1 : state.pos + 2]
    end = _FORMULA_ENDS.get(sign)
    if end is None:
        return False
    start = state.pos + 2
    close = state.src.find(end, start, min(state.posMax, start + _MAX_FORMULA_CHARACTERS))
    content = state.src[start:close].strip()
    if close < 0 or not content:
        return False
    if not silent:
        token = state.push("math_inline" if sign == "(" else "math_block", "math", 0)
        token.content = content
    state.pos = close + 2
    return True


def _task_list(state: StateCore) -> None:
    """Turn `[ ]` and `[x]` at the beginning of a list item into a box."""
    for before, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (before.type, paragraph.type, inline.type) != ("list_item_open", "paragraph_open", "inline"):
            continue
        mark = _TASK.match(inline.content)
        if mark is None or not inline.children or not inline.children[0].content.startswith(mark[0].rstrip()):
            continue
        inline.children[0].content = inline.children[0].content[mark.end() :]
        box = Token("task_box", "input", 0, meta={"done": mark[1] != " "})
        inline.children.insert(0, box)
        before.attrSet("class", "task")
