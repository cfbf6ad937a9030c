"""Two daemons on two machines, as far as they know, with one PostgreSQL database; both driven by the command line."""

import json  # noqa: TID251 - the tests' own reader is not the daemon's
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import BOUND
from support.postgres import Server

pytestmark = pytest.mark.postgres


class Machine:
    """A home with a daemon of its own."""

    def __init__(self, home: Path, url: str) -> None:
        self._home = home
        self.database = url.split("/")[3].split("?")[0]
        config = home / "config"
        config.mkdir(mode=0o700, parents=True)
        (config / "config.toml").write_text(f'[store]\nurl = "{url}"\n', encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """Return the output of a command. It must succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "sessiond", *arguments], cwd=self._home, timeout=BOUND, check=False,
            env=os.environ | {"SESSIOND_HOME": str(self._home)}, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture
def machines(postgres_server: Server, tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    url = postgres_server.new_url()
    here, there = Machine(tmp_path / "here", url), Machine(tmp_path / "there", url)
    try:
        yield here, there
    finally:
        for machine in (here, there):
            machine.run("stop")


def test_changes_on_one_machine_are_there_on_the_other(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    session_id = json.loads(here.run("new", "--json"))["session"]["sessionId"]
    here.run("append", session_id, "--user", "a question about rivers", "--assistant", "an answer")
    assert "a question about rivers" in there.run("tree", session_id)
    there.run("append", session_id, "--user", "and of the other machine")
    assert "of the other machine" in here.run("context", session_id)
    for machine in machines:
        assert session_id[:8] in machine.run("list", "--all")
        assert "rivers" in machine.run("search", "--all", "rivers")
    here.run("delete", session_id)
    assert session_id[:8] not in there.run("list", "--all")
    assert session_id[:8] in there.run("trash")
    there.run("restore", session_id)
    assert "of the other machine" in here.run("tree", session_id)


def test_no_session_claims_to_be_in_a_file_and_old_ones_are_cleaned_up(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    here, there = machines
    for number in range(3):
        here.run("new", "--id", f"atlas-no-{number}")
        here.run("append", f"atlas-no-{number}", "--user", "rivers", "--assistant", "an answer")
    here.run("stop")  # closed sessions are listed from the index of the other daemon
    rows = json.loads(there.run("list", "--all", "--json"))["sessions"]
    assert [(row["sessionId"], row["path"]) for row in rows] == [
        (f"atlas-no-{number}", None) for number in (2, 1, 0)
    ]
    hits = json.loads(there.run("search", "--all", "rivers", "--json"))["hits"]
    assert {(hit["sessionId"], hit["path"]) for hit in hits} == {
        (f"atlas-no-{number}", None) for number in range(3)
    }
    there.run("cleanup", "--keep", "1", "--yes")
    assert json.loads(there.run("list", "--all", "--json"))["sessions"][1:] == []


def test_a_title_is_seen_on_the_other_machine_and_changes_no_line(
    postgres_server: Server, machines: tuple[Machine, Machine]
) -> None:
    here, there = machines
    here.run("new", "--id", "atlas-one")
    here.run("append", "atlas-one", "--user", "a question", "--assistant", "an answer")
    there.run("tree", "atlas-one")
    before = _epochs(postgres_server, here)
    here.run("rename", "atlas-one", "Rivers")
    assert "Rivers" in there.run("show", "atlas-one")
    here.run("stop")
    assert _epochs(postgres_server, here) == before


def _epochs(server: Server, machine: Machine) -> str:
    """The epochs of all sessions. Another epoch ends the work of other daemons on a session."""
    return server.sql("SELECT id, epoch FROM sessiond.sessions", machine.database)


def test_the_doctor_says_which_store_is_in_force(machines: tuple[Machine, Machine]) -> None:
    machines[0].run("list", "--all")  # the daemon runs: it knows the store
    findings = json.loads(machines[0].run("doctor", "--json"))["findings"]
    [found] = [finding for finding in findings if finding["kind"] == "otherStore"]
    assert "synchronous_commit" in found["message"]
