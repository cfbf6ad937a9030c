"""Patterns for folders match folders and all below them, in bounded time."""

import fnmatch
import re

import pytest
from hypothesis import given, strategies as st

from sessiond.session.listing.path_patterns import PathPatterns


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("/work/secret", "/work/secret", True),
        ("/work/secret", "/work/secret/app/file.jsonl", True),
        ("/work/secret", "/work/secrets", False),
        ("/work/secret/", "/work/secret/app", True),
        ("/work/*/private", "/work/acme/private", True),
        ("/work/*/private", "/work/private", False),
        ("/work/*/private", "/work/acme/app/private", False),
        ("/work/**/private", "/work/private", True),
        ("/work/**/private", "/work/acme/app/private/x", True),
        ("/**/private", "/private", True),
        ("/work/**", "/work", True),
        ("/work/client-?", "/work/client-7", True),
        ("/work/client-?", "/work/client-17", False),
        ("/work/a*b*c", "/work/axxbyyc", True),
        ("/work/a*b*c", "/work/axxbyy", False),
        ("/**", "/", True),
        ("/work/[ab]", "/work/a", False),
        ("/work/[ab]", "/work/[ab]", True),
    ],
)
def test_a_pattern_matches_a_folder_and_all_below_it(pattern: str, path: str, is_match: bool) -> None:
    assert PathPatterns([pattern]).matches(path) is is_match


def test_no_patterns_match_nothing() -> None:
    assert not PathPatterns().matches("/work")
    assert not PathPatterns()


@given(st.text("ab*?", max_size=8), st.text("ab", min_size=1, max_size=8))
def test_a_name_is_compared_as_a_shell_does(pattern: str, name: str) -> None:
    single = re.sub(r"\*+", "*", pattern) or "x"
    is_like = re.fullmatch(fnmatch.translate(single), name) is not None
    assert PathPatterns([f"/{single}z"]).matches(f"/{name}z") is is_like


def test_many_stars_take_no_time_to_speak_of() -> None:
    assert not PathPatterns(["/" + "*a" * 60 + "b"]).matches("/" + "a" * 250)
    assert not PathPatterns(["/**/a" * 30 + "/b"]).matches("/a" * 250)
