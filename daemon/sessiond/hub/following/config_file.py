"""Changes the list of followed agents in the configuration file, and leaves the rest of the file unchanged."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sessiond import toml_edit
from sessiond.store.files.folders import write_file
from sessiond.store.files.syscalls import Syscalls


def write_followed(path: str, names: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Write the names of the followed agents to the configuration file, which is replaced as a whole.

    Args:
        path: The configuration file. It and its folder need not exist.
        names: The names of the agents.
        folders: NAME=FOLDER for folders to add to those of the agents.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not UTF-8.
        UneditableTomlError: The file is not TOML, or has the list in a form that cannot be changed safely.
    """
    target = os.path.realpath(path)  # a link stays a link
    try:
        with open(target, encoding="utf-8", newline="") as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    after = toml_edit.with_list(before, "agents", "follow", names)
    if folders:
        after = toml_edit.with_names(after, "agents", "folders", folders)
    if after != before:
        _replace(Path(target), after)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = 0o600
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
    write_file(path, text.encode(), Syscalls(), mode)
