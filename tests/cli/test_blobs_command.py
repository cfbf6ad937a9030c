"""The command blobs: totals, a dry run, and moving to the trash."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from support.images import image_block, png


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        yield shell


def put(shell: Shell, data: bytes, *, days: int = 30) -> str:
    """Keep a blob that was put some days ago; its name."""
    base64 = image_block(data)["data"]
    name: str = shell("rpc", "blob/put", f'{{"data": "{base64}"}}').json["hash"]
    then = time.time() - days * 86_400
    os.utime(Path(shell.locations.data) / "blobs" / name, (then, then))
    return name


def test_totals_say_what_there_is_and_what_nobody_names(shell: Shell) -> None:
    assert shell("blobs").lines == ["0 blobs, 0 B"]
    put(shell, png(40, 40))
    size = f"{len(png(40, 40)) / 1000:.1f} kB"
    assert shell("blobs").lines == [
        f"1 blob, {size}",
        f"  1 of them, {size}, are not referenced by any session: sessiond blobs collect",
    ]


def test_collect_says_what_it_would_do_and_with_yes_does_it(shell: Shell) -> None:
    name = put(shell, png(40, 40))
    file = Path(shell.locations.data) / "blobs" / name
    lines = shell("blobs", "collect").lines
    assert lines[0].split()[0] == name[:16]
    assert lines[1].endswith("would be moved to the trash: sessiond blobs collect --yes")
    assert file.exists()
    assert str(Path(shell.locations.data) / "trash") in shell("blobs", "collect", "--yes").lines[0]
    assert not file.exists()
    assert shell("blobs", "collect", "--yes").lines[0] == "Nothing to collect."


def test_days_say_how_old_a_blob_must_be(shell: Shell) -> None:
    put(shell, png(40, 40), days=3)
    assert shell("blobs", "collect").lines[0] == "Nothing to collect."
    assert len(shell("blobs", "collect", "--days", "2", "--json").json["removed"]) == 1


def test_a_missing_blob_is_told_on_standard_error(shell: Shell) -> None:
    session = shell("new").lines[0]
    reference = f"blob:sha256:{'7' * 64}"
    draft = f'{{"type": "custom", "customType": "x", "data": "{reference}"}}'
    shell("rpc", "session/append", f'{{"sessionId": "{session}", "entries": [{draft}]}}')
    assert "7" * 16 in shell("blobs").err


@pytest.mark.parametrize(
    "words", [("blobs", "sweep"), ("blobs", "--yes"), ("blobs", "collect", "--days", "x")]
)
def test_arguments_that_make_no_sense_are_wrong_usage(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run(*words).code == 2
