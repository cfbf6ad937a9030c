"""Terminals in one folder, each with its session, while daemons end in every way and panes open and close.

The commands are typed into real panes of tmux. The session of each pane is known from the output of its commands; a
command that was cut off by the daemon's death may have done what it was to do, or not.
"""

import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home, until
from campaigns.log_on_disk import log_of, read_log
from campaigns.other_version import command
from campaigns.tmux import Ended, Pane, Tmux

Action = Literal["continue", "new", "append"]

_MAX_PANES: Final = 6
_LONGEST_COMMAND: Final = 0.6
"""Seconds within which the daemon ends after commands were typed."""
_IDLE: Final = 1
"""Seconds without a client after which the daemon ends by itself."""


@dataclass
class _Standing:
    """The state of a pane: its session, and whether a command that was cut off may have given it another one."""

    session: str | None = None
    is_uncertain: bool = False


@dataclass
class _Scene:
    """The panes, and what is known of the sessions that they have or had."""

    home: Home
    tmux: Tmux
    dice: random.Random
    panes: dict[Pane, _Standing] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    """The texts that were acknowledged, by session."""
    texts: int = 0
    deaths: int = 0
    closed: int = 0
    checked: int = 0
    taken_over: int = 0

    def open(self) -> Pane:
        pane = self.tmux.open()
        self.panes[pane] = _Standing()
        return pane

    def close(self, pane: Pane) -> None:
        self.closed += 1
        del self.panes[pane]
        self.tmux.close(pane)

    def owners(self, session: str, but: Pane) -> list[Pane]:
        """The other panes that have a session for certain."""
        return [
            pane for pane, pane_state in self.panes.items()
            if pane_state.session == session and pane != but and not pane_state.is_uncertain
        ]  # fmt: skip

    def type(self, pane: Pane, action: Action) -> "_Typed":
        match action:
            case "append":
                self.texts += 1
                text = f"garnet-{self.texts}"
                words = ["append", "--user", text, "--assistant", "Yes.", "--json"]
                return _Typed(pane, action, self.tmux.type(pane, *words), text)
            case _:
                return _Typed(pane, action, self.tmux.type(pane, action, "--json"))

    def look(self, typed: "_Typed", *, may_fail: bool) -> None:
        """Compare what a command has said with what its pane may have."""
        ended = self.tmux.ended(typed.base)
        standing = self.panes[typed.pane]
        if ended.code:
            hold(may_fail, f"{typed} failed with {ended.code}, and nothing had ended the daemon: {ended.err}")
            standing.is_uncertain |= typed.action == "new"
            return
        match typed.action:
            case "continue":
                self._has(typed, _session_in(ended))
            case "new":
                made = _session_in(ended)
                hold(not self.owners(made, typed.pane), f"{typed} made {made}, which another pane has")
                hold(made not in self.said, f"{typed} made {made}, which was there before")
                standing.session, standing.is_uncertain = made, False
            case "append":
                assert standing.session is not None
                self.said.setdefault(standing.session, []).append(typed.text)
        self.checked += 1

    def _has(self, typed: "_Typed", session: str) -> None:
        standing = self.panes[typed.pane]
        if standing.session is not None and not standing.is_uncertain:
            hold(session == standing.session, f"{typed} gave {session}; the pane has {standing.session}")
        others = ", ".join(map(str, self.owners(session, typed.pane)))
        hold(not others, f"{typed} gave {session}, which belongs to {others}")
        standing.session, standing.is_uncertain = session, False

    def settle(self) -> None:
        """Have every pane say which session it has, one after the other, with no daemon ending."""
        for pane in list(self.panes):
            self.look(self.type(pane, "continue"), may_fail=False)

    def let_in(self) -> None:
        """Have a new pane continue before any other pane has spoken to the daemon that there is now."""
        if len(self.panes) >= _MAX_PANES:
            self.close(self.dice.choice(list(self.panes)))
        self.look(self.type(self.open(), "continue"), may_fail=False)

    def take_over(self) -> None:
        """Close a pane whose session has an answer, and see that a new one goes on with a session that is free."""
        self.settle()
        heirs = [pane for pane, pane_state in self.panes.items() if pane_state.session in self.said]
        if not heirs or len(self.panes) < 2:
            return
        dead = self.dice.choice(heirs)
        left = self.panes[dead].session
        self.close(dead)
        pane = self.open()
        ended = self.tmux.ended(self.type(pane, "continue").base)
        hold(ended.code == 0, f"a new pane cannot continue: {ended.err}")
        told = json.loads(ended.out)
        session = told["session"]["sessionId"]
        owners = self.owners(session, pane)
        hold(not owners, f"a new pane was given {session}, which {', '.join(map(str, owners))} has")
        hold(not told["created"], f"a new pane got the new session {session}, though {left} is free")
        self.panes[pane].session = session
        self.taken_over += 1
        self.checked += 1


@dataclass(frozen=True)
class _Typed:
    pane: Pane
    action: Action
    base: Path
    text: str = ""

    def __str__(self) -> str:
        return f"{self.action} in {self.pane}"


def _session_in(ended: Ended) -> str:
    session: str = json.loads(ended.out)["session"]["sessionId"]
    return session


