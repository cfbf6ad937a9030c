"""Progress on a terminal: drawn over itself, as wide as it, gone at the end; Ctrl-C says where it was."""

import io
import sys
from typing import Any

import pytest

from sessiond.cli.render import progress
from support.commands import a_shell
from support.terminals import on_a_terminal


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


class Interrupted:
    """A daemon that tells of two steps, and then somebody presses Ctrl-C."""

    def call(self, method: str, params: dict[str, Any], *, on_notification: Any) -> None:
        for percentage, message in ((10, "1 of 10: a.jsonl"), (20, "2 of 10: b\x1b[2J.jsonl " + "x" * 200)):
            on_notification(
                "$/progress", {"value": {"kind": "report", "message": message, "percentage": percentage}}
            )
        raise KeyboardInterrupt


def test_ctrl_c_says_where_it_was_and_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        progress.call(Interrupted(), "session/import", {})  # type: ignore[arg-type]  # as much of a daemon as it needs
    drawn = terminal.getvalue().split("\r\x1b[K")
    assert all(len(text) < 60 for text in drawn[:3])
    assert "\x1b" not in "".join(drawn)
    assert drawn[-2].startswith("Stopped at: 2 of 10: b.jsonl")
    assert drawn[-1] == ""


def test_an_export_draws_its_progress_and_what_it_prints_is_whole(tmp_path: Any) -> None:
    with a_shell(tmp_path) as shell:
        shell("new", "--id", "atlas-one")
        shell("append", "atlas-one", "--user", "Why?", "--assistant", "A race.")
        ran = on_a_terminal(shell, "export", "atlas-one")
    assert ran.code == 0
    assert "Reading 2 entries" in ran.err
    assert "A race." in ran.out
    assert "\x1b" not in ran.out
