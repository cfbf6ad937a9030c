"""The user's editor or pager, and the private copy of a text that it opens."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sessiond.error_text import TemplatedError


class NoEditorError(TemplatedError):
    """Raised when VISUAL, EDITOR and PAGER name no command and there is no `less`."""

    sentence = "No program to open the text: set EDITOR or PAGER."


def program(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the user's editor or pager. Raises `NoEditorError`."""
    for variable in ("VISUAL", "EDITOR", "PAGER"):
        try:
            words = shlex.split(environ.get(variable, ""))
        except ValueError:
            continue
        if words:
            return words
    if shutil.which("less"):
        return ["less"]
    raise NoEditorError


@contextmanager
def private_copy(text: str) -> Iterator[str]:
    """Yield the path of a temporary file with the text, which only this user can read."""
    with tempfile.TemporaryDirectory(prefix="sessiond-entry-") as folder:
        path = Path(folder) / "entry.md"
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
            "w",
            encoding="utf-8",
            errors="replace",
        ) as file:
            file.write(text + "\n")
        yield str(path)
