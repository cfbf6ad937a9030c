"""Each kind of bad file, key and target is refused before anything is stored."""

import os
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from sessiond.sync.bundle import archive
from sessiond.sync.bundle.encryption import DecryptionKeys, Encryption, Encryptor
from sessiond.sync.bundle.errors import (
    AgeMissingError,
    BundleError,
    DamagedBundleError,
    FileExistsAlreadyError,
    NewerBundleError,
    NotABundleError,
    OversizedBundleError,
    UnusableFileError,
)
from sessiond.sync.bundle.reader import opened
from sessiond.sync.bundle.target_file import replacing
from support.bundles import NO_KEYS, container, members_of, rebuilt, write
from support.two_machines import two_machines


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A bundle of one session."""
    async with two_machines(tmp_path) as machines:
        await machines.here.talk()
        await write(machines.here, tmp_path / "good")
    return tmp_path / "good"


def read(path: Path, *, is_limited: bool = True) -> None:
    with opened(str(path), NO_KEYS, spool_folder=None, is_limited=is_limited):
        pass


async def test_a_bundle_that_was_changed_or_cut_anywhere_is_refused(file: Path) -> None:
    good = file.read_bytes()
    read(file)
    for place in range(0, len(good), 7):
        for bad in (good[:place], good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]):
            file.write_bytes(bad)
            with pytest.raises((DamagedBundleError, NotABundleError, NewerBundleError)):
                read(file)
    file.write_bytes(good + b"more")
    with pytest.raises(DamagedBundleError):
        read(file)


async def test_a_manifest_that_names_other_content_is_refused(file: Path) -> None:
    members = members_of(file)
    page = "sessions/000001/000001.jsonl"
    link = tarfile.TarInfo("files/config.toml")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    others: tuple[dict[str, bytes | tarfile.TarInfo], ...] = (
        {**members, page: members[page].replace(b"hello", b"other")},
        {name: data for name, data in members.items() if name != page},
        {name: data for name, data in members.items() if name != "manifest.json"},
        {**members, "../../escape": b"x"},
        {**members, "link": link},
        {**members, "manifest.json": b"{}"},
    )
    for bad in others:
        file.write_bytes(rebuilt(bad))
        with pytest.raises(DamagedBundleError):
            read(file)


async def test_a_bundle_that_contradicts_itself_is_refused(file: Path) -> None:
    members = members_of(file)
    page, head = "sessions/000001/000001.jsonl", "sessions/000001/000000.jsonl"
    for bad in (
        {**members, page: members[page].replace(b"hello", b"other")},
        {**members, page: members[page].rstrip(b"\n")},
        {**members, head: members[head].replace(b'"id":"', b'"id":"x')},
        {**members, f"blobs/{'0' * 64}": b"another blob"},
        {name: data for name, data in members.items() if name != head},
    ):
        file.write_bytes(rebuilt(bad, honest=True))
        with pytest.raises(DamagedBundleError):
            read(file)


async def test_a_newer_format_and_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some"
    path.write_bytes(container(b"", version="2"))
    with pytest.raises(NewerBundleError) as newer:
        read(path)
    assert newer.value.values["found"] == "2"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(NotABundleError):
        read(path)
    with pytest.raises(UnusableFileError):
        read(tmp_path / "absent")


async def test_a_bomb_is_refused_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / "bomb"
    path.write_bytes(container(bytes(8 << 20)))
    with pytest.raises(OversizedBundleError):
        read(path)
    with pytest.raises(DamagedBundleError):
        read(path, is_limited=False)


def put(
    path: Path, data: bytes, *, force: bool = False, meanwhile: Callable[[BinaryIO], object] = id
) -> None:
    with replacing(path, force=force) as out:
        meanwhile(out)
        out.write(data)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_target_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "target"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsAlreadyError):
        put(path, b"new")
    with pytest.raises(ZeroDivisionError):
        put(path, b"half", force=True, meanwhile=lambda _: 1 // 0)
    assert path.read_bytes() == b"mine"
    put(path, b"new", force=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)
    with pytest.raises(FileExistsAlreadyError):
        put(tmp_path, b"new", force=True)
    assert names_in(tmp_path) == ["target"]


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "target"
    with pytest.raises(FileExistsAlreadyError):
        put(path, b"ours", meanwhile=lambda _: path.write_bytes(b"mine"))
    assert (path.read_bytes(), names_in(tmp_path)) == (b"mine", ["target"])


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    def fill(out: BinaryIO) -> None:
        with open("/dev/full", "wb", buffering=0) as full:
            os.dup2(full.fileno(), out.fileno())

    with pytest.raises(UnusableFileError):
        put(tmp_path / "target", b"x" * 100_000, meanwhile=fill)
    assert names_in(tmp_path) == []


def test_a_folder_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableFileError):
        put(tmp_path / "absent" / "target", b"x")


def test_without_the_package_encryption_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyrage", None)
    with pytest.raises(AgeMissingError):
        Encryptor(Encryption(["age1"]))
    (tmp_path / "x.age").write_bytes(b"age-encryption.org/v1\n-> X25519 a\n")
    with (
        pytest.raises(AgeMissingError),
        opened(str(tmp_path / "x.age"), DecryptionKeys(["key"]), spool_folder=None),
    ):
        pass
    assert issubclass(AgeMissingError, BundleError)
