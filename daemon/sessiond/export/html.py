"""A session as one self-contained HTML page: its tree, its transcript, nothing fetched, nothing that can run but ours.

The page's policy names its one script and its one style sheet by their hashes, so whatever a transcript managed to
put into the page would not run. The session itself stands in a block of JSON, in which no tag can begin.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec

from sessiond.export.markup import code_styles
from sessiond.export.rows import Rows
from sessiond.session import entries, lines, preview, statistics
from sessiond.session.dialects.exported import Losses, Whole
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.steps import Read, run
from sessiond.session.tree import Tree

_SCRIPTS: Final = ("model.js", "sidebar.js", "transcript.js", "live.js", "page.js")
_STYLES: Final = ("default", "github-dark")
"""pygments' styles for code on light and on dark ground."""
_BREAKING: Final = {ord(it): f"\\u{ord(it):04x}" for it in "<>&\u2028\u2029"}


def to_html(whole: Whole, losses: Losses) -> bytes:
    """The page; nothing is lost, since every entry has its row."""
    log = to_jsonl(whole, losses)
    tree = Tree()
    tree.read(log)
    tree.finish()

    def read(rows: Any) -> list[bytes]:
        return [tree.entry(row, log[slice(*tree.span(row))]) for row in rows]

    return page({"session": about(tree, read), "entries": Rows(tree, read).behind(0)})


def about(tree: Tree, read: Read) -> dict[str, Any]:
    """What the head of a page says of its session: {id, title, cwd, createdAt, tags, parent, leaf, figures}."""
    header = tree.header or entries.Header(id="", timestamp="")
    tally = statistics.Tally()
    run(statistics.tally_tree(tally, tree, read))
    return {
        "id": header.id, "title": tree.title and preview.one_line(tree.title, 200), "cwd": header.cwd,
        "createdAt": header.timestamp, "tags": list(tree.tags), "parent": header.parent_session, "leaf": tree.leaf_id,
        "figures": {
            "messages": sum(tally.messages.values()), "toolCalls": tally.tool_calls, "tokens": tally.tokens.total,
            "cost": tally.cost.total, "models": [name for name in tally.models if name is not None],
        },
    }  # fmt: skip


def page(data: Mapping[str, Any], *, reach: str = "'none'") -> bytes:
    """The page of a session and its rows; `reach` is where its script may ask for more (`connect-src`)."""
    style, script = styles(), scripts()
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data:; "
        f"connect-src {reach}; base-uri 'none'; form-action 'none'"
    )
    said = lines.sound(data)
    title = said["session"]["title"] or f"Session {said['session']['id']}"
    parts = {
        "POLICY": escape(policy), "TITLE": escape(title), "STYLE": style, "SESSION": embedded(said), "SCRIPT": script,
    }  # fmt: skip
    before = _part("page.html")
    written: list[str] = []
    for name, part in parts.items():  # in the order of the page; what was put in is not looked at again
        head, _, before = before.partition(f"{{{{{name}}}}}")
        written += [head, part]
    return "".join([*written, before]).encode()


def embedded(value: object) -> str:
    """JSON for a script element: no character in it can begin a tag or end a line."""
    return msgspec.json.encode(value).decode().translate(_BREAKING)


def digest(text: str) -> str:
    """How a policy names an inline script or style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def scripts() -> str:
    """The page's script."""
    return '"use strict";\n(() => {\n' + "".join(map(_part, _SCRIPTS)) + "})();\n"


@cache
def styles() -> str:
    """The page's style sheet, with the colours of code for both grounds."""
    light, dark = _STYLES
    by_choice = code_styles(dark, ':root[data-theme="dark"] pre')
    by_system = code_styles(dark, ':root:not([data-theme="light"]) pre')
    by_system = f"@media (prefers-color-scheme: dark) {{\n{by_system}\n}}"
    return "\n".join((_part("page.css"), code_styles(light, "pre"), by_system, by_choice))


def _part(name: str) -> str:
    return files("sessiond.export").joinpath("page", name).read_text("utf-8")
