"""The same scene again and again: a home as a victim prepared it, a daemon that dies in it, another that is asked."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

from campaigns.campaign import hold
from campaigns.daemons import Home, runs, until
from campaigns.nursery import Nursery
from campaigns.victims import Stage, Victim
from sessiond.client.daemon_socket import DaemonConnectionError
from sessiond.client.wire import DisconnectedError


class Rehearsal:
    """Prepares each victim once, and begins every scene from a copy. Homes have one path, which files may name."""

    def __init__(self, folder: Path, nurse: Nursery) -> None:
        self.home = Home(folder / "h")
        self._saved = folder / "saved"
        self._nurse = nurse
        self._before: dict[str, dict[str, Any]] = {}

    def begin(self, victim: Victim) -> int:
        """The process id of a daemon in a home that is prepared."""
        if victim.name not in self._before:
            self._prepare(victim)
        shutil.rmtree(self.home.folder, ignore_errors=True)
        shutil.copytree(self._saved / victim.name, self.home.folder)
        return self._nurse.start(self.home)

    def act(self, victim: Victim, pid: int) -> bool:
        """Let it come to what the death is for; whether it was acknowledged."""
        with (
            contextlib.suppress(DisconnectedError, DaemonConnectionError, ConnectionError),
            self.home.connect_blocking(autostart=False) as daemon,
        ):
            victim.act(self._stage(victim, daemon))
            return True
        until(lambda: not runs(pid), f"{victim.name}: a daemon that ended a connection does not end")
        return False

    def act_once(self, victim: Victim) -> None:
        """Do what the victim does, on a daemon that stays. Raises `RpcError` as the daemon refuses."""
        with self.home.connect_blocking(autostart=False) as daemon:
            victim.act(self._stage(victim, daemon))

    def check_same(self, victim: Victim, acknowledged: bool) -> None:
        """Ask the daemon that is still there. Raises `Broken`. The daemon is ended."""
        try:
            with self.home.connect_blocking(autostart=False) as daemon:
                victim.check(self._stage(victim, daemon), acknowledged)
        finally:
            self.home.kill()

    def check(self, victim: Victim, acknowledged: bool, where: str) -> None:
        """End what still runs, and ask another daemon. Raises `Broken`; `where` says when the death came."""
        self.home.kill()
        self._nurse.start(self.home)
        try:
            with self.home.connect_blocking(autostart=False) as daemon:
                victim.check(self._stage(victim, daemon), acknowledged)
        except Exception as error:
            error.add_note(f"after a death in {victim.name} {where}")
            raise
        finally:
            self.home.kill()

    def _prepare(self, victim: Victim) -> None:
        shutil.rmtree(self.home.folder, ignore_errors=True)
        self._nurse.start(self.home)
        with self.home.connect_blocking(autostart=False) as daemon:
            stage = Stage(self.home, daemon)
            victim.prepare(stage)
        self.home.kill()
        sockets = shutil.ignore_patterns("*.sock*")
        shutil.copytree(self.home.folder, self._saved / victim.name, ignore=sockets)
        self._before[victim.name] = stage.before

    def _stage(self, victim: Victim, daemon: Any) -> Stage:
        return Stage(self.home, daemon, dict(self._before[victim.name]))


def died(victim: Victim, pid: int, acknowledged: bool) -> bool:
    """Whether the daemon is dead. It must be, if there was no answer."""
    dead = not runs(pid)
    hold(dead or acknowledged, f"{victim.name}: the connection ended without a death")
    return dead
