"""Output to a terminal: our own sequences pass, all others are shown as text."""

import io
import json  # noqa: TID251 - what a reader of --json would use
import re

from hypothesis import given, strategies as st

from sessiond.cli.render.style import Style
from sessiond.cli.render.terminal_guard import guarded, harmless


def test_our_own_colors_and_the_erased_line_pass() -> None:
    shown = "\r\x1b[K" + Style(colors=True)("hello", "red", "bold")
    assert harmless(shown) == shown


def test_sequences_that_a_terminal_would_obey_are_shown_instead() -> None:
    assert harmless("a\x1b]0;t\x07b\x9b2Jc\x7f") == "a\\u001b]0;t\\u0007b\\u009b2Jc\\u007f"
    assert harmless("x\u202ey\U000e0041") == "x\\u202ey\\udb40\\udc41"


@given(st.text())
def test_json_says_the_same_afterwards(text: str) -> None:
    shown = harmless(json.dumps({"said": text}, ensure_ascii=False))
    assert json.loads(shown) == {"said": text}


@given(st.text())
def test_nothing_but_text_newlines_tabs_and_colors_is_left(text: str) -> None:
    left = re.sub(r"\r\x1b\[K|\x1b\[[0-9;]+m", "", harmless(text))
    assert not any((ord(part) < 0x20 and part not in "\n\t") or 0x7F <= ord(part) < 0xA0 for part in left)


def test_only_terminals_are_guarded() -> None:
    stream = io.StringIO()
    assert guarded(stream) is stream
