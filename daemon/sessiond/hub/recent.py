"""Continue-recent: which session a terminal goes on with, and why.

The rules, in order (seed: oh-my-pi `continueRecent`; fact: pi-omp §2.14): the terminal's own breadcrumb for
this folder; the most recently updated session of the folder that no other living terminal holds; a new one.
Two terminals in one folder therefore get two sessions.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sessiond.protocol import types as t


@dataclass(slots=True)
class Terminals:
    """Which session each terminal of this daemon's life holds."""

    _held: dict[str, tuple[t.Terminal, str]] = field(default_factory=dict)

    def hold(self, terminal: t.Terminal, session_id: str) -> None:
        self._held[terminal.id] = (terminal, session_id)

    def held_by_others(self, terminal: t.Terminal | None) -> dict[str, str]:
        """Session ids with the id of the living terminal, other than `terminal`, that holds each."""
        own = None if terminal is None else terminal.id
        for terminal_id, (other, _) in list(self._held.items()):
            if not _alive(other):
                del self._held[terminal_id]
        return {session_id: name for name, (_, session_id) in self._held.items() if name != own}


def choose(
    sessions: Sequence[t.SessionInfo], cwd: str, held: dict[str, str], *, even_if_held: bool
) -> tuple[t.SessionInfo, str] | None:
    """The most recently updated session of `cwd` that is free, with the reason as a sentence."""
    here = sorted(
        (session for session in sessions if session.cwd == cwd and session.message_count),
        key=lambda session: session.updated_at,
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


def _alive(terminal: t.Terminal) -> bool:
    """Whether the terminal's session leader still runs; one that did not name it holds nothing."""
    if terminal.pid is None:
        return False
    try:
        os.kill(terminal.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return not _is_dead_but_unburied(terminal.pid)


def _is_dead_but_unburied(pid: int) -> bool:
    """Whether a process has ended and nobody asked how, as is common in containers: a signal still finds it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] == b"Z"
