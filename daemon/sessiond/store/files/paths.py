"""Names of files and folders. Pure functions without access to the disk.

The scheme is that of pi and oh-my-pi, so that people find the same names everywhere. Names are only a convenience: the
header of a log is authoritative (decision 0008).
"""

import re
from collections.abc import Iterator
from itertools import count

SUFFIX = ".jsonl"
PACKED_SUFFIX = f"{SUFFIX}.zst"
"""The end of the name of a packed log: the name of the plain file with `.zst` behind it (`packing`)."""
_PACKED = re.compile(rf".+{re.escape(SUFFIX)}\.(zst|packed)(\.[0-9]+)?", re.DOTALL)
EXPORTS = "exports"
"""The default folder for exports. It is inside the data folder, but its files do not belong to the store."""

_FOLDER_BYTES = 200  # NAME_MAX is 255; some encrypting file systems allow fewer
_TERMINAL_BYTES = 120
_NEW_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)
_KNOWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{4}[0-9TZ:.+-]{1,40}", re.ASCII)
_UNFIT_FOR_FOLDERS = re.compile(r"[/\\:\x00-\x1f\x7f]")
_FIT_FOR_TERMINALS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.%@+")


def log_name(timestamp: str, session_id: str) -> str:
    """Return `<timestamp>_<id>.jsonl`. Raises `ValueError` for an id or timestamp that must not be part of a path."""
    if not is_new_id(session_id):
        raise ValueError(f"{session_id!r} cannot name a session: use letters, digits, - and _ (1 to 128)")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise ValueError(f"{timestamp!r} is not an ISO timestamp")
    return f"{timestamp_in_names(timestamp)}_{session_id}{SUFFIX}"


def timestamp_in_names(timestamp: str) -> str:
    """Return an ISO timestamp in the form used in file names: without colons and dots."""
    return timestamp.replace(":", "-").replace(".", "-")


def session_id_of(name: str) -> str | None:
    """Return the id in a file name; None for a file that is no log. A name without a timestamp is only the id."""
    name = plain_name(name)
    if not name.endswith(SUFFIX) or name.startswith("."):
        return None
    stem = name.removesuffix(SUFFIX)
    return stem.partition("_")[2] or stem


def is_packed(name: str) -> bool:
    """Return whether a file of this name is a packed log: a session, one in the trash, or one kept beside its log."""
    return name.endswith(PACKED_SUFFIX) or _PACKED.fullmatch(name) is not None


def is_plain(name: str) -> bool:
    """Return whether a file of this name is a log that is not packed."""
    return name.endswith(SUFFIX) and not name.startswith(".")


def plain_name(name: str) -> str:
    """Return the name, or the path, that a log has or gets when it is not packed."""
    return name.removesuffix(".zst") if name.endswith(PACKED_SUFFIX) else name


def other_name(name: str) -> str:
    """Return the name, or the path, of a plain log when it is packed, and of a packed log when it is plain."""
    return plain_name(name) if name.endswith(PACKED_SUFFIX) else f"{name}.zst"


def is_new_id(session_id: str) -> bool:
    """Return whether a new session may get this id."""
    return _NEW_ID.fullmatch(session_id) is not None


def is_known_id(session_id: str) -> bool:
    """Return whether an existing session may have this id. Other programs also allow dots (pi: `--session-id`)."""
    return _KNOWN_ID.fullmatch(session_id) is not None


def encode_cwd(cwd: str) -> str:
    """Return the folder name for the sessions of a working directory: `/work/pi` is `--work-pi--`.

    The name is lossy (`/a/b-c` and `/a-b/c` share one folder). A long name is cut and gets a hash.
    """
    inner = _UNFIT_FOR_FOLDERS.sub("-", cwd.removeprefix("/"))
    return f"--{_fitted(_encodable(inner), _FOLDER_BYTES - 4)}--"


def terminal_name(terminal_id: str) -> str:
    """Return the file name for a terminal: the id itself if its characters are harmless (`pts-3`, `tmux-%5`).

    Any other byte becomes `=` and two hex digits, so that names are unique and none leaves the folder.
    """
    data = terminal_id.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _FIT_FOR_TERMINALS else f"={byte:02x}" for byte in data)
    if name.startswith("."):
        name = f"=2e{name[1:]}"
    return _fitted(name, _TERMINAL_BYTES) or "="


def names_beside(name: str, suffix: str) -> Iterator[str]:
    """Yield names for files beside a log: `<name>.<suffix>`, then the same with `.2`, `.3` … appended."""
    yield f"{name}.{suffix}"
    for number in count(2):
        yield f"{name}.{suffix}.{number}"


def _encodable(name: str) -> str:
    """Return the name without lone surrogates that no file system accepts. Those of undecodable names stay."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "-", name)


def _fitted(name: str, limit: int) -> str:
    """Return the name; if it is too long, cut at a character, with a hash of the whole."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= limit:
        return name
    import hashlib  # rarely needed, and a shell prompt waits for the import of this module

    digest = hashlib.sha256(data).hexdigest()[:12]
    return data[: limit - len(digest) - 1].decode("utf-8", "ignore") + "-" + digest
