"""`unpack` gives the plain file of a packed session, in its place or as a copy."""

import json  # noqa: TID251 - the output of a command is read as a script reads it
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.store.files.seekable import compressed
from support import logs
from support.commands import Shell, a_shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


@pytest.fixture
def packed(shell: Shell, tmp_path: Path) -> Path:
    """The file of a session, which is packed while no daemon runs."""
    source = tmp_path / "source.jsonl"
    source.write_bytes(logs.log(logs.header(), logs.user("hello " * 500), logs.assistant("hi")))
    shell("import", str(source))
    shell("stop")
    (plain,) = Path(shell.locations.data, "sessions").glob("*/*.jsonl")
    made = plain.with_name(f"{plain.name}.zst")
    with plain.open("rb") as file:
        made.write_bytes(b"".join(compressed(file.fileno(), plain.stat().st_size)))
    plain.rename(tmp_path / "expected")
    return made


def test_unpack_makes_the_file_plain_and_names_it(shell: Shell, packed: Path, tmp_path: Path) -> None:
    plain = Path(str(packed).removesuffix(".zst"))
    assert shell("unpack", str(packed)).lines == [str(plain)]
    assert not packed.exists()
    assert plain.read_bytes() == (tmp_path / "expected").read_bytes()
    assert shell("unpack", str(packed)).lines == [str(plain)]


def test_unpack_writes_a_copy_and_leaves_the_session(shell: Shell, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    assert shell("unpack", str(packed), "--output", str(copy)).lines == [str(copy)]
    assert copy.read_bytes() == (tmp_path / "expected").read_bytes()
    assert packed.exists()
    refused = shell.run("unpack", str(packed), "--output", str(copy))
    assert refused.code == 2
    assert copy.read_bytes() == (tmp_path / "expected").read_bytes()


def test_unpack_prints_the_session_as_json(shell: Shell, packed: Path) -> None:
    session = json.loads(shell("unpack", str(packed), "--json").out)["session"]
    assert session["path"] == str(packed).removesuffix(".zst")
