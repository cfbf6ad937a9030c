"""Settings of OpenCode may have comments and trailing commas."""

import json  # noqa: TID251 - settings are compared with what the standard library reads
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sessiond.agents.json_comments import decoded
from sessiond.agents.opencode.model import opencode_model

TEXTS = st.text('ab"\\/*,]}[{ \n')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
COMMENTS = st.sampled_from(["", " ", '// , "a" }\n', '/* ] \n , " */', "/**/"])


@given(VALUES, st.data())
def test_comments_and_trailing_commas_change_no_value(value: Any, data: Any) -> None:
    written = json.dumps(value, indent=1)
    strings = re.compile(r'("(?:[^"\\]|\\.)*"|[\[\]{},:])')
    pieces = [text for text in strings.split(written) if text]
    with_commas = [
        f",{piece}"
        if piece in "]}" and place and pieces[place - 1].strip() and pieces[place - 1] not in "[{,"
        else piece
        for place, piece in enumerate(pieces)
    ]
    spread = "".join(f"{data.draw(COMMENTS)}{comma}" for comma in with_commas) + data.draw(COMMENTS)
    assert decoded(spread.encode()) == value


@pytest.mark.parametrize("text", ['{"a": 1 /* }', "{,}x", '{"a": "b}', "// only this"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decoded(text.encode())


def test_the_model_of_opencode_is_found_in_a_file_with_comments(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text(
        '{\n  // the one at work: "model": "no/no"\n  "model": "acme/https://one", /* , */\n}\n',
        encoding="utf-8",
    )
    (folder / "opencode.json").write_text('{"model": "acme/two"}', encoding="utf-8")
    assert opencode_model({"HOME": str(tmp_path)}) == "acme/https://one"
