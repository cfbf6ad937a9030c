"""Encrypted bundles: who can read them, and what everybody else is told."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessiond.sync.bundle.encryption import DecryptionKeys, Encryption, Encryptor
from sessiond.sync.bundle.errors import (
    DamagedBundleError,
    IdentityNeededError,
    InvalidKeyError,
    NotABundleError,
    WrongIdentityError,
    WrongPassphraseError,
)
from sessiond.sync.bundle.reader import opened
from support.bundles import take, write
from support.two_machines import two_machines

pyrage = pytest.importorskip("pyrage")


@dataclass(frozen=True)
class Key:
    """An identity in a file, and its recipient."""

    path: str
    recipient: str


def age_key(folder: Path, name: str) -> Key:
    identity = pyrage.x25519.Identity.generate()
    (folder / name).write_text(f"# created today\n{identity}\n", encoding="utf-8")
    return Key(str(folder / name), str(identity.to_public()))


def ssh_key(folder: Path, name: str, passphrase: str = "") -> Key:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path], check=True)
    return Key(str(path), path.with_suffix(".pub").read_text(encoding="utf-8"))


def read(path: Path, keys: DecryptionKeys) -> None:
    with opened(str(path), keys, spool_folder=None):
        pass


async def test_each_recipient_reads_it_and_nobody_else(tmp_path: Path) -> None:
    mine, other, stranger = (age_key(tmp_path, name) for name in ("mine", "other", "stranger"))
    (tmp_path / "team").write_text(f"# the team\n\n{other.recipient}\n", encoding="utf-8")
    path = tmp_path / "some.age"
    async with two_machines(tmp_path) as machines:
        session_id = await machines.here.talk()
        encryption = Encryption([mine.recipient, str(tmp_path / "team")])
        assert (await write(machines.here, path, encryption=encryption)).is_encrypted
        for keys in (DecryptionKeys([stranger.path, mine.path]), DecryptionKeys([other.path])):
            assert (await take(machines.there, path, keys=keys)).is_encrypted
        assert await machines.are_same(session_id)
    assert b"hello" not in path.read_bytes()
    with pytest.raises(WrongIdentityError):
        read(path, DecryptionKeys([stranger.path]))
    with pytest.raises(IdentityNeededError):
        read(path, DecryptionKeys())
    good = path.read_bytes()
    for bad in (good[:-20], good[:-20] + bytes([good[-20] ^ 1]) + good[-19:], good[:30]):
        path.write_bytes(bad)
        with pytest.raises(DamagedBundleError):
            read(path, DecryptionKeys([mine.path]))


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
async def test_an_ssh_key_reads_what_is_encrypted_for_it(tmp_path: Path) -> None:
    key, protected = ssh_key(tmp_path, "key"), ssh_key(tmp_path, "protected", "secret")
    path = tmp_path / "some.age"
    async with two_machines(tmp_path) as machines:
        await machines.here.talk()
        await write(machines.here, path, encryption=Encryption([key.recipient]))
    read(path, DecryptionKeys([key.path]))
    with pytest.raises(InvalidKeyError):
        read(path, DecryptionKeys([protected.path]))


@pytest.mark.slow  # a passphrase takes more than a second of computation, on purpose
def test_a_passphrase_reads_it_and_another_does_not(tmp_path: Path) -> None:
    source, path = tmp_path / "plain", tmp_path / "some.age"
    source.write_bytes(b"no bundle")
    with source.open("rb") as plain, path.open("wb") as out:
        Encryptor(Encryption(passphrase="one")).encrypt(plain, out)
    with pytest.raises(NotABundleError):  # so it was decrypted
        read(path, DecryptionKeys(ask=lambda: "one"))
    with pytest.raises(WrongPassphraseError):
        read(path, DecryptionKeys(ask=lambda: "two"))
    with pytest.raises(IdentityNeededError):
        read(path, DecryptionKeys())


@pytest.mark.parametrize("text", ["age1x", "ssh-ed25519 x", "absent-file", "ecdsa-sha2-nistp256 AAAA"])
def test_a_recipient_that_is_none_is_named(text: str) -> None:
    with pytest.raises(InvalidKeyError) as refused:
        Encryptor(Encryption([text]))
    assert refused.value.values["name"] == text
