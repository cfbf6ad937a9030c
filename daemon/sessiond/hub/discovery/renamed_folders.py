"""Folders that sessions name and that are gone: one of them may be what a folder was called before.

Nothing is moved here. Names are compared, not what the folders contained, so a match is only an offer: the result
says which rule matched, and the client moves the sessions or leaves them (decision 0025).
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from sessiond.protocol import types as t

MAX_FOLDERS: Final = 5
"""Folders that are offered; of more, none is likelier than the others."""


def former_folders(
    sessions: Sequence[t.SessionInfo], cwd: str, remembered: str | None
) -> list[t.FormerFolder]:
    """The folders that `cwd` may have been, with their sessions, the newest first. Looks at the disk.

    `remembered` is the folder of the terminal's breadcrumb. A folder of the same name that is gone is likelier than
    one beside this one, which is offered only when there is no other.
    """
    here = PurePosixPath(cwd)
    folders = {it.cwd for it in sessions if it.cwd.startswith("/") and it.cwd != cwd}
    rules = (
        ("This terminal was there.", [it for it in folders if it == remembered]),
        ("It has the same name.", [it for it in folders if PurePosixPath(it).name == here.name]),
        ("It was beside this one.", [it for it in folders if PurePosixPath(it).parent == here.parent]),
    )
    for (message, alike), most in zip(rules, (1, MAX_FOLDERS, 1), strict=True):
        gone = sorted(it for it in alike if not _is_there(it))
        if gone:
            return [_former(sessions, it, message) for it in gone] if len(gone) <= most else []
    return []


def _former(sessions: Sequence[t.SessionInfo], cwd: str, message: str) -> t.FormerFolder:
    there = sorted((it for it in sessions if it.cwd == cwd), key=lambda it: it.updated_at, reverse=True)
    return t.FormerFolder(cwd=cwd, session_ids=[it.session_id for it in there], message=message)


def _is_there(folder: str) -> bool:
    try:
        return Path(folder).exists()
    except (OSError, ValueError):
        return True  # nobody can say that it is gone
