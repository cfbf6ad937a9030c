"""The values of `config.toml`: one function for each kind of value, which checks and converts it.

Each of these functions takes the name of the key, for errors, and the value as TOML gives it, and raises
`InvalidValueError`. `folder_pair` and `store_url_problem` check the same values in arguments of commands.
"""

import os
import re
from typing import Final

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
MIB: Final = 1024 * 1024
_MAX_TOKENS: Final = 1_000_000_000
_MAX_DECISIONS: Final = 10
_MAX_CLIENTS: Final = 100_000
_MAX_FRAME_BYTES: Final = 512 * MIB
_MAX_PATTERN: Final = 1_000
_MAX_SESSIONS: Final = 1_000_000_000

FILES: Final = "files:"
MEMORY: Final = "memory:"
POSTGRES: Final = ("postgres://", "postgresql://")
_POSTGRES_OPTIONS: Final = (
    "host", "port", "user", "dbname", "database", "service", "servicefile", "passfile", "target_session_attrs",
    "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "krbsrvname", "gsslib",
)  # fmt: skip


class InvalidValueError(Exception):
    """Raised for a table, key or value that is not valid."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


def duration(key: str, value: object) -> float | None:
    """Return a length of time in seconds; None for `never`."""
    if value == "never":
        return None
    parts = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", value) if isinstance(value, str) else None
    if parts is None:
        advice = f'{key} as a text such as "45s", "30m", "2h", "7d" or "never"'
        raise InvalidValueError(f"{key} is {value!r}, which is not a length of time", advice)
    return int(parts[1]) * _SECONDS[parts[2]]


def loopback(key: str, value: object) -> str | None:
    """Return an address of this machine with a port; None for false."""
    if value is False:
        return None
    parts = (
        re.fullmatch(r"(127(?:\.[0-9]{1,3}){3}|\[::1\]):([0-9]{1,5})", value)
        if isinstance(value, str)
        else None
    )
    if (
        parts is None
        or int(parts[2]) > 65_535
        or any(int(part) > 255 for part in re.findall(r"[0-9]+", parts[1]))
    ):
        advice = f'{key} as an address of this machine and a port, "127.0.0.1:7413" or "[::1]:7413", or false'
        raise InvalidValueError(f"{key} is {value!r:.80}, which is no place to listen at", advice)
    return parts[0]


def size(key: str, value: object) -> int:
    """Return a number of bytes."""
    parts = re.fullmatch(r"([1-9][0-9]{0,6})(MiB|GiB)", value) if isinstance(value, str) else None
    if parts is None:
        advice = f'{key} as a text such as "64MiB" or "1GiB"'
        raise InvalidValueError(f"{key} is {value!r}, which is not a number of bytes", advice)
    return int(parts[1]) * (MIB if parts[2] == "MiB" else 1024 * MIB)


def frame_size(key: str, value: object) -> int:
    """Return the number of bytes of the largest message."""
    length = size(key, value)
    if length > _MAX_FRAME_BYTES:
        advice = f'{key} as at most "{_MAX_FRAME_BYTES // MIB}MiB"; what is larger goes in parts'
        raise InvalidValueError(f"{key} is {value!r}, more than a message can have", advice)
    return length


def clients(key: str, value: object) -> int:
    """Return a number of clients."""
    return _count(key, value, range(1, _MAX_CLIENTS + 1), "clients", f"from 1 to {_MAX_CLIENTS}")


def switch(key: str, value: object) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise InvalidValueError(
            f"{key} is {value!r}, which says neither yes nor no", f"{key} = true or {key} = false"
        )
    return value


def tokens(key: str, value: object) -> int:
    """Return a number of tokens."""
    return _count(key, value, range(_MAX_TOKENS + 1), "tokens", f"from 0 to {_MAX_TOKENS}")


def decisions(key: str, value: object) -> int:
    """Return a number of decisions."""
    span = f"from 1 to {_MAX_DECISIONS}; a working state never holds more"
    return _count(key, value, range(1, _MAX_DECISIONS + 1), "decisions", span)


def sessions(key: str, value: object) -> int:
    """Return a number of sessions; 0 for any number."""
    span = f"from 0 (as many as there are) to {_MAX_SESSIONS}"
    return _count(key, value, range(_MAX_SESSIONS + 1), "sessions", span)


def _count(key: str, value: object, allowed: range, counted: str, span: str) -> int:
    """Return a whole number. `counted` and `span` are the words of the error for the things and for `allowed`."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        problem = f"{key} is {value!r}, which is no number of {counted}"
        raise InvalidValueError(problem, f"{key} as a whole number {span}")
    return value


def words(key: str, value: object) -> tuple[str, ...]:
    """Return a list of words."""
    words = value if isinstance(value, list) else [None]
    if not all(isinstance(word, str) and word for word in words):
        raise InvalidValueError(
            f"{key} is {value!r:.80}, which is no list of words", f'{key} as a list: ["scratch"]'
        )
    return tuple(words)


def command(key: str, value: object) -> tuple[str, ...]:
    """Return a program with its arguments."""
    words = value if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
        advice = f'{key} as a list: ["program", "argument"]; it is run without a shell'
        raise InvalidValueError(f"{key} is {value!r:.80}, which is no command", advice)
    return tuple(words)


