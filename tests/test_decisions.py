"""The records in daemon/decisions are complete and listed, and comments cite these records and nothing else."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "daemon/decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
NUMBERS = {record.name[:4] for record in RECORDS}

CITATION = re.compile(r"\bdecisions? ([0-9]{4})\b|\bdecisions/([0-9]{4})\b")
OUTSIDE = re.compile(
    r"§ ?[0-9]"  # a section of a document that is not here
    r"|\b(?:facts?|seeds?): (?:[a-z-]+ )?[A-Z]?[0-9§]"
    r"|\b(?:facts?|seeds?): (?:go|nova|operator|oh-my-pi|pi-omp|session-servers|daemons|stack|style|doors)\b"
    r"|shared/(?:facts|seeds|design)"
    r"|\b(?:the|Go|NOVA) seed(?:'s\b|, §)|\bGo seed\b",
    re.IGNORECASE,
)
"""Citations of notes that this repository does not have."""


def words_of(path: Path) -> str:
    """The text of a file, with a citation that is broken over two lines on one line."""
    return re.sub(r"\s+(?:#\s|//\s|\*\s|--+\s)?\s*", " ", path.read_text(encoding="utf-8"))


def files() -> list[Path]:
    """All text files of the repository, new ones included, without recorded data and without this one."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    suffixes = {".py", ".md", ".ts", ".js", ".mjs", ".lua", ".css", ".html", ".toml", ".sh", ".txt", ""}
    named = [ROOT / name.decode() for name in done.stdout.split(b"\0") if name]
    return [
        path
        for path in named
        if path.suffix in suffixes and path.is_file() and path != Path(__file__)
        and ROOT / "tests/data" not in path.parents
    ]  # fmt: skip


@cache
def texts() -> dict[Path, str]:
    """The words of each of `files` that is UTF-8."""
    found = {}
    for path in files():
        try:
            found[path] = words_of(path)
        except UnicodeDecodeError:
            continue
    return found


def cited(text: str) -> set[str]:
    return {one or other for one, other in CITATION.findall(text)}


def test_each_number_has_one_record() -> None:
    # A gap is the number of a record that is being written.
    assert len(NUMBERS) == len(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_is_short_and_has_three_parts(record: Path) -> None:
    lines = record.read_text(encoding="utf-8").splitlines()

    assert lines[0].startswith(f"# {record.name[:4]}. ")
    assert [line for line in lines if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Consequences",
    ]
    assert 15 <= len(lines) <= 50


def test_the_list_has_each_record_with_its_title_in_order() -> None:
    listed = re.findall(
        r"^- \[([0-9]{4})\]\(([^)]+)\) (.+)$", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE
    )

    titles = [record.read_text(encoding="utf-8").split("\n")[0] for record in RECORDS]
    assert [(number, name) for number, name, _ in listed] == [
        (record.name[:4], record.name) for record in RECORDS
    ]
    assert [f"# {number}. {title}" for number, _, title in listed] == titles


def test_every_link_of_a_record_leads_to_a_file() -> None:
    for page in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (FOLDER / target).exists(), f"{page.name}: {target}"


def test_every_citation_names_a_record() -> None:
    unknown = {
        (str(path.relative_to(ROOT)), number)
        for path, text in texts().items()
        for number in cited(text)
        if number not in NUMBERS
    }

    assert unknown == set()


def test_code_or_documents_cite_most_records() -> None:
    """A record that nothing cites is listed all the same; that many are cited shows that citations are found."""
    outside = [text for path, text in texts().items() if FOLDER not in path.parents]

    assert len(set().union(*(cited(text) for text in outside)) & NUMBERS) > 20


def test_no_text_cites_a_document_that_is_not_in_the_repository() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text[max(0, match.start() - 30) : match.end() + 30]}"
        for path, text in texts().items()
        for match in OUTSIDE.finditer(text)
    ]

    assert found == []


@pytest.mark.parametrize(
    "citation",
    [
        "as measured (design §8).",
        "it is never tried again (facts: daemons C6).",
        "as pi has it (fact: pi-omp §2.3, §2.10).",
        "(seed: oh-my-pi `continueRecent`)",
        "its rule (seeds: Go §4.3, operator).",
        "one of the seed's five",
        "see ../shared/facts/stack.md",
    ],
)
def test_citations_of_other_documents_are_recognized(citation: str) -> None:
    assert OUTSIDE.search(citation)


@pytest.mark.parametrize(
    "text",
    [
        "facts: Facts",
        "def run(seed: int, rounds: int) -> None:",
        "latest_artifacts: dict[str, str]",
        "prints the seed of the run",
    ],
)
def test_ordinary_words_are_no_citations(text: str) -> None:
    assert not OUTSIDE.search(text)
