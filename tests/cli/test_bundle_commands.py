"""The commands bundle, backup, import and restore, between two homes."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell
from support.homes import a_home, sessiond


@pytest.fixture
def shells(tmp_path: Path) -> Iterator[tuple[Shell, Shell]]:
    with a_home() as here, a_home() as there:
        yield Shell(here, tmp_path), Shell(there, tmp_path)


def talk(shell: Shell, *options: str) -> str:
    session_id = shell("new", *options).lines[0]
    shell("append", session_id, "--user", "hello", "--assistant", "hi")
    return session_id


def test_a_bundle_travels_and_a_repetition_changes_nothing(shells: tuple[Shell, Shell]) -> None:
    here, there = shells
    session_id = talk(here, "--title", "Parser")
    talk(here, "--title", "Another")
    assert here("bundle", "one.sessiond", session_id[:8]).out.startswith("Wrote 1 session, 3 lines to ")
    again = here.run("bundle", "one.sessiond", session_id)
    assert (again.code, "--force" in again.err) == (1, True)
    assert here("bundle", "all.sessiond", "--since", "1h", "--json").json["sessionCount"] == 2
    assert there("import", "one.sessiond", "--dry-run").out.startswith("Would have stored 3 lines")
    assert there("import", "one.sessiond").out.startswith("Stored 3 lines, 1 new session")
    assert there("import", "one.sessiond").out == "Nothing to do: 1 session compared\n"
    assert there("tree", session_id).out == here("tree", session_id).out
    assert there("import", "all.sessiond", "--json").json["unchangedCount"] == 1
    unknown, unmatched = (
        here.run("bundle", "x.sessiond", *words) for words in (["feedfeed"], ["--tag", "absent"])
    )
    assert (unknown.code, unmatched.code, (here.folder / "x.sessiond").exists()) == (2, 1, False)


def test_a_backup_restores_everything_and_overwrites_nothing(shells: tuple[Shell, Shell]) -> None:
    here, there = shells
    session_id, deleted = talk(here), talk(here)
    here("delete", deleted, "--note", "an experiment")
    config = Path(here.locations.config_file)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[history]\nenabled = true\n", encoding="utf-8")
    (here.folder / "disk").mkdir()
    here("backup", "disk")
    [file] = (here.folder / "disk").iterdir()
    assert file.name in there.run("restore", "./disk").err
    restored = there("restore", str(file), "--json").json
    assert (restored["received"]["sessionCount"], restored["trashedCount"]) == (2, 1)
    assert {item["outcome"] for item in restored["files"]} == {"created"}
    assert Path(there.locations.config_file).read_bytes() == config.read_bytes()
    assert "an experiment" in there("trash").out
    prompts = there("history", "--json").json["prompts"]
    assert [(prompt["prompt"], prompt["createdAt"]) for prompt in prompts] == [
        (prompt["prompt"], prompt["createdAt"]) for prompt in here("history", "--json").json["prompts"]
    ]
    assert prompts
    assert there("continue").lines[0] == session_id  # the breadcrumb of this terminal
    assert there("restore", str(file)).out.startswith("Nothing to do: 2 sessions compared")
    Path(there.locations.config_file).write_text("[history]\nenabled = false\n", encoding="utf-8")
    assert "was left as it is" in there("restore", str(file)).out
    assert "enabled = false" in Path(there.locations.config_file).read_text(encoding="utf-8")
    assert there("restore", deleted).lines[0] == deleted


def test_bad_input_is_explained(shells: tuple[Shell, Shell]) -> None:
    here, _ = shells
    session_id = talk(here)
    here("bundle", "one.sessiond")
    file = here.folder / "one.sessiond"
    file.write_bytes(file.read_bytes()[:-1])
    damaged = here.run("import", "one.sessiond")
    assert (damaged.code, "changed or cut off" in damaged.err) == (1, True)
    assert here.run("restore", "./one.sessiond").code == 1
    absent = here.run("restore", "./absent.sessiond")
    assert (absent.code, "absent.sessiond" in absent.err) == (71, True)
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *sessiond("bundle", "two.sessiond", session_id)],
        cwd=here.folder, env=here.environment(), capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip
    assert (limited.returncode, "two.sessiond" in limited.stderr) == (71, True)
    assert sorted(path.name for path in here.folder.iterdir()) == ["one.sessiond"]
    for words in (
        ["import", "one.sessiond", "--format", "codex"],
        ["import", ".", "--identity", "key"],
        ["restore", session_id, "--dry-run"],
        ["bundle", "x", "--recipient", "age1", "--passphrase"],
        ["import", "one.sessiond", "--map", "x"],
    ):
        assert here.run(*words).code == 2, words


def test_a_passphrase_is_asked_for_only_on_a_terminal(shells: tuple[Shell, Shell]) -> None:
    pytest.importorskip("pyrage")
    here, _ = shells
    talk(here)
    refused = subprocess.run(
        ["setsid", "--wait", *sessiond("bundle", "x.age", "--passphrase")],
        cwd=here.folder, env=here.environment(), capture_output=True, text=True, check=False, encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (refused.returncode, "terminal" in refused.stderr) == (2, True)
