"""Names that docstrings, comments and documents cite: modules, files, tests, exceptions and other identifiers.

A name is gone if no code and no data of the repository has it.
"""

import ast
import builtins
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "daemon" / "sessiond"
ROOMS = frozenset(path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_", ".")))
BASES = (ROOT, ROOT / "daemon", PACKAGE, ROOT / "tests", ROOT / "scripts", ROOT / "editors")

OF_OTHERS = {
    "InlayHint": "LSP", "SessionState": "NOVA", "SessionStore": "the SDK of Claude", "pending_only": "ACP",
    "a_b": "an example", "max_age_hours": "NOVA", "max_concurrent_sessions": "NOVA", "run_task": "NOVA",
}  # fmt: skip
"""Names of other programs that a comment cites and no code has, and the programs that they belong to."""

_OLD = ("CHANGELOG.md", "daemon/decisions/", "tests/data/")
"""Texts about the past, and texts of other authors."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_SECTION = re.compile(r"^( *)([A-Z]\w+): ", re.MULTILINE)
_RAISES = re.compile(r"[Rr]aises ((?:`[A-Z]\w+`(?:, | and | or )?)+)")
_TEST = re.compile(r"\btest_\w+(?:\.py)?")
_PATH = re.compile(r"([a-z]\w*(?:/[\w-]+)+(?:\.py)?/?)(?:\.([A-Za-z_]\w*))?")
_DOTTED = re.compile(r"[a-z_]\w*(?:\.[A-Za-z_]\w*)+")
_MEMBER = re.compile(r"([A-Z]\w*)\.(\w+)")
_IDENTIFIER = re.compile(r"_?[A-Z][a-z0-9]+(?:[A-Z]\w*)|_?[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z]+(?:_[A-Z]+)+")


class Source(NamedTuple):
    """The parts of a Python file."""

    texts: tuple[str, ...]  # docstrings and comments
    words: frozenset[str]  # the words of the code and of its strings
    strings: frozenset[str]
    classes: frozenset[str]  # defined or imported


@cache
def files() -> tuple[Path, ...]:
    """The files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )  # fmt: skip
    return tuple(path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file())


@cache
def source_of(path: Path) -> Source:
    """Read a Python file."""
    text = path.read_text(encoding="utf-8")
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    words = {token.string for token in tokens if token.type == tokenize.NAME}
    docstrings, strings, classes = list[str](), set[str](), set[str]()
    nodes = [*ast.walk(ast.parse(text))]
    for node in nodes:
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings.append(str(statement.value.value))
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            classes.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            classes.update((name.asname or name.name).rpartition(".")[2] for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
            strings.add(node.value)
            words.update(_WORD.findall(node.value))
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return Source((*docstrings, *comments), frozenset(words), frozenset(strings), frozenset(classes))


def sources() -> list[Source]:
    """All Python files."""
    return [source_of(file) for file in files() if file.suffix == ".py"]


@cache
def known_words() -> frozenset[str]:
    """Every word of the code and the data, and every name of a file or a folder."""
    found = set[str]().union(dir(builtins), *(source.words for source in sources()))
    for path in files():
        found |= {path.stem, path.name, path.parent.name}
        if path.suffix not in (".py", ".md", ".png", ".db", ".gz"):
            found.update(_WORD.findall(path.read_bytes().decode("utf-8", "replace")))
    return frozenset(found)


@cache
def known_strings() -> frozenset[str]:
    """Every string of the code, such as the names of methods."""
    return frozenset().union(*(source.strings for source in sources()))


@cache
def known_classes() -> frozenset[str]:
    """Every class that is defined or imported somewhere."""
    return frozenset(dir(builtins)).union(*(source.classes for source in sources()))


@cache
def words_beside_classes() -> dict[str, frozenset[str]]:
    """Every class, with the words of the files that define or import it."""
    found: dict[str, frozenset[str]] = {}
    for path in files():
        if path.suffix == ".py":
            for name in source_of(path).classes:
                found[name] = found.get(name, frozenset()) | source_of(path).words
    return found


def gone(text: str, beside: Path) -> Iterator[str]:
    """The names that a text cites and that do not exist. `beside` is the folder of its file."""
    for name in _TEST.findall(text):
        if name not in known_words() and not name.endswith("_"):
            yield name
    raised = [name for _, name in _SECTION.findall(text.partition("Raises:\n")[2])]
    raised += [name for names in _RAISES.findall(text) for name in _WORD.findall(names) if name[0].isupper()]
    for name in raised:
        if name not in known_classes():
            yield name
    for quoted in _QUOTED.findall(text):
        if not _is_known(quoted, beside):
            yield quoted


def _is_known(quoted: str, beside: Path) -> bool:
    if (path := _PATH.fullmatch(quoted)) is not None:
        first = quoted.partition("/")[0]
        is_ours = first in ROOMS or first in ("daemon", "tests", "scripts")
        return not is_ours or quoted in known_strings() or _exists(path[1].rstrip("/"), path[2], beside)
    if re.fullmatch(r"\w+\.py", quoted):
        return quoted in known_words()
    if _DOTTED.fullmatch(quoted) and quoted.partition(".")[0] in {*ROOMS, "sessiond"}:
        return all(text in known_words() for text in quoted.split("."))
    if (found := _MEMBER.fullmatch(quoted)) is not None and found[1] in words_beside_classes():
        return found[2] in words_beside_classes()[found[1]]
    if _IDENTIFIER.fullmatch(quoted.removesuffix("()")):
        return quoted.removesuffix("()") in known_words() or quoted in OF_OTHERS
    return True


def _exists(path: str, name: str | None, beside: Path) -> bool:
    for base in (*BASES, beside, beside.parent):
        if name is not None and (base / f"{path}.{name}").exists():
            return True
        for file in (base / path, base / f"{path}.py"):
            if file.exists():
                return name is None or file.suffix != ".py" or name in source_of(file).words
    return False


def cited_and_gone() -> list[str]:
    """Every cited name that does not exist any more, with the file that cites it."""
    found = set[str]()
    for path in files():
        name = str(path.relative_to(ROOT))
        if name.startswith(_OLD) or name.endswith("CHANGELOG.md") or path.suffix not in (".py", ".md"):
            continue
        if path.suffix == ".py":
            found |= {f"{name}: {part}" for text in source_of(path).texts for part in gone(text, path.parent)}
        else:
            # A document cites other programs, whose names no code has; paths and tests are those of this project.
            text = _FENCE.sub("", path.read_text(encoding="utf-8"))
            cited = {
                text
                for text in gone(text, path.parent)
                if "/" in text or "test_" in text or text.endswith(".py")
            }
            found |= {f"{name}: {part}" for part in cited}
    return sorted(found)
