"""Every snippet of README.md and of the guide does what the page says, in a home and a folder of their own.

The guide goes on where README.md ends, so both are read as one.

`console` blocks are typed into a shell and their output compared, apart from ids, sizes and folders. `python`
blocks are run; a `text` block right behind one is its output. `sh` blocks set up a machine: scripts/check and
scripts/demo do that, so only the files that they name are looked for.
"""

import ast
import json  # noqa: TID251 - snippets are read as other programs read them
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sessiond import config
from support.claude_transcripts import turn, write

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "daemon/GUIDE.md")  # in this order
ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b")

DIFFERS = (  # in this order
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ENTRY"),
    (re.compile(r"\b\d+(\.\d+)? (B|kB|MB)\b"), "SIZE"),
    (re.compile(r"(/[\w.-]+)+/atlas\b"), "FOLDER"),
    (re.compile(r"(?<=[$#]) $", re.MULTILINE), ""),  # a prompt ends in # for root
    (re.compile(r"(?<= )[$#]$", re.MULTILINE), "PROMPT"),
)


@dataclass(frozen=True)
class Snippet:
    """A fenced block of a page; `place` says where it begins."""

    language: str
    text: str
    place: str


@dataclass
class Page:
    """Where the page is tried out, and what its example ids are called there."""

    folder: Path
    environment: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)

    def finished(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a short path, so that the socket fits into it."""
    with tempfile.TemporaryDirectory(prefix="sd-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_every_snippet_does_what_the_page_says(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "atlas"
    folder.mkdir()
    environment = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SESSIOND_HOME": str(home),
        "SESSIOND_TERMINAL": "readme",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",  # so that both outputs come in the order in which a terminal shows them
    }
    page = Page(folder, environment)
    solve_a_problem_three_weeks_ago(tmp_path / "home")
    try:
        for name in PAGES:
            for snippet, output in _with_outputs(list(snippets(ROOT / name))):
                _run(snippet, output, page)
    finally:
        page.finished(["sessiond", "stop"])


def solve_a_problem_three_weeks_ago(home: Path) -> None:
    """Write the transcript of Claude Code that README.md searches first."""
    session_id = "7c1f4e9a-3b52-4d0e-9c61-0f2a8d5b7e13"
    began = datetime.now(UTC) - timedelta(days=24)
    texts = (
        "The invoice total is one cent off. Why?",
        "Each line is rounded before the sum. Round once, after it: quantize in total().",
        "Do it.",
        "Done. test_totals.py passes.",
    )
    ids = [str(uuid.UUID(int=number)) for number in range(len(texts))]
    lines = [
        turn(
            number, text, uuid=ids[number], parentUuid=ids[number - 1] if number else None, sessionId=session_id,
            cwd="/home/ada/billing", timestamp=(began + timedelta(minutes=number)).isoformat(timespec="milliseconds"),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    write(home / ".claude/projects/-home-ada-billing" / f"{session_id}.jsonl", *lines)


def test_every_file_that_an_installation_names_is_there() -> None:
    for page in PAGES:
        for snippet in snippets(ROOT / page):
            if snippet.language == "sh":
                for name in re.findall(r"scripts/[\w-]+", snippet.text):
                    assert os.access(ROOT / name, os.X_OK), name


def test_every_link_leads_to_a_file() -> None:
    for page in (*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "daemon/ARCHITECTURE.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", text):
            there = (ROOT / page).parent / target
            assert there.exists(), f"{page}: {target}"
            assert not heading or heading in _headings(there), f"{page}: {target}#{heading}"


def _headings(page: Path) -> set[str]:
    """Return the names of the headings of a page in links to them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def snippets(page: Path) -> Iterator[Snippet]:
    language: str | None = None
    kept: list[str] = []
    start = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            if language is None:
                language, kept, start = line[3:], [], number + 1
            else:
                yield Snippet(language, "\n".join(kept), f"{page.relative_to(ROOT)} line {start}")
                language = None
        elif language is not None:
            kept.append(line)


def _with_outputs(page: list[Snippet]) -> Iterator[tuple[Snippet, str | None]]:
    for number, snippet in enumerate(page):
        following = page[number + 1] if number + 1 < len(page) else None
        belongs = following is not None and following.language == "text"
        yield snippet, following.text if following is not None and belongs else None


def _run(snippet: Snippet, output: str | None, page: Page) -> None:
    match snippet.language:
        case "console":
            _check_shell(snippet, page)
        case "python":
            done = page.finished([sys.executable, "-c", snippet.text])
            assert done.returncode == 0, f"{snippet.place}:\n{done.stdout}"
            if output is not None:
                assert _steady(done.stdout.rstrip("\n")) == _steady(output), f"{snippet.place}"
        case "toml":
            written = page.folder / "config.toml"
            written.write_text(snippet.text, encoding="utf-8")
            assert config.read(str(written)) == config.Config(), f"{snippet.place}"
        case "py":  # a part of a program: tests/adapters/test_sdk_examples.py runs the whole
            compile(snippet.text, snippet.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        case "json":
            json.loads(snippet.text)
        case "lua" if luajit := shutil.which("luajit"):
            done = page.finished([luajit, "-e", f"assert(loadstring([====[{snippet.text}]====]))"])
            assert done.returncode == 0, f"{snippet.place}:\n{done.stdout}"
        case "sh" | "text" | "lua":
            pass
        case "fish":
            pass  # tests/cli/test_prompt.py has fish read it
        case other:
            raise AssertionError(f"{snippet.place}: nobody checks snippets of kind {other!r}")


def _check_shell(snippet: Snippet, page: Page) -> None:
    """Each command is typed as it stands, but with the ids that this run gave out for those of the page."""
    for command, shown in _typed(snippet.text):
        typed = ID.sub(lambda found: page.ids.get(found[0], found[0]), command)
        done = page.finished(["bash", "--noprofile", "--norc", "-c", typed])
        assert done.returncode == 0, f"{snippet.place}: {command}\n{done.stdout}"
        assert _steady(done.stdout.rstrip("\n")) == _steady(shown), f"{snippet.place}: {command}"
        page.ids.update(zip(ID.findall(shown), ID.findall(done.stdout), strict=True))


def _typed(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that the page shows below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip("\n")


def _steady(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in DIFFERS:
        text = pattern.sub(word, text)
    lines = (
        re.sub(" {2,}", "  ", line.rstrip()) for line in text.split("\n")
    )  # columns are as wide as sizes
    return "\n".join(lines)