def folders(key: str, value: object) -> tuple[str, ...]:
    """Return absolute folders. In the file, they may begin with `~`."""
    names = value if isinstance(value, list) else [None]
    folders = [os.path.expanduser(name) for name in names if isinstance(name, str)]  # noqa: PTH111 - a text
    if len(folders) < len(names) or not all(
        folder.startswith("/") and "\0" not in folder for folder in folders
    ):
        advice = f'{key} as a list of folders: ["~/.pi/agent/sessions", "/srv/sessions"]'
        raise InvalidValueError(f"{key} is {value!r:.80}, which names no folders", advice)
    return tuple(folders)


def patterns(key: str, value: object) -> tuple[str, ...]:
    """Return patterns of absolute paths. In the file, they may begin with `~`."""
    names = value if isinstance(value, list) else [None]
    found = [os.path.expanduser(name) for name in names if isinstance(name, str)]  # noqa: PTH111 - a text
    if len(found) < len(names) or not all(
        1 < len(name) <= _MAX_PATTERN and name.startswith("/") and "\0" not in name for name in found
    ):
        advice = f'{key} as a list of patterns of absolute paths: ["~/secret", "/srv/clients/*/app"]'
        raise InvalidValueError(f"{key} is {value!r:.80}, which names no folders", advice)
    return tuple(found)


def agent_folders(key: str, value: object) -> dict[str, tuple[str, ...]]:
    """Return absolute folders by the name of an agent. In the file, they are NAME=FOLDER, and may begin with `~`."""
    found: dict[str, tuple[str, ...]] = {}
    for text in value if isinstance(value, list) else [None]:
        name, _, folder = text.partition("=") if isinstance(text, str) else ("", "", "")
        folder = os.path.expanduser(folder)  # noqa: PTH111 - a text
        if not name or not folder.startswith("/") or "\0" in folder:
            advice = f'{key} as a list of agents with a folder each: ["claude-code=~/work/.claude/projects"]'
            raise InvalidValueError(f"{key} has {text!r:.80}, which is no agent with a folder", advice)
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), os.path.normpath(folder))))
    return found


def maps(key: str, value: object) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return pairs of folders, here and there, by host."""
    if not isinstance(value, dict):
        advice = f'[{key}] on a line of its own, below it hosts: devbox = ["~/work=/srv/work"]'
        raise InvalidValueError(f"{key} is {value!r:.80}, which is no table of hosts", advice)
    return {host: folder_pairs(f"{key}.{host}", pairs) for host, pairs in value.items()}


def folder_pair(text: str) -> tuple[str, str] | None:
    """Return the folders of `HERE=THERE`; None unless both are absolute. The first one may begin with `~`."""
    here, _, there = text.partition("=")
    here = os.path.expanduser(here)  # noqa: PTH111 - a text
    if not (here.startswith("/") and there.startswith("/")) or "\0" in text:
        return None
    return os.path.normpath(here), os.path.normpath(there)


def folder_pairs(key: str, value: object) -> tuple[tuple[str, str], ...]:
    """Return pairs of folders, here and there."""
    pairs = []
    for text in value if isinstance(value, list) else [None]:
        pair = folder_pair(text) if isinstance(text, str) else None
        if pair is None:
            advice = f'{key} as a list of pairs of absolute folders, here and there: ["~/work=/srv/work"]'
            raise InvalidValueError(f"{key} has {text!r:.80}, which is no pair of folders", advice)
        pairs.append(pair)
    return tuple(pairs)


def store_url(key: str, value: object) -> str:
    """Return the URL of a store. No error shows one of a database, which may have a password."""
    advice = f'{key} as "{FILES}", "{MEMORY}" or "postgres://USER@HOST/DATABASE"'
    if not isinstance(value, str) or not value.startswith((FILES, MEMORY, *POSTGRES)):
        raise InvalidValueError(f"{key} names no store", advice)
    if not value.startswith(POSTGRES):
        if value not in (FILES, MEMORY):
            raise InvalidValueError(f"{key} is {value!r:.80}, which names no store", advice)
        return value
    from urllib.parse import parse_qsl, urlsplit  # only a database needs it

    try:
        parts = urlsplit(value)
        options = [
            name
            for name, _ in parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        ]
    except ValueError:
        raise InvalidValueError(f"{key} is no valid URL", advice) from None
    # The text after the name of the user is a password, also if the URL is not correct otherwise.
    if ":" in parts.netloc.rpartition("@")[0] or any("password" in name for name in options):
        password_file = "HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass, which only you may read"
        raise InvalidValueError(f"{key} has a password in it", f"{key} without it, and {password_file}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    ports_fit = all(re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(:[0-9]{1,5})?", host) for host in hosts)
    if not ports_fit or "@" in parts.path + parts.query + parts.fragment or parts.fragment:
        raise InvalidValueError(f"{key} is no valid URL", advice)
    unknown = [name for name in options if name not in _POSTGRES_OPTIONS]
    if unknown:
        known = ", ".join(_POSTGRES_OPTIONS)
        raise InvalidValueError(
            f"{key} has an option that is not known ({unknown[0]!r:.40})", f"one of {known}"
        )
    return value


def store_url_problem(name: str, url: str) -> tuple[str, str] | None:
    """Return why a URL names no store, and what to write instead; None if it names one. `name` is its name in both."""
    try:
        store_url(name, url)
    except InvalidValueError as unfit:
        return unfit.reason, unfit.advice
    return None
