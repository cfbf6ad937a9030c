"""Writes a session as one self-contained HTML page that fetches nothing and runs only its own script.

The page's policy names its script and its style sheet by their hashes, so script that a transcript injects does not
run. The session is in a block of JSON that cannot contain a tag. In a webview, the same page is empty at first, its
policy uses a nonce, and its rows arrive as messages. On the server of `sessiond view`, too, the page is empty at first.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from sessiond.export.head import head_of
from sessiond.export.markup import code_styles
from sessiond.export.rows import all_rows
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_jsonl import to_jsonl
from sessiond.session.state.statistics import Tally, tally_tree
from sessiond.session.tree.steps import run
from sessiond.session.tree.tree import Tree

_SCRIPTS: Final = (
    "model.js", "sidebar.js", "footnotes.js", "blocks.js", "calls.js", "transcript.js", "live.js", "host.js",
)  # fmt: skip
_STYLES: Final = ("default", "github-dark")
"""Styles of pygments for code on a light and on a dark background."""
_SCRIPT_ESCAPES: Final = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_FORBIDDEN_TARGETS: Final = "base-uri 'none'; form-action 'none'"


def to_html(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the page, which is complete: every entry has a row."""
    log = to_jsonl(whole, losses)
    tree, tally = Tree(), Tally()
    tree.read(log)
    tree.finish()

    def read(rows: Sequence[int]) -> list[bytes]:
        return [tree.entry(row, log[slice(*tree.span(row))]) for row in rows]

    run(tally_tree(tally, tree, read))
    session, rows = head_of(tree, tally), list(all_rows(tree, read))
    title = session.title or f"Session {session.session_id}"
    policy = _policy(scripts(), "connect-src 'none'")
    return _filled_template(policy, title, "", {"session": session, "rows": rows}, scripts()).encode()


@cache
def served_page() -> bytes:
    """Return the page without a session, for its own server: its script asks the server for the rows."""
    script = scripts("served.js")
    policy = _policy(script, "connect-src 'self'")
    return _filled_template(policy, "sessiond view", "", {"served": True}, script).encode()


def document(nonce: str) -> str:
    """Return the page without a session, for a webview. Only elements with the nonce may run or style it."""
    nonce_sources = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
    policy = f"default-src 'none'; {nonce_sources}; img-src data:; {_FORBIDDEN_TARGETS}"
    return _filled_template(policy, "Transcript", f' nonce="{escape(nonce)}"', {"hosted": True}, scripts())


def _policy(script: str, connections: str) -> str:
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(styles())}'; img-src data:; "
        f"{connections}; {_FORBIDDEN_TARGETS}"
    )


def _filled_template(policy: str, title: str, nonce: str, data: Mapping[str, object], script: str) -> str:
    parts = (
        ("POLICY", escape(policy)), ("TITLE", escape(title)), ("NONCE", nonce), ("STYLE", styles()),
        ("SESSION", json_for_script(data)), ("NONCE", nonce), ("SCRIPT", script),
    )  # fmt: skip
    template = _page_file("page.html")
    written: list[str] = []
    for name, part in parts:  # in the order of the page; inserted parts are not searched
        head, _, template = template.partition(f"{{{{{name}}}}}")
        written += [head, part]
    return "".join([*written, template])


def json_for_script(value: object) -> str:
    """Return JSON for a script element: no character in it can begin a tag or end a line."""
    text = msgspec.json.encode(value).decode()
    for sign, escaped in _SCRIPT_ESCAPES.items():  # `translate` takes forty times as long
        text = text.replace(sign, escaped)
    return text


def digest(text: str) -> str:
    """Return the name of an inline script or style sheet in a policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def scripts(*more: str) -> str:
    """Return the page's script. `more` names files with parts that only some pages have."""
    return '"use strict";\n(() => {\n' + "".join(map(_page_file, (*_SCRIPTS, *more, "page.js"))) + "})();\n"


@cache
def styles() -> str:
    """Return the page's style sheet, with the colors of code for both backgrounds."""
    light, dark = _STYLES
    by_choice = code_styles(dark, ':root[data-theme="dark"] pre')
    by_system = code_styles(dark, ':root:not([data-theme="light"]) pre')
    by_system = f"@media (prefers-color-scheme: dark) {{\n{by_system}\n}}"
    return "\n".join((_page_file("page.css"), code_styles(light, "pre"), by_system, by_choice))


def _page_file(name: str) -> str:
    return files("sessiond.export").joinpath("page", name).read_text("utf-8")
