"""Recognizes a bundle by its first bytes. Imports nothing, because every import of a file asks."""

SKIPPABLE = b"\x50\x2a\x4d\x18"
"""The magic number of a skippable frame of Zstandard: other programs ignore the frame."""
MARK = b"sessiond bundle "
"""The content of the first frame begins with it; the number of the format and a newline follow."""
AGE = b"age-encryption.org/v1\n"
ARMORED_AGE = b"-----BEGIN AGE ENCRYPTED FILE-----"
FIRST_BYTES = 128
"""Bytes of a file by which it is recognized."""


def is_plain_bundle(first: bytes) -> bool:
    """Return whether a file with these first bytes is a bundle that is not encrypted."""
    return first.startswith(SKIPPABLE) and first[8:].startswith(MARK)


def is_encrypted(first: bytes) -> bool:
    """Return whether a file with these first bytes is encrypted with age."""
    return first.startswith((AGE, ARMORED_AGE))


def is_bundle_file(path: str) -> bool:
    """Return whether a file is a bundle, or encrypted with age. A file that cannot be read is none."""
    try:
        with open(path, "rb") as file:
            first = file.read(FIRST_BYTES)
    except OSError:
        return False
    return is_plain_bundle(first) or is_encrypted(first)
