"""Bundles of machines in tests: written, imported, and made by hand in forms that sessiond does not write."""

import hashlib
import io
import json  # noqa: TID251 - the tests' own writer is not the product's
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from sessiond.sync.bundle.encryption import DecryptionKeys, Encryption, Encryptor
from sessiond.sync.bundle.reader import opened
from sessiond.sync.bundle.report import TakenReport, WrittenReport
from sessiond.sync.bundle.taking import take_bundle, take_trash
from sessiond.sync.bundle.writing import BundleTarget, write_bundle
from sessiond.sync.options import SyncOptions
from support.two_machines import Machine

NO_KEYS = DecryptionKeys()


def ignore(done: int, count: int) -> None:
    """Progress that no test reads."""


async def write(
    machine: Machine, path: Path, *, force: bool = False, encryption: Encryption | None = None, **options: Any
) -> WrittenReport:
    target = BundleTarget(path, force, None if encryption is None else Encryptor(encryption))
    return await write_bundle(machine.daemon, target, replace(SyncOptions(), **options), ignore)


async def back_up(machine: Machine, path: Path) -> WrittenReport:
    return await write_bundle(
        machine.daemon, BundleTarget(path), SyncOptions(drafts=True), ignore, kind="backup"
    )


async def take(
    machine: Machine, path: Path, *, keys: DecryptionKeys = NO_KEYS, **options: Any
) -> TakenReport:
    with opened(str(path), keys, spool_folder=None) as bundle:
        return await take_bundle(machine.daemon, bundle, str(path), ignore, **options)


async def restore(machine: Machine, path: Path) -> TakenReport:
    with opened(str(path), NO_KEYS, spool_folder=None) as bundle:
        report = await take_bundle(machine.daemon, bundle, str(path), ignore)
        await take_trash(machine.daemon, bundle, report)
    return report


def frame(content: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def container(archive: bytes, *, version: str = "1") -> bytes:
    """A container around any bytes, with the correct checksum."""
    data = frame(f"sessiond bundle {version}\n".encode()) + zstandard.ZstdCompressor().compress(archive)
    return data + frame(hashlib.sha256(data).digest())


def members_of(path: Path) -> dict[str, bytes]:
    """The members of a bundle, read without the product's code."""
    with path.open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {info.name: _content(archive, info) for info in archive}


def rebuilt(members: Mapping[str, bytes | tarfile.TarInfo], *, honest: bool = False) -> bytes:
    """A container of members. With `honest`, the manifest describes the present members."""
    made = dict(members)
    if honest:
        manifest = json.loads(_bytes(made["manifest.json"]))
        manifest["members"] = {
            name: {"sizeBytes": len(_bytes(data)), "sha256": hashlib.sha256(_bytes(data)).hexdigest()}
            for name, data in made.items()
            if name != "manifest.json"
        }
        made["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in made.items():
            info = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(_bytes(data))
            archive.addfile(info, io.BytesIO(_bytes(data)))
    return container(out.getvalue())


def _bytes(data: bytes | tarfile.TarInfo) -> bytes:
    return data if isinstance(data, bytes) else b""


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    assert file is not None
    return file.read()
