"""Changes the list of followed agents in the configuration file, and leaves everything else in it as it is."""

import os
import re
import stat
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from sessiond.store.files.folders import write_file
from sessiond.store.files.syscalls import Syscalls

_TABLE: Final = re.compile(r"^[ \t]*\[[ \t]*agents[ \t]*\][^\n]*(?:\n|\Z)", re.MULTILINE)
_NEXT: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_FOLLOW: Final = re.compile(r"^[ \t]*follow[ \t]*=[ \t]*\[[^\]]*\]", re.MULTILINE)


def write_followed(path: str, names: Sequence[str]) -> None:
    """Write the names of the followed agents to the configuration file, which is replaced as a whole.

    Args:
        path: The configuration file. It and its folder need not exist.
        names: The names of the agents.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not TOML, or has `agents` in a form that cannot be changed safely.
    """
    target = os.path.realpath(path)  # a link stays a link
    try:
        with open(target, encoding="utf-8") as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    after = with_followed(before, names)
    if after != before:
        _replace(Path(target), after)


def with_followed(text: str, names: Sequence[str]) -> str:
    """Return a configuration with these followed agents.

    Raises:
        ValueError: The configuration is not TOML, or has `agents` in a form that cannot be changed safely.
    """
    wanted = {**tomllib.loads(text)}
    wanted["agents"] = {**wanted.get("agents", {}), "follow": list(names)}
    line = "follow = " + msgspec.json.encode(list(names)).decode().replace(",", ", ")
    table = _TABLE.search(text)
    if table is None:
        above = text if not text or text.endswith("\n") else text + "\n"
        changed = f"{above}{above and chr(10)}[agents]\n{line}\n"
    else:
        found = _NEXT.search(text, table.end())
        end = len(text) if found is None else found.start()
        body = text[table.end() : end]
        body, count = _FOLLOW.subn(lambda _: line, body, count=1)
        body = body if count else f"{line}\n{body}"
        head = text[: table.end()]
        changed = (head if head.endswith("\n") else head + "\n") + body + text[end:]
    if tomllib.loads(changed) != wanted:  # such as a list with a comment in it, or `agents.follow = …`
        raise ValueError("the list `follow` of [agents] has a form that is not changed automatically")
    return changed


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = 0o600
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
    write_file(path, text.encode(), Syscalls(), mode)
