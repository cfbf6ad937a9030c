"""Programs at the other end of a sync that answer what no sessiond answers."""

import json  # noqa: TID251  (an attacker has no msgspec)
import shlex
import sys
from pathlib import Path
from typing import Final

from campaigns.attacks.asking import command, is_well
from campaigns.campaign import Ground, hold
from campaigns.daemons import Home
from support.wrong_answers import HARMLESS, KINDS, METHODS

_TESTS: Final = str(Path(__file__).parents[2])
_CALLED: Final = ("server/hello", "sync/positions", "sync/lines")
"""Methods that every sync of a session of the other side calls."""


def wrong_peers_of_sync(ground: Ground, home: Home) -> None:
    """Each ends with one sentence and status 69, and no line that is not JSON is stored."""
    other = Home(ground.folder / "peer")
    other.folder.mkdir(mode=0o700)
    dice = ground.chance(0)
    for number in range(3 if ground.long else 1):
        for kind in sorted(KINDS):
            session_id = f"session-{kind.replace('_', '-')}-{number}"
            other.call("session/create", cwd="/w", id=session_id)
            _say(other, session_id)
            method = dice.choice(METHODS if ground.long else _CALLED)
            peer = [
                "env", f"SESSIOND_HOME={other.folder}", f"PYTHONPATH={_TESTS}", sys.executable, "-m",
                "support.wrong_answers", kind, method, str(dice.randrange(1000)),
                sys.executable, "-m", "sessiond", "attach", "--stdio",
            ]  # fmt: skip
            done = command(home, "sync", "--timeout", "2", "--via", shlex.join(peer))
            what = f"a sync with {kind} in {method}: {done.returncode} {done.stderr[:300]}"
            hold(done.returncode in (0, 69) and "Traceback" not in done.stderr, what)
            hold(done.returncode == 0 or len(done.stderr.splitlines()) == 1, what)
            hold(kind not in HARMLESS or done.returncode == 0, what)
            is_well(home)
    for path in home.folder.rglob("*.jsonl"):
        for stored in path.read_bytes().splitlines():
            json.loads(stored)


def _say(home: Home, session_id: str) -> None:
    entries = [
        {"type": "message", "message": {"role": role, "content": "hello"}} for role in ("user", "assistant")
    ]
    home.call("session/append", sessionId=session_id, entries=entries)
