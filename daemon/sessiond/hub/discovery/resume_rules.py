"""The rules that select the session a terminal continues.

The rules, in order (decision 0025): the terminal's own breadcrumb for
this folder; the most recently updated session of the folder that no other living terminal holds; a new session.
Two terminals in one folder therefore get two sessions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sessiond.protocol import types as t


def choose(
    sessions: Sequence[t.ListedSession],
    cwd: str,
    held: Mapping[str, str],
    *,
    allow_held: bool,
    allow_empty: bool,
) -> tuple[t.ListedSession, str] | None:
    """Return the most recently updated session that no other terminal holds, and the reason as a sentence.

    Sessions whose prompts a program gave come after the others of their folder.

    Args:
        sessions: All sessions of the folder, or of its project.
        cwd: The folder. Its sessions come first.
        held: The ids of the sessions that other terminals hold, each with its terminal.
        allow_held: Whether a held session is returned if there is no other.
        allow_empty: Whether sessions without messages are considered. A client without a terminal has no breadcrumb
            and finds the draft session that it created only in this way.

    Returns:
        The session and the reason; None if there is none.
    """
    here = sorted(
        (session for session in sessions if allow_empty or session.message_count),
        key=lambda session: (
            session.cwd == cwd,
            not _is_automated(session),
            session.updated_at,
            session.created_at,
        ),
        reverse=True,
    )
    free = [session for session in here if session.session_id not in held]
    if free:
        newest, folder = free[0], free[0].cwd
        passed = len(
            [
                session
                for session in here
                if session.cwd == folder
                and session.updated_at > newest.updated_at
                and session.session_id in held
            ]
        )
        others = f" {passed} newer are attached to other terminals." if passed else ""
        place = cwd if folder == cwd else f"{folder}, a folder of the same project"
        return newest, f"Newest unattached session in {place}.{others}"
    if here and allow_held:
        newest = here[0]
        holder = held[newest.session_id]
        return newest, f"Newest session in {cwd}. Terminal {holder} is attached to it, too."
    return None


def _is_automated(session: t.ListedSession) -> bool:
    return session.origin is not None and session.origin.automated


def follows(cwd: str, session_id: str | None, sessions: Sequence[t.ListedSession]) -> bool:
    """Return whether a breadcrumb for a folder that no longer exists names one of these sessions, which was moved."""
    return any(session.session_id == session_id for session in sessions) and not Path(cwd).exists()
