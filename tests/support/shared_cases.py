"""The cases that every client is tested with: tests/data/clients. Tests of VS Code's extension read the same file."""

import json  # noqa: TID251 - as the tests of the other clients read it
import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "data/clients/cases.json"
CASES: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """The texts for the placeholders of the table: folders whose paths are short enough for a socket."""
    user = pwd.getpwuid(os.geteuid())
    with tempfile.TemporaryDirectory(prefix="sd-") as folder:
        private, opened, link = (f"{folder}/{name}" for name in ("private", "open", "link"))
        Path(private).mkdir(mode=0o700)
        Path(opened).mkdir()
        Path(opened).chmod(0o755)
        Path(link).symlink_to(private)
        found = {"private": private, "open": opened, "link": link}
        yield {**found, "user": user.pw_dir, "name": user.pw_name, "uid": str(os.geteuid())}


def filled(value: Any, placed: dict[str, str]) -> Any:
    """A value of the table after the replacement of the placeholders."""
    if isinstance(value, dict):
        return {name: filled(item, placed) for name, item in value.items()}
    if isinstance(value, str):
        for name, text in placed.items():
            value = value.replace(f"{{{name}}}", text)
    return value


def paths_here(placed: dict[str, str]) -> list[dict[str, Any]]:
    """The rows of paths that apply to this machine."""
    rows = [filled(row, placed) for row in CASES["paths"]]
    return [row for row in rows if not Path(row.get("unless", "/none")).exists()]
