"""Encrypts and decrypts bundles with age: for recipients, for ssh public keys, or with a passphrase.

The file is what the program `age` writes, so `age --decrypt` reads it as well.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from sessiond.sync.bundle.errors import (
    AgeMissingError,
    DamagedBundleError,
    IdentityNeededError,
    InvalidKeyError,
    UnusableFileError,
    WrongIdentityError,
    WrongPassphraseError,
)
from sessiond.sync.bundle.recognition import AGE, ARMORED_AGE, FIRST_BYTES

MAX_WITH_PASSPHRASE: Final = 1 << 30
"""Bytes of a bundle that is encrypted with a passphrase: the package holds it in memory twice."""

_MAX_KEY_BYTES: Final = 1 << 20
_NO_KEY: Final = "No matching keys"
_PASSPHRASE_STANZA: Final = AGE + b"-> scrypt "
_SECRET: Final = "AGE-SECRET-KEY-"
_UNSUPPORTED: Final = "Recipients are age1…, and public keys of ssh that begin with ssh-ed25519 or ssh-rsa."


@dataclass(frozen=True, slots=True)
class Encryption:
    """The encryption of a bundle: for recipients, or with a passphrase.

    Attributes:
        recipients: Recipients of age, public keys of ssh, and names of files with one of these on each line.
        passphrase: The passphrase, if there are no recipients.
    """

    recipients: Sequence[str] = ()
    passphrase: str | None = None


@dataclass(frozen=True, slots=True)
class DecryptionKeys:
    """The keys that decrypt a bundle.

    Attributes:
        identities: Names of files with identities of age or a private key of ssh.
        ask: Asks for the passphrase; None if no user can be asked.
    """

    identities: Sequence[str] = ()
    ask: Callable[[], str] | None = None


class Encryptor:
    """Encrypts files. Its keys are read when it is made, so that a wrong one is found before any work.

    Raises:
        AgeMissingError: The package is not installed.
        InvalidKeyError: A recipient cannot be used.
    """

    def __init__(self, encryption: Encryption) -> None:
        self._age = _age()
        self._passphrase = encryption.passphrase
        self._recipients = [
            self._recipient(recipient)
            for given in encryption.recipients
            for recipient in _recipients_in(given)
        ]

    def encrypt(self, source: BinaryIO, target: BinaryIO) -> None:
        """Encrypt the whole of a file. Raises `InvalidKeyError`, `OSError`."""
        size = source.seek(0, 2)
        source.seek(0)
        if self._passphrase is None:
            self._age.encrypt_io(source, target, self._recipients)
            return
        if size > MAX_WITH_PASSPHRASE:
            raise InvalidKeyError(
                "--passphrase", "the key of so large a bundle", f"the limit is {MAX_WITH_PASSPHRASE:,} bytes",
                "Name a recipient: --recipient age1…",
            )  # fmt: skip
        target.write(self._age.passphrase.encrypt(source.read(), self._passphrase))

    def _recipient(self, text: str) -> Any:
        try:
            kind = self._age.ssh if text.startswith("ssh-") else self._age.x25519
            return kind.Recipient.from_str(text)
        except self._age.RecipientError as error:
            raise InvalidKeyError(text, "a recipient", str(error), _UNSUPPORTED) from None


def decrypted(source: BinaryIO, path: str, target: BinaryIO, keys: DecryptionKeys) -> None:
    """Decrypt a file. The content of `target` counts only if this returns.

    Args:
        source: The encrypted file.
        path: Its name, for messages.
        target: An empty file that receives the content.
        keys: The keys that decrypt it.

    Raises:
        AgeMissingError: The package is not installed.
        IdentityNeededError: No key was given.
        InvalidKeyError: An identity cannot be used.
        WrongIdentityError: No identity decrypts it.
        WrongPassphraseError: The passphrase does not decrypt it.
        DamagedBundleError: It was changed or cut off.
    """
    age = _age()
    source.seek(0)
    is_by_passphrase = _is_by_passphrase(source.read(FIRST_BYTES))
    source.seek(0)
    if is_by_passphrase:
        _decrypt_with_passphrase(age, source, path, target, keys)
        return
    if not keys.identities:
        raise IdentityNeededError(path, "", "Name the file with the private key: --identity FILE.")
    identities = [identity for name in keys.identities for identity in _identities_in(age, name)]
    try:
        age.decrypt_io(source, target, identities)
    except age.DecryptError as error:
        if _NO_KEY in str(error):
            raise WrongIdentityError(path) from None
        raise DamagedBundleError(path, "it was changed or cut off") from None
    except OSError as error:
        if error.errno is not None:  # of the system, and not of the package
            raise
        raise DamagedBundleError(path, "it was changed or cut off") from None


def _decrypt_with_passphrase(
    age: Any, source: BinaryIO, path: str, target: BinaryIO, keys: DecryptionKeys
) -> None:
    size = os.fstat(source.fileno()).st_size
    if size > 2 * MAX_WITH_PASSPHRASE:
        raise DamagedBundleError(path, "it is larger than any bundle with a passphrase")
    if keys.ask is None:
        raise IdentityNeededError(
            path, " with a passphrase", "Run the command on a terminal, which asks for it."
        )
    try:
        target.write(age.passphrase.decrypt(source.read(), keys.ask()))
    except age.DecryptError as error:
        if "Decryption failed" in str(error) or _NO_KEY in str(error):
            raise WrongPassphraseError(path) from None
        raise DamagedBundleError(path, "it was changed or cut off") from None


def _is_by_passphrase(first: bytes) -> bool:
    if not first.startswith(ARMORED_AGE):
        return first.startswith(_PASSPHRASE_STANZA)
    from binascii import Error, a2b_base64

    line = first[len(ARMORED_AGE) :].strip()[:64]
    try:
        return a2b_base64(line[: len(line) // 4 * 4]).startswith(_PASSPHRASE_STANZA)
    except Error:
        return False


def _recipients_in(given: str) -> list[str]:
    """Return the recipient that a text is, or those that are in the file of this name."""
    if given.startswith(("age1", "ssh-")):
        return [given.strip()]
    lines = _read_key_file(given, "a recipient", _UNSUPPORTED).decode("utf-8", "replace").splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not found:
        raise InvalidKeyError(given, "a recipient", "the file names none", _UNSUPPORTED)
    return found


def _identities_in(age: Any, name: str) -> list[Any]:
    data = _read_key_file(name, "an identity")
    text = data.decode("utf-8", "replace")
    secrets = [line.strip() for line in text.splitlines() if line.strip().startswith(_SECRET)]
    try:
        if secrets:
            return [age.x25519.Identity.from_str(secret) for secret in secrets]
        return [age.ssh.Identity.from_buffer(data)]
    except age.IdentityError as error:
        raise InvalidKeyError(
            name, "an identity", str(error),
            "An identity is a file of age-keygen, or a private key of ssh (ed25519 or rsa) without a passphrase;"
            " ssh-keygen -p takes the passphrase off a copy.",
        ) from None  # fmt: skip


def _read_key_file(name: str, role: str, then: str = "") -> bytes:
    try:
        with Path(name).expanduser().open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except (OSError, ValueError) as error:
        if then:
            raise InvalidKeyError(name, role, "there is no such file", then) from None
        raise UnusableFileError(name, "read", getattr(error, "strerror", None) or str(error)) from None


def _age() -> Any:
    try:
        import pyrage
    except ImportError:
        raise AgeMissingError from None
    return pyrage
