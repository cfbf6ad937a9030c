#!/usr/bin/env python3
"""Render the tables of editors/vscode/README.md from the extension's package.json; `--check` only compares.

Needs only Python.
"""

import argparse
import json  # noqa: TID251  (needs nothing but Python)
import sys
from pathlib import Path
from typing import Any

EXTENSION = Path(__file__).resolve().parent.parent / "editors/vscode"
PAGE = EXTENSION / "README.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the page is out of date"
    )
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    wanted = rendered(page)
    if wanted == page:
        return 0
    if check:
        print(
            f"{PAGE.name} of the extension is out of date: run scripts/gen_vscode_readme.py", file=sys.stderr
        )
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


def rendered(page: str) -> str:
    contributes = read("package.json")["contributes"]
    texts = read("package.nls.json")
    page = between(page, "commands", commands(contributes, texts))
    return between(page, "settings", settings(contributes, texts))


def read(name: str) -> Any:
    return json.loads((EXTENSION / name).read_text(encoding="utf-8"))


def commands(contributes: Any, texts: dict[str, str]) -> list[str]:
    """Return the rows of the commands in the palette. Commands for a row of a view are only in its menus."""
    hidden = {item["command"] for item in contributes["menus"]["commandPalette"] if item["when"] == "false"}
    rows = [
        f"| {said(command['title'], texts)} | `{command['command']}` |"
        for command in contributes["commands"]
        if command["command"] not in hidden
    ]
    return ["| sessiond: | for key bindings |", "|---|---|", *rows]


def settings(contributes: Any, texts: dict[str, str]) -> list[str]:
    rows = [
        f"| `{name}` | {default(about)} | {said(about['markdownDescription'], texts)} |"
        for name, about in by_order(contributes["configuration"])
    ]
    return ["| setting | default | |", "|---|---|---|", *rows]


def by_order(configuration: Any) -> list[tuple[str, Any]]:
    """The settings of one section, or of several."""
    sections = configuration if isinstance(configuration, list) else [configuration]
    return [
        pair
        for section in sections
        for pair in sorted(section["properties"].items(), key=lambda row: row[1]["order"])
    ]


def default(about: Any) -> str:
    value = about["default"]
    return "" if value == "" else f"`{json.dumps(value)}`"


def said(text: str, texts: dict[str, str]) -> str:
    """The text of `%key%` for a cell of a table."""
    return texts[text.strip("%")].replace("|", "\\|").replace("\n", " ")


def between(page: str, name: str, lines: list[str]) -> str:
    start, end = f"<!-- generated: {name} -->\n", "<!-- end -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"gen_vscode_readme: {PAGE} has lost its markers of {name}")
    table = "\n".join(lines)
    return f"{before}{start}\n{table}\n\n{end}{after}"


if __name__ == "__main__":
    sys.exit(main())
