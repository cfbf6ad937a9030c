"""No text makes a regular expression slow: twice the text takes about twice the time, whatever the text is.

The expressions are found in the modules (`support/expressions.py`), and the texts are made from them
(`support/worst_cases.py`), so that an expression that is added is tried, too.
"""

import ast
import inspect
import re
import time
from typing import Any

import pytest

from support.expressions import Expression, UnknownExpression, expressions, in_calls, modules
from support.worst_cases import worst_cases

SMALL, LARGE = 4_000, 32_000
NOTICEABLE = 0.02
"""Seconds of processor time from which on a ratio says something."""
MAX_RATIO = 3 * LARGE / SMALL
"""A linear search has a third of it, a quadratic one eight thirds."""


@pytest.mark.parametrize("found", expressions().values(), ids=expressions().keys())
def test_the_time_of_a_search_grows_with_the_text_and_no_faster(found: Expression) -> None:
    pattern, is_search = found.pattern, found.is_searched
    for small, large in zip(worst_cases(pattern, SMALL), worst_cases(pattern, LARGE), strict=True):
        before = _seconds(pattern, small, is_search=is_search)
        if before > NOTICEABLE * 10:
            pytest.fail(f"{before:.1f} s for {len(small):,} characters that begin with {small[:80]!r}")
        after = _seconds(pattern, large, is_search=is_search)
        if after > NOTICEABLE:
            # The least of several, since a busy machine makes any of them longer.
            before = min(before, *(_seconds(pattern, small, is_search=is_search) for _ in range(3)))
            after = min(after, *(_seconds(pattern, large, is_search=is_search) for _ in range(2)))
            assert after / before < MAX_RATIO, f"{after:.2f} s for {large[:80]!r}…"


def _seconds(pattern: re.Pattern[Any], text: str, *, is_search: bool) -> float:
    given: Any = text.encode("utf-8", "surrogatepass") if isinstance(pattern.pattern, bytes) else text
    started = time.thread_time()
    if is_search:
        for _ in pattern.finditer(given):
            pass
    else:
        pattern.match(given)
        pattern.fullmatch(given)
    return time.thread_time() - started


def test_an_expression_is_found_wherever_a_module_has_it() -> None:
    source = """
class Words:
    WORD = re.compile("w+", re.I)
def cut(text, name):
    re.split(NEWLINES, re.sub(f"<{name}>", "", text, flags=re.S))
    return [part for part in text if re.fullmatch(pattern="p+", string=part)]
"""
    found = [
        (name, call.pattern.pattern, call.pattern.flags, call.is_searched)
        for name, call in in_calls(source, {"NEWLINES": "\n+"}, "m")
    ]
    assert found == [
        ("m.Words", "w+", re.IGNORECASE | re.UNICODE, True),
        ("m.cut", "\n+", re.UNICODE, True),
        ("m.cut", "<word>", re.DOTALL | re.UNICODE, True),
        ("m.cut", "p+", re.UNICODE, False),
    ]


def test_an_expression_that_is_made_elsewhere_is_not_overlooked() -> None:
    with pytest.raises(UnknownExpression):
        list(in_calls("def cut(text, given):\n    return re.split(given, text)", {}, "m"))


def test_modules_call_the_functions_of_re_by_its_name() -> None:
    assert [
        (module.__name__, ast.unparse(node))
        for module in modules()
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "re"
            and {name.name for name in node.names} - {"Match", "Pattern"}
        )
        or (isinstance(node, ast.Import) and any(name.name == "re" and name.asname for name in node.names))
    ] == []