def _run(ground: Ground) -> Figures:
    if shutil.which("tmux") is None:
        ground.leave_out("tmux")
    home, work = Home(ground.folder / "h"), ground.folder / "w"
    work.mkdir()
    (home.folder / "config").mkdir(mode=0o700, parents=True)
    file = home.folder / "config/config.toml"
    file.write_text(f'[listen]\nidle_exit = "{_IDLE}s"\n', encoding="utf-8")
    file.chmod(0o600)
    scene, rounds = _Scene(home, Tmux(ground.folder, home, work), ground.dice), 0
    try:
        for number in ground.each_round(short=20, long=2_000, seconds=18):
            scene.dice = ground.chance(number)
            _round(scene)
            rounds += 1
        scene.settle()
        scene.checked += sum(_check(home, session, texts) for session, texts in scene.said.items())
    finally:
        scene.tmux.end(list(scene.panes))
    return Figures(
        rounds=rounds,
        faults=scene.deaths + scene.closed,
        checked=scene.checked,
        more=f"{scene.deaths:,} daemons ended, {scene.closed:,} panes closed, {scene.taken_over:,} sessions of dead "
        "panes taken over",
    )


def _round(scene: _Scene) -> None:
    """Commands in several panes at the same moment, one end of a daemon among them, and panes that come and go."""
    dice = scene.dice
    while len(scene.panes) < 2 or (len(scene.panes) < _MAX_PANES and dice.random() < 0.5):
        scene.open()
    typed = [scene.type(pane, _action(scene, pane)) for pane in scene.panes if dice.random() < 0.7]
    end = dice.choice(_ENDS)
    if end is not None:
        time.sleep(dice.random() * _LONGEST_COMMAND)
        _end(scene, end)
    if dice.random() < 0.3 and len(scene.panes) > 2:
        gone = dice.choice(list(scene.panes))  # in the middle of its command, perhaps
        scene.close(gone)
        typed = [typed_prompt for typed_prompt in typed if typed_prompt.pane != gone]
    for typed_prompt in sorted(
        typed, key=lambda typed_prompt: typed_prompt.action != "new"
    ):  # first what leaves a session to others
        scene.look(typed_prompt, may_fail=end is not None)
    if dice.random() < 0.05:
        scene.closed += len(scene.panes)
        scene.tmux.end(list(scene.panes))
        scene.panes.clear()
    elif dice.random() < 0.5:
        scene.take_over()
    else:
        _end(scene, dice.choice(_ENDS))
        scene.let_in()


def _end(scene: _Scene, end: Callable[[_Scene], None] | None) -> None:
    if end is not None:
        scene.deaths += 1
        end(scene)


def _action(scene: _Scene, pane: Pane) -> Action:
    standing = scene.panes[pane]
    if standing.session is None or standing.is_uncertain:
        return scene.dice.choice(["continue", "new"])
    return scene.dice.choice(["continue", "new", "append", "append", "append"])


def _stop(scene: _Scene) -> None:
    _command(scene, "stop")


def _restart(scene: _Scene) -> None:
    _command(scene, "restart")


def _update(scene: _Scene) -> None:
    """A newer version takes the daemon's place, or the version of before takes the place of a newer one."""
    newest = scene.dice.choice([1, 2, 3])
    done = subprocess.run(
        command(1, newest, "restart"), env=scene.home.environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    hold(done.returncode == 0, f"`sessiond restart` of version {newest} failed: {done.stderr.decode()}")


def _kill(scene: _Scene) -> None:
    scene.home.kill()


def _terminate(scene: _Scene) -> None:
    scene.home.kill(signal.SIGTERM)


def _leave_idle(scene: _Scene) -> None:
    until(lambda: scene.home.pid() is None, "the daemon does not end when nobody needs it")


def _command(scene: _Scene, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sessiond", *words], env=scene.home.environment, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    hold(done.returncode in (0, _WENT_AWAY), f"`sessiond {words[0]}` failed: {done.stderr.decode()}")


_WENT_AWAY: Final = 69
"""How a command ends whose daemon went away before it answered, as one that is idle does."""
_ENDS: Final[Sequence[Callable[[_Scene], None] | None]] = (
    None,
    _kill,
    _kill,
    _stop,
    _terminate,
    _restart,
    _update,
    _leave_idle,
)


def _check(home: Home, session: str, texts: list[str]) -> int:
    """See that a session's file holds what its panes were told that it holds, once and in order."""
    there = [
        line["message"]["content"]
        for line in read_log(log_of(home.folder, session)).lines[1:]
        if line["type"] == "message" and line["message"]["role"] == "user"
    ]
    plain = [row if isinstance(row, str) else row[0]["text"] for row in there]
    hold([text for text in plain if text in texts] == texts, f"{session} holds {plain}, not {texts}")
    return len(texts)


CAMPAIGN = Campaign(
    name="panes",
    promise="A living terminal goes on with its own session, and no other gets it, however the daemon ends; the "
    "session of one that is closed can be continued.",
    how="`continue`, `new` and `append` are typed into several panes of tmux in one folder at the same moment, while "
    "the daemon is stopped, killed, restarted, replaced by another version or left idle, and panes open and close",
    run=_run,
)
