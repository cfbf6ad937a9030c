"""Continue-recent: which session a terminal goes on with, and why.

The rules, in order (decision 0025): the terminal's own breadcrumb for
this folder; the most recently updated session of the folder that no other living terminal holds; a new one.
Two terminals in one folder therefore get two sessions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sessiond.protocol import types as t


def choose(
    sessions: Sequence[t.SessionInfo],
    cwd: str,
    held: Mapping[str, str],
    *,
    even_if_held: bool,
    even_if_empty: bool,
) -> tuple[t.SessionInfo, str] | None:
    """Return the most recently updated session of `cwd` that is free and the reason as a sentence, or None.

    Args:
        sessions: all sessions of the folder.
        cwd: the folder.
        held: the ids of sessions that terminals hold, with the terminal.
        even_if_held: whether a held session is better than none.
        even_if_empty: whether a session without a message counts: whoever has no terminal has no breadcrumb, either,
            and finds the draft that it made only so.
    """
    here = sorted(
        (session for session in sessions if session.cwd == cwd and (even_if_empty or session.message_count)),
        key=lambda session: (session.updated_at, session.created_at),
        reverse=True,
    )
    free = [session for session in here if session.session_id not in held]
    if free:
        passed = len([session for session in here if session.updated_at > free[0].updated_at])
        others = f" {passed} newer are open in other terminals." if passed else ""
        return free[0], f"It is the newest session of {cwd}.{others}"
    if here and even_if_held:
        newest = here[0]
        holder = held[newest.session_id]
        return newest, f"It is the newest session of {cwd}, though terminal {holder} has it too."
    return None


def follows(cwd: str, session_id: str | None, sessions: Sequence[t.SessionInfo]) -> bool:
    """Whether a breadcrumb of a folder that is gone leads to one of these sessions, which was moved then."""
    return any(it.session_id == session_id for it in sessions) and not Path(cwd).exists()
