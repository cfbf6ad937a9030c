"""The command move-store: a home moves to a database and back, and finds everything again."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell
from support.homes import a_home, wait_until
from support.postgres import Server, programs

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_home() as home:
        yield Shell(home, tmp_path)


def use(shell: Shell, url: str) -> None:
    config = Path(shell.locations.config_file)
    config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    config.write_text(f'[store]\nurl = "{url}"\n', encoding="utf-8")
    config.chmod(0o600)


def talk(shell: Shell, *options: str) -> str:
    session_id = shell("new", *options).lines[0]
    shell("append", session_id, "--user", "hello", "--assistant", "hi")
    return session_id


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def files_of(shell: Shell) -> dict[Path, bytes]:
    data = Path(shell.locations.data)
    return {path.relative_to(data): path.read_bytes() for path in data.rglob("*") if path.is_file()}


def test_a_home_moves_to_a_database_and_back(shell: Shell, postgres_server: Server) -> None:
    url = postgres_server.new_url()
    kept, deleted, branched = (talk(shell, "--title", name) for name in ("Kept", "Deleted", "Branched"))
    first = shell("tree", branched).out.split()[0]
    shell("branch", branched, first)
    shell("append", branched, "--user", "another way")
    shell("label", branched, first, "the start")
    shell("delete", deleted, "--note", "an experiment")
    trees = {name: shell("tree", name).out for name in (kept, branched)}
    running = shell.run("move-store", "files:", url)
    assert (running.code, "sessiond stop" in running.err) == (75, True)
    shell("stop")
    before = files_of(shell)
    trial = shell("move-store", "files:", url, "--dry-run", "--json").json
    assert (trial["copiedCount"], trial["trashedCount"], trial["isDryRun"]) == (2, 1, True)
    moved = shell("move-store", "files:", url)
    assert moved.out.startswith("Copied 2 sessions, 1 from the trash, ")
    assert f'url = "{url}"' in moved.out
    assert files_of(shell) == before

    use(shell, url)
    assert {name: shell("tree", name).out for name in (kept, branched)} == trees
    assert "Kept" in shell("list").out
    assert shell("continue").lines[0] == branched  # the breadcrumb of this terminal
    assert "an experiment" in shell("trash").out
    shell("restore", deleted)
    shell("append", kept, "--user", "one more")
    tree = shell("tree", kept).out
    assert "one more" in tree
    assert "one more" in shell("search", "more", "--wait").out
    shell("stop")

    back = shell("move-store", url, "files:", "--json").json
    assert (back["copiedCount"], back["extendedCount"], back["unchangedCount"]) == (1, 1, 1)
    use(shell, "files:")
    assert shell("tree", kept).out == tree
    assert "Deleted" in shell("list").out
    assert shell("doctor").code == 0


def test_a_move_that_is_killed_goes_on(shell: Shell, postgres_server: Server) -> None:
    url = postgres_server.new_url()
    count = 60
    folder = Path(shell.locations.data) / "sessions/--work--"
    folder.mkdir(mode=0o700, parents=True)
    for number in range(count):
        header = f'{{"type":"session","id":"s-{number}","timestamp":"2026-02-16T10:20:30Z","cwd":"/work"}}'
        entry = f'{{"type":"custom","id":"e","parentId":null,"data":"{"x" * 200_000}"}}'
        (folder / f"2026-02-16T10-20-30Z_s-{number}.jsonl").write_text(
            f"{header}\n{entry}\n", encoding="utf-8"
        )
    before = files_of(shell)
    moving = shell.start("move-store", "files:", url, "--json")
    database = database_of(url)

    def copied() -> int:
        if postgres_server.sql("SELECT to_regclass('sessiond.sessions') IS NOT NULL", database) != "t":
            return 0
        return int(postgres_server.sql("SELECT count(*) FROM sessiond.sessions", database))

    wait_until(lambda: copied() > 5)
    os.kill(moving.pid, signal.SIGKILL)
    moving.communicate()
    again = shell("move-store", "files:", url, "--json").json
    assert again["copiedCount"] + again["unchangedCount"] == count
    assert again["unchangedCount"] > 5
    assert files_of(shell) == before
    use(shell, url)
    assert len(shell("list", "--all", "--json", "--limit", "100").json["sessions"]) == count


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["files:", "files:"], 2, "the same store"),
        (["files:", "memory:"], 2, "nothing outlives the daemon"),
        (["files:", "mysql://x"], 2, 'Write B as "files:"'),
        (["files:", "postgres://ada:secret@host/db"], 2, "has a password in it"),
        (["files:"], 2, "B"),
    ],
)
def test_urls_that_name_no_store_are_refused(shell: Shell, words: list[str], code: int, said: str) -> None:
    ran = shell.run("move-store", *words)
    assert ran.code == code, ran
    assert said in ran.err
    assert "secret" not in ran.err


def test_a_database_that_is_out_of_reach_is_named_and_nothing_is_lost(
    shell: Shell, postgres_server: Server, tmp_path: Path
) -> None:
    assert programs() is not None
    talk(shell)
    shell("stop")
    before = files_of(shell)
    ran = shell.run("move-store", "files:", f"postgres://tester@/none?host={tmp_path}")
    assert ran.code == 1
    assert "cannot be reached" in ran.err
    assert "Run the same command again" in ran.err
    assert files_of(shell) == before


def test_tables_that_are_newer_are_refused(shell: Shell, postgres_server: Server) -> None:
    url = postgres_server.new_url()
    database = database_of(url)
    shell("move-store", "files:", url)
    postgres_server.sql(
        "INSERT INTO sessiond.migrations(number, name, sha256) VALUES (999, 'later', 'x')", database
    )
    ran = shell.run("move-store", "files:", url)
    assert ran.code == 78
    assert "newer" in ran.err
