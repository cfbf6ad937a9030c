"""Finds folders of sessions that no longer exist and may be the former name of a folder.

Names are compared, not contents, so a match is only a suggestion. No session is moved: the result names the rule that
matched, and the client decides whether to move the sessions (decision 0025).
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from sessiond.protocol import types as t

MAX_FOLDERS: Final = 5
"""Limit of folders of the same name. If there are more, none is suggested: none is likelier than the others."""

MAX_SESSIONS: Final = 100
"""Limit of session ids in a suggested folder."""


def former_folders(
    sessions: Sequence[t.ListedSession], cwd: str, remembered: str | None
) -> list[t.FormerFolder]:
    """Return the folders that may be a former name of `cwd`, with their sessions. Reads the file system.

    The rules are, in order: the folder of the terminal's breadcrumb, folders of the same name, and a folder with the
    same parent, which is suggested only if it is the only one. The first rule that matches decides.

    Args:
        sessions: All sessions.
        cwd: The folder, absolute.
        remembered: The folder of the terminal's breadcrumb, if it has one.

    Returns:
        The folders, each with its session ids, the most recently updated first.
    """
    here = PurePosixPath(cwd)
    folders = {session.cwd for session in sessions if session.cwd.startswith("/") and session.cwd != cwd}
    rules = (
        ("This terminal was there.", [folder for folder in folders if folder == remembered]),
        ("It has the same name.", [folder for folder in folders if PurePosixPath(folder).name == here.name]),
        (
            "It was beside this one.",
            [folder for folder in folders if PurePosixPath(folder).parent == here.parent],
        ),
    )
    for (message, alike), limit in zip(rules, (1, MAX_FOLDERS, 1), strict=True):
        gone = sorted(folder for folder in alike if not _is_there(folder))
        if gone:
            return [_former(sessions, folder, message) for folder in gone] if len(gone) <= limit else []
    return []


def _former(sessions: Sequence[t.ListedSession], cwd: str, message: str) -> t.FormerFolder:
    there = sorted(
        (session for session in sessions if session.cwd == cwd),
        key=lambda session: session.updated_at,
        reverse=True,
    )
    return t.FormerFolder(
        cwd=cwd,
        session_ids=[session.session_id for session in there[:MAX_SESSIONS]],
        session_count=len(there),
        message=message,
    )


def _is_there(folder: str) -> bool:
    try:
        return Path(folder).exists()
    except (OSError, ValueError):
        return True  # it cannot be determined whether the folder still exists
