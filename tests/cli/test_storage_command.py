"""`storage` as a person meets it: bars of what takes space, the largest sessions, and plain text in pipes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.text import width
from support.commands import Shell, a_shell
from support.writing_agents import WritingClaude

FAR = "/work/a-folder-with-a-long-name-that-does-not-fit-into-a-narrow-column/" + "x" * 80


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with a_shell(tmp_path_factory.mktemp("storage")) as made:
        for title, cwd, text in (
            ("Large", "/work/atlas", "x" * 40_000),
            ("Small \x1b[31mred", "/work/\x1b]0;owned\x07", "y" * 2_000),
            ("Far", FAR, "z" * 9_000),
        ):
            session = made("new", "--title", title, "--cwd", cwd).lines[0]
            made("append", session, "--user", "go on")
            made("append", session, "--assistant", text)
        yield made


def report(shell: Shell, *words: str, columns: int = 100) -> list[str]:
    return shell("storage", *words, COLUMNS=str(columns)).lines


def part(lines: list[str], heading: str) -> list[str]:
    """The lines below a heading, up to the next empty line."""
    first = lines.index(heading) + 1
    return lines[first : next((at for at in range(first, len(lines)) if not lines[at]), len(lines))]


def test_the_first_line_has_the_sum_and_what_is_free(shell: Shell) -> None:
    first = report(shell)[0]
    assert " in all, " in first
    assert first.endswith(" free")


def test_each_kind_of_data_has_a_bar_its_size_its_share_and_its_number(shell: Shell) -> None:
    rows = part(report(shell), "by kind")
    [sessions] = [row for row in rows if row.startswith("sessions")]
    assert sessions.split()[-2:] == ["3", "files"]
    assert "█" in sessions
    assert "%" in sessions


def test_projects_are_listed_with_the_largest_first_and_the_rest_is_counted(shell: Shell) -> None:
    assert part(report(shell), "by project")[0].startswith("/work/atlas ")
    limited = part(report(shell, "--limit", "1"), "by project")
    assert limited[1:] == ["and 2 smaller projects"]


def test_the_largest_sessions_are_named_with_their_size_and_folder(shell: Shell) -> None:
    first = part(report(shell), "largest sessions")[0]
    assert first.split()[:2] == ["41", "kB"] or first.split()[:2] == ["40", "kB"]
    assert " atlas " in first
    assert first.endswith("Large")


def test_the_text_of_a_session_cannot_command_the_terminal(shell: Shell) -> None:
    shown = "\n".join(report(shell))
    assert "Small" in shown
    assert not set(map(chr, [*range(10), *range(11, 32), 127])) & set(shown)


@pytest.mark.parametrize("columns", [50, 80, 100])
def test_lines_fit_the_terminal(shell: Shell, columns: int) -> None:
    assert all(width(line) <= columns for line in report(shell, columns=columns))


def test_bars_are_plain_where_the_output_has_no_boxes(shell: Shell) -> None:
    lines = shell("storage", COLUMNS="100", LC_ALL="C", PYTHONIOENCODING="ascii").lines
    assert all(line.isascii() for line in lines)
    assert any("####" in line for line in lines)


def test_json_has_the_whole_report(shell: Shell) -> None:
    found = shell("storage", "--json", "--limit", "1").json
    assert found["projectCount"] == 3
    assert len(found["sessions"]) == 1


def test_an_empty_home_has_a_report(tmp_path: Path) -> None:
    with a_shell(tmp_path) as empty:
        lines = empty("storage").lines
    assert " in all, " in lines[0]
    assert "by agent" not in lines


def test_the_folders_of_agents_are_measured_and_their_deletions_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for agent in AGENTS.values():
        for name in agent.variables:
            monkeypatch.delenv(name, raising=False)
    claude = WritingClaude(tmp_path)
    claude.asks("hello")
    claude.says("good day")
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    with a_shell(tmp_path) as shell:
        lines = report(shell, columns=400)
        [row] = part(lines, "by folders of agents")
        assert row.split()[:2] == ["Claude", "Code"]
        [sentence] = [line for line in lines if "Within a week" in line]
        assert sentence.startswith(
            "Claude Code deletes session files that were not changed for 30 days, by default."
        )
        assert sentence.endswith(
            "1 not here, or not completely. To keep them: sessiond agents follow claude-code"
        )
        assert f"  {claude.path}" in lines
        shell("import", str(claude.path))
        assert any(line.endswith("All of it is here.") for line in report(shell, columns=400))
        assert "by folders of agents" not in report(shell, "--no-agents", columns=400)
        found = shell("storage", "--json").json
    assert [row["agent"] for row in found["agentFolders"]] == ["claude-code"]


def test_archive_packs_unused_sessions_and_says_what_that_saves(tmp_path: Path) -> None:
    with a_shell(tmp_path) as shell:
        session = shell("new", "--cwd", "/work/atlas").lines[0]
        shell("append", session, "--user", "go on")
        shell("append", session, "--assistant", "x" * 100_000)
        shell("stop")  # which closes it
        assert shell("storage", "archive").lines == ["0 sessions packed: 0 B into 0 B"]
        assert shell("storage", "archive", "--days", "0").lines[0].startswith("1 session packed: 10")
        assert "packed sessions" in "\n".join(report(shell))
        assert shell("storage", "archive", "--json").json["sessionCount"] == 0


def test_reclaim_asks_and_changes_nothing_without_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    claude = WritingClaude(tmp_path)
    claude.asks("hello")
    claude.says("good day")
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    content = claude.path.read_bytes()
    with a_shell(tmp_path) as shell:
        shell("import", str(claude.path))
        ran = shell("storage", "reclaim", "claude")
        assert ran.lines[0].startswith("1 file, ")
        assert "--yes" in ran.err
        assert shell("storage", "reclaim", "claude", "--json").json["dryRun"] is True
        assert claude.path.exists()
        assert shell("storage", "reclaim", "claude", "--yes").lines[-1].endswith("--undo")
        assert not claude.path.exists()
        assert shell("storage", "reclaim", "claude-code", "--undo").lines[0].endswith("moved back")
        assert claude.path.read_bytes() == content


@pytest.mark.parametrize(
    "words",
    [
        ("--yes",),
        ("--undo",),
        ("--days", "3"),
        ("reclaim",),
        ("archive", "claude"),
        ("archive", "--yes"),
        ("other", "claude"),
        ("reclaim", "claude", "--undo", "--days", "3"),
    ],
)
def test_options_that_do_not_fit_are_refused(shell: Shell, words: tuple[str, ...]) -> None:
    ran = shell.run("storage", *words)
    assert ran.code == 2
    assert ran.err
