"""Errors of a bundle, of its keys, and of the file that it is written to."""

from sessiond.error_text import TemplatedError


class BundleError(TemplatedError):
    """The base of all errors of this package."""


class NotABundleError(BundleError):
    """Raised for a file that is no bundle, or that decrypts to something else."""

    sentence = "{path} is not a bundle of sessiond."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)


class NewerBundleError(BundleError):
    """Raised for a bundle in a format that this version does not know."""

    sentence = "{path} has the bundle format {found!r:.20}, and this sessiond reads format {known}."
    advice = "Update sessiond."

    def __init__(self, path: str, found: str, known: int) -> None:
        super().__init__(path=path, found=found, known=known)


class DamagedBundleError(BundleError):
    """Raised for a bundle whose content is not what was written. Raised before anything is stored."""

    sentence = "{path} is damaged: {reason}. Nothing was stored."
    advice = "Get another copy of the file."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


class OversizedBundleError(BundleError):
    """Raised for a bundle that decompresses to much more than other bundles do."""

    sentence = "{path} decompresses to more than {limit}. Nothing was stored."
    advice = "If you trust its sender, add --no-size-limit."

    def __init__(self, path: str, limit: str) -> None:
        super().__init__(path=path, limit=limit)


class IdentityNeededError(BundleError):
    """Raised for an encrypted bundle when no identity was named, or no passphrase can be asked for."""

    sentence = "{path} is encrypted{how}."
    advice = "{then}"

    def __init__(self, path: str, how: str, then: str) -> None:
        super().__init__(path=path, how=how, then=then)


class WrongIdentityError(BundleError):
    """Raised for a bundle that none of the identities decrypts."""

    sentence = (
        "None of the identities decrypts {path}: it is encrypted for others, or its first bytes were changed."
    )
    advice = "Name the key that it was encrypted for: --identity FILE."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)


class WrongPassphraseError(BundleError):
    """Raised for a bundle that the passphrase does not decrypt."""

    sentence = "The passphrase does not decrypt {path}."
    advice = "Nothing was stored. Try again."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)


class InvalidKeyError(BundleError):
    """Raised for a recipient or an identity that cannot be used."""

    sentence = "{name!r:.120} cannot be used as {role}: {reason}."
    advice = "{then}"

    def __init__(self, name: str, role: str, reason: str, then: str = "") -> None:
        super().__init__(name=name, role=role, reason=reason, then=then)


class AgeMissingError(BundleError):
    """Raised when a bundle is to be encrypted or decrypted without the package that does it."""

    sentence = "Encrypted bundles need the package pyrage, which is not installed."
    advice = "pip install 'sessiond[age]' installs it beside sessiond."

    def __init__(self) -> None:
        super().__init__()


class FileExistsAlreadyError(BundleError):
    """Raised when a bundle would replace a file."""

    sentence = "{path} exists, and was left as it is."
    advice = "Choose another name, or add --force to replace it."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)


class UnusableFileError(BundleError):
    """Raised when the system refuses to read or to write a file. No file remains."""

    sentence = "{path} cannot be {done}: {reason}."

    def __init__(self, path: str, done: str, reason: str) -> None:
        super().__init__(path=path, done=done, reason=reason)


class NothingChosenError(BundleError):
    """Raised when no session is in the selection, so that no file is written."""

    sentence = "No session was found that matches, and no file was written."
    advice = "sessiond list --all --drafts shows every session."

    def __init__(self) -> None:
        super().__init__()
