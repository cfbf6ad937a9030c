"""Opens a text in the user's editor or pager, and waits until that ends."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
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


def show(text: str, command: list[str]) -> int:
    """Run the command on a private temporary copy of the text, and return its exit code.

    Raises `OSError` when it cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="sessiond-entry-") as folder:
        path = Path(folder) / "entry.md"
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
            "w",
            encoding="utf-8",
            errors="replace",
        ) as file:
            file.write(text + "\n")
        return subprocess.run([*command, str(path)], check=False).returncode
