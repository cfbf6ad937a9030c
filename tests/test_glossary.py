"""Words that the glossary replaces occur nowhere, and the subject of each sentence is a thing with a name."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "daemon/GLOSSARY.md"
EXEMPT = re.compile(
    r"^(CHANGELOG\.md|daemon/GLOSSARY\.md|tests/test_glossary\.py"  # these name what was replaced
    r"|tests/data/|tests/support/peer_programs/"  # what other programs wrote or read
    r"|.*\.(png|svg|lock|json)$)"
)
UNNAMED_SUBJECT = re.compile(
    r"(?:^\s*|[.:;] |\"\"\"|# |// |/\*\* |\* |\| |- )(?:What|Who|Whatever|Whoever) [a-z]"
    r"|\btest_(?:what|who|whatever|whoever)_",
    re.MULTILINE,
)
"""The start of a sentence, or the name of a test, whose subject is a question word."""
OTHER_TEXTS = re.compile(
    r"^daemon/sessiond/session/compaction/prompts\.py$"  # the sections of a summary, as a model is asked for them
    r"|^(scripts|tests)/.*\b(story|test_row_text)\.py$"  # conversations
)


def replaced_words() -> list[str]:
    rows = [line.split("|") for line in GLOSSARY.read_text(encoding="utf-8").splitlines()]
    cells = [row[3].strip() for row in rows if len(row) > 4 and row[1].strip() not in ("term", "---")]
    return [word for cell in cells for word in cell.split(", ") if word and word != "---"]


@cache
def sources() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name and not EXEMPT.search(name)]
    return {
        name: (ROOT / name).read_bytes().decode(errors="replace") for name in names if (ROOT / name).is_file()
    }


@cache
def in_small_letters() -> dict[str, str]:
    """The same texts, to search them for a plain string first. That takes no time, and most words occur nowhere."""
    return {name: text.lower() for name, text in sources().items()}


def test_the_glossary_replaces_words() -> None:
    assert len(replaced_words()) > 10


@pytest.mark.parametrize("word", replaced_words())
def test_a_word_that_the_glossary_replaces_occurs_nowhere(word: str) -> None:
    # Also as a part of an identifier, after an underscore or a small letter.
    capital = word[0].upper() + word[1:]
    shape = re.compile(rf"(?<![a-zA-Z])(?:{word}|{capital})(?![a-z])|(?<=[a-z]){capital}(?![a-z])")
    assert [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in sources().items()
        if word.lower() in in_small_letters()[name] and shape.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if shape.search(line)
    ] == []


def test_no_sentence_has_a_question_word_as_its_subject() -> None:
    assert [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in sources().items()
        if not OTHER_TEXTS.search(name)
        for number, line in enumerate(text.splitlines(), 1)
        if ("Wh" in line or "test_wh" in line) and UNNAMED_SUBJECT.search(line) and "?" not in line
    ] == []
