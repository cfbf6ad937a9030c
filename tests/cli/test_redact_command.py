"""The command redact: a filter that replaces secrets in standard input, however it arrives."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sessiond.cli.main import run
from support.answering_daemons import a_daemon_that_answers
from support.commands import Shell, a_shell
from support.homes import sessiond

SECRET = "q8)r$m0|Zt4x"
KEY = f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQIBADANBgkq' * 4}\n-----END PRIVATE KEY-----\n"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        yield shell


def test_a_command_prints_exact_text_in_a_pipe_and_the_filter_redacts_it(shell: Shell) -> None:
    session = shell("new").lines[0]
    entry = shell("append", session, "--user", f"Hello.\nDB_PASS={SECRET}").lines[0]
    shown = shell("show", session, "--entry", entry).out
    assert SECRET in shown
    ran = shell("redact", stdin=shown)
    assert ran.out == shown.replace(SECRET, "[redacted: Password]")
    assert "1 secret" in ran.err


def test_text_without_secrets_comes_out_as_it_went_in(shell: Shell) -> None:
    text = "".join(f"line {number} of a text\n" for number in range(60_000)) + "\tno line break at the end"
    assert shell("redact", stdin=text).out == text
    assert shell("redact", stdin="").out == ""


def test_a_line_is_printed_before_the_next_one_arrives(shell: Shell) -> None:
    filtering = subprocess.Popen(
        sessiond("redact"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=shell.folder,
        env=shell.environment(),
    )  # fmt: skip
    with filtering:
        assert filtering.stdin is not None
        assert filtering.stdout is not None
        for line in (b"first\n", f"DB_PASS={SECRET}\n".encode()):
            filtering.stdin.write(line)
            filtering.stdin.flush()
            assert filtering.stdout.readline() == line.replace(SECRET.encode(), b"[redacted: Password]")
        filtering.stdin.close()
    assert filtering.returncode == 0


@pytest.mark.parametrize("size", [1, 7, 40, 400_000])
def test_a_private_key_that_arrives_in_pieces_is_asked_for_as_one_text(
    size: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"before\n{KEY}after\n".encode()

    class Pieces:
        def __init__(self) -> None:
            self.rest = text

        def read1(self, _: int) -> bytes:
            piece, self.rest = self.rest[:size], self.rest[size:]
            return piece

    asked: list[str] = []

    def redact(params: dict[str, Any]) -> dict[str, Any]:
        asked.extend(params["texts"])
        return {"texts": params["texts"], "redactedCount": 0, "redactionIncomplete": False}

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pieces(), isatty=lambda: False))
    with a_daemon_that_answers({"text/redact": redact}):
        assert run(["redact"]) == 0
    assert capsys.readouterr().out == "".join(asked) == text.decode()
    assert any(KEY in part for part in asked)
