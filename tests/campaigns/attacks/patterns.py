"""Texts on which a regular expression that is not written with care takes minutes."""

import threading
import time
from itertools import cycle
from typing import Final

from campaigns.attacks.asking import is_well
from campaigns.campaign import Ground, hold
from campaigns.daemons import Home
from support.expressions import expressions
from support.worst_cases import worst_cases

_CHARACTERS: Final = 8_000
"""A cubic expression takes minutes for as many."""
_SAMPLED: Final = 60
"""Expressions in a short run. The tests of the expressions try all of them, and so does a long run."""
_LONGEST: Final = 60.0
"""Seconds of one request."""
_LONGEST_WAIT: Final = 5.0
"""Seconds in which another client is answered meanwhile. It is a hundredth of that on a machine with nothing to do."""


def texts_that_make_matching_slow(ground: Ground, home: Home) -> None:
    """Each is made from an expression of the daemon; every request that reads them ends, and others are answered."""
    cases = [list(worst_cases(expression.pattern, _CHARACTERS)) for expression in expressions().values()]
    if not ground.long:
        cases = [[ground.dice.choice(row)] for row in ground.dice.sample(cases, _SAMPLED)]
    for number in range(max(map(len, cases))):
        _read(home, f"slow-texts-{number}", [case[number % len(case)] for case in cases])
    is_well(home)


def _read(home: Home, session: str, texts: list[str]) -> None:
    """Ask for each form of a session with these texts, while another client asks whether the daemon is well."""
    contents = [[{"type": "text", "text": text}] for text in texts]
    roles = cycle(("user", "assistant"))
    entries = [
        {"type": "message", "message": {"role": role, "content": content}}
        for role, content in zip(roles, contents, strict=False)
    ]
    waits: list[float] = []
    done = threading.Event()
    other = threading.Thread(target=_ask_until, args=(home, done, waits))
    other.start()
    try:
        _timed(home, "session/create", cwd="/w", id=session)
        _timed(home, "session/append", sessionId=session, entries=entries)
        _timed(home, "text/redact", texts=texts)
        for name in ("markdown", "html"):
            _timed(home, "session/export", sessionId=session, format=name)
        for method in ("view/page", "session/tree", "session/context", "session/stats"):
            _timed(home, method, sessionId=session)
        for text in texts[:3]:
            for method, name in (("session/search", "query"), ("session/recall", "question")):
                _timed(home, method, **{name: f"word {text[:300]}"})
    finally:
        done.set()
        other.join()
    hold(waits, "no other client was answered")
    hold(max(waits) < _LONGEST_WAIT, f"another client waited {max(waits):.1f} s")


def _timed(home: Home, method: str, **params: object) -> None:
    began = time.monotonic()
    home.call(method, **params)
    took = time.monotonic() - began
    hold(took < _LONGEST, f"{method} took {took:.0f} s")


def _ask_until(home: Home, done: threading.Event, waits: list[float]) -> None:
    with home.connect_blocking() as daemon:
        while not done.is_set():
            began = time.monotonic()
            daemon.call("server/status", {})
            waits.append(time.monotonic() - began)
            done.wait(0.01)
