#!/usr/bin/env python3
"""Render daemon/CODE_MAP.md from the first line of each module; `--check` only compares.

Needs only Python. A file without such a line, or with a line that does not end with a period, is an error.
"""

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "daemon/CODE_MAP.md"
PACKAGE = ROOT / "daemon/sessiond"
START, END = "<!-- generated: code map -->\n", "<!-- end -->"

ROOMS = (
    "session",
    "store",
    "export",
    "hub",
    "agents",
    "protocol",
    "rpc",
    "server",
    "client",
    "acp",
    "tui",
    "setup",
    "adapters",
    "sync",
    "mcp",
    "cli",
    "",
)
"""In the order for a reader; the last part has the modules beside the rooms."""


def code_map() -> str:
    missing = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()} - set(ROOMS)
    if missing:
        raise SystemExit(f"gen_code_map: put {', '.join(sorted(missing))} into ROOMS")
    return "\n".join(line for room in ROOMS for line in room_lines(room))


def room_lines(room: str) -> list[str]:
    """A heading, a description of the room, a line for each of its files, and the same for each of its packages."""
    folder = PACKAGE / room
    if not room:
        return ["## Beside the rooms", "", *file_lines(folder), ""]
    lines = [f"## `{room}/`", "", first_line(folder / "__init__.py"), "", *file_lines(folder)]
    for package in sorted(path.parent for path in folder.rglob("*/__init__.py")):
        name = package.relative_to(PACKAGE)
        lines += ["", f"**`{name}/`** {first_line(package / '__init__.py')}", "", *file_lines(package)]
    return [*lines, ""]


def file_lines(folder: Path) -> list[str]:
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    return [f"- `{file.name}` {first_line(file)}" for file in files]


def first_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_bytes()))
    line = (docstring or "").split("\n", 1)[0]
    if not line.endswith((".", "?")):
        raise SystemExit(
            f"gen_code_map: the docstring of {file.relative_to(ROOT)} must begin with a whole sentence"
        )
    return line


def rendered(page: str) -> str:
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"gen_code_map: {PAGE.relative_to(ROOT)} has lost its markers")
    return f"{before}{start}\n{code_map()}{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is out of date"
    )
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if (wanted := rendered(page)) == page:
        return 0
    if arguments.check:
        print(f"{PAGE.relative_to(ROOT)} is out of date. Run scripts/gen_code_map.py.", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
