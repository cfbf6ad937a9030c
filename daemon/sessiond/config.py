"""`config.toml`: the settings of a user. The module knows no folders; the caller passes the file.

Every key has an effect. An unknown key is an error, because a misspelled one would silently leave the default. The
file may name a program to run, so it is used only if no other user can change it.
"""

import os
import re
import shlex
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sessiond.error_text import TemplatedError

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_MIB: Final = 1024 * 1024
_MAX_TOKENS: Final = 1_000_000_000
_MAX_DECISIONS: Final = 10
_MAX_CLIENTS: Final = 100_000
_MAX_FRAME_BYTES: Final = 512 * _MIB
_MAX_SESSIONS: Final = 1_000_000_000

FILES: Final = "files:"
MEMORY: Final = "memory:"
POSTGRES: Final = ("postgres://", "postgresql://")
_POSTGRES_OPTIONS: Final = (
    "host", "port", "user", "dbname", "database", "service", "servicefile", "passfile", "target_session_attrs",
    "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "krbsrvname", "gsslib",
)  # fmt: skip


class InvalidConfigError(TemplatedError):
    """Raised when the configuration file is not TOML, or has an unknown or unusable value."""

    sentence = "The configuration {path} cannot be used: {reason}."
    advice = "Expected: {advice}."

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(path=path, reason=reason, advice=advice)
        self.path = path


class UnsafeConfigError(InvalidConfigError):
    """Raised when others may write to the configuration file; `advice` is a command."""

    sentence = "The configuration {path} is not obeyed: {reason}."
    advice = "Check its contents, then run: {advice}."


@dataclass(frozen=True)
class ListenConfig:
    """`[listen]`: how the daemon waits for clients. `idle_exit`: seconds without a client until it ends; None: never.

    `tcp`: a loopback address such as `127.0.0.1:7413`, at which it also accepts clients with the token; None: none.
    """

    idle_exit: float | None = 30 * 60.0
    tcp: str | None = None


@dataclass(frozen=True)
class LimitsConfig:
    """`[limits]`: limits of the daemon. `max_clients`: attached at the same time; `max_frame`: bytes of a message.

    `max_held`: bytes of all clients' incoming messages together, and the same number for outgoing messages.
    """

    max_clients: int = 1_000
    max_frame: int = 64 * _MIB
    max_held: int = 256 * _MIB


@dataclass(frozen=True)
class DraftsConfig:
    """`[drafts]`: sessions without an assistant message. `max_age`: seconds until the trash; None: never."""

    max_age: float | None = 7 * 86_400.0


@dataclass(frozen=True)
class CompactionConfig:
    """`[compaction]`: when a session counts as full, in tokens; `enabled`: the daemon compacts automatically.

    The defaults are those of pi (decision 0018). A session may choose other values.
    """

    enabled: bool = False
    context_window: int = 200_000
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000


@dataclass(frozen=True)
class SummarizerConfig:
    """`[summarizer]`: the program that writes a summary when no client does; None: no program.

    `timeout`: seconds that a summarizer, program or client, may take; None: no limit.
    """

    command: tuple[str, ...] | None = None
    timeout: float | None = 5 * 60.0


@dataclass(frozen=True)
class StateConfig:
    """`[state]`: numbers of decisions and of tokens above which a working state is pruned (decision 0022)."""

    max_decisions: int = 10
    max_tokens: int = 150_000


@dataclass(frozen=True)
class BlobsConfig:
    """`[blobs]`: `grace`: seconds that a blob stays after no session names it; None: forever.

    `images`: store images as blobs in all sessions of this store. pi, which has no blobs, then reads the reference as
    the image.
    """

    grace: float | None = 7 * 86_400.0
    images: bool = False


@dataclass(frozen=True)
class RootsConfig:
    """`[roots]`: `folders` of sessions beside sessiond's own, such as those of pi and oh-my-pi, as absolute paths.

    Sessions in them, and in their subfolders, are listed, searched and opened in place. A file there is written only
    when a client writes to its session.
    """

    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetentionConfig:
    """`[keep]`: which sessions the daemon moves to the trash automatically, and when it purges the trash.

    `max_age`: seconds since the last write to a session, None: forever; `max_sessions`: number of sessions that stay,
    0: all; `tags`: only sessions with one of these; `trash_max_age`: seconds in the trash, None: forever.
    """

    max_age: float | None = None
    max_sessions: int = 0
    tags: tuple[str, ...] = ()
    trash_max_age: float | None = None


@dataclass(frozen=True)
class HistoryConfig:
    """`[history]`: `enabled`: prompts are recorded, so that they can be recalled in other sessions."""

    enabled: bool = True


@dataclass(frozen=True)
class AgentsConfig:
    """`[agents]`: `follow` names the agents whose sessions are read as they write them (`sessiond agents`).

    `session_start_note`: hooks give an agent's model a note about the project's last sessions when a session begins.
    """

    follow: tuple[str, ...] = ()
    session_start_note: bool = False


@dataclass(frozen=True)
class SyncConfig:
    """`[sync]`: `maps` has folders of this machine and the same folders on others, for `sessiond sync`.

    It has a tuple of pairs (here, there) for each HOST, and for `*`, which is every machine.
    """

    maps: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class StoreConfig:
    """`[store]`: `url`: where sessions are stored: `files:`, `memory:` (until the daemon ends), or `postgres://…`.

    The URL of a database has no password: libpq's password file has it.
    """

    url: str = FILES


@dataclass(frozen=True)
class Config:
    """All settings, with their defaults."""

    listen: ListenConfig = field(default_factory=ListenConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    drafts: DraftsConfig = field(default_factory=DraftsConfig)
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    summarizer: SummarizerConfig = field(default_factory=SummarizerConfig)
    state: StateConfig = field(default_factory=StateConfig)
    blobs: BlobsConfig = field(default_factory=BlobsConfig)
    roots: RootsConfig = field(default_factory=RootsConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    keep: RetentionConfig = field(default_factory=RetentionConfig)
    agents: AgentsConfig = field(default_factory=AgentsConfig)
    sync: SyncConfig = field(default_factory=SyncConfig)
    store: StoreConfig = field(default_factory=StoreConfig)


def read(path: str) -> Config:
    """Return the configuration in the file `path`; a missing file means the defaults.

    Raises:
        UnsafeConfigError: Another user can change the file or its folder.
        InvalidConfigError: The file cannot be read, or a table, key or value in it is not known.
    """
    try:
        with open(path, "rb") as file:
            _refuse_unsafe(path, file.fileno())
            text = file.read().decode()
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfigError(path, str(error), "a TOML file in UTF-8 that you may read") from error

    import tomllib  # takes 10 ms, and a daemon without a configuration does not need it

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        advice = 'tables such as [listen] with lines such as idle_exit = "30m"'
        raise InvalidConfigError(path, f"it is not TOML ({error})", advice) from error
    try:
        return _checked(tables)
    except _InvalidValueError as unfit:
        raise InvalidConfigError(path, unfit.reason, unfit.advice) from None


def _refuse_unsafe(path: str, opened: int) -> None:
    """Raise `UnsafeConfigError` when a user other than this one and root can change an open configuration file.

    The folder is checked as well as the file, because its owner can replace the file. For a symbolic link, both the
    folder of the link and the folder of the file are checked.
    """
    folders = dict.fromkeys(os.path.dirname(it) for it in (path, os.path.realpath(path)))  # noqa: PTH120
    looked_at = [("it", path, os.fstat(opened))]
    looked_at += [(f"its folder {folder}", folder, os.stat(folder)) for folder in folders]  # noqa: PTH116
    for name, place, found in looked_at:
        if found.st_uid not in (0, os.geteuid()):
            reason, command = f"user id {found.st_uid} owns {name}", f"chown {os.geteuid()}"
        elif (others := _others_who_may_write(found)) is not None:
            reason, command = f"{others} can write to {name}", "chmod go-w"
        else:
            continue
        raise UnsafeConfigError(path, reason, f"{command} {shlex.quote(place)}")


def _others_who_may_write(found: os.stat_result) -> str | None:
    """Return in words which other users can replace a file or add to a folder, or None.

    In a folder with the sticky bit, such as /tmp, only the owner can replace a file.
    """
    if found.st_mode & stat.S_ISVTX:
        return None
    if found.st_mode & stat.S_IWOTH:
        return "every user"
    if found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid):
        return f"the group with id {found.st_gid}"
    return None


def _is_own_group(group_id: int) -> bool:
    """Return whether this user is the only member of a group.

    Debian and Fedora give each user such a group and a umask of 002, so group-writable files are usual there.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    return user.pw_gid == group_id and user.pw_name == group.gr_name and set(group.gr_mem) <= {user.pw_name}


class _InvalidValueError(Exception):
    """Raised for a table, key or value that is not valid."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


def _checked(tables: dict[str, Any]) -> Config:
    _refuse_unknown("table", tables, list(_TABLES))
    chosen = {name: _table(name, tables.get(name, {})) for name in _TABLES}
    compaction: CompactionConfig = chosen["compaction"]
    if compaction.reserve_tokens + compaction.keep_recent_tokens >= compaction.context_window:
        reason = "compaction.reserve_tokens and compaction.keep_recent_tokens fill the whole context_window"
        raise _InvalidValueError(reason, "numbers whose sum is well below that of context_window")
    if chosen["roots"].folders and chosen["store"].url != FILES:
        reason = "roots.folders are folders of files, and store.url says that sessions are not in files"
        raise _InvalidValueError(reason, f'either no folders, or store.url = "{FILES}"')
    return Config(**chosen)


def _table(name: str, table: object) -> Any:
    kind, keys = _TABLES[name]
    if not isinstance(table, dict):
        raise _InvalidValueError(
            f"{name} is not a table", f"[{name}] on a line of its own, the keys below it"
        )
    _refuse_unknown(f"key in [{name}]", table, list(keys))
    return kind(**{key: keys[key](f"{name}.{key}", value) for key, value in table.items()})


def _refuse_unknown(kind: str, found: dict[str, Any], known: list[str]) -> None:
    for name in found:
        if name not in known:
            from difflib import get_close_matches  # only errors need it

            suggestions = get_close_matches(name, known, n=1, cutoff=0.5)
            advice = f"{suggestions[0]} is probably meant" if suggestions else f"one of {', '.join(known)}"
            raise _InvalidValueError(f"{name!r} is not a known {kind}", advice)


def _duration(key: str, value: object) -> float | None:
    if value == "never":
        return None
    parts = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", value) if isinstance(value, str) else None
    if parts is None:
        advice = f'{key} as a text such as "45s", "30m", "2h", "7d" or "never"'
        raise _InvalidValueError(f"{key} is {value!r}, which is not a length of time", advice)
    return int(parts[1]) * _SECONDS[parts[2]]


def _loopback(key: str, value: object) -> str | None:
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
        or any(int(it) > 255 for it in re.findall(r"[0-9]+", parts[1]))
    ):
        advice = f'{key} as an address of this machine and a port, "127.0.0.1:7413" or "[::1]:7413", or false'
        raise _InvalidValueError(f"{key} is {value!r:.80}, which is no place to listen at", advice)
    return parts[0]


def _size(key: str, value: object) -> int:
    parts = re.fullmatch(r"([1-9][0-9]{0,6})(MiB|GiB)", value) if isinstance(value, str) else None
    if parts is None:
        advice = f'{key} as a text such as "64MiB" or "1GiB"'
        raise _InvalidValueError(f"{key} is {value!r}, which is not a number of bytes", advice)
    return int(parts[1]) * (_MIB if parts[2] == "MiB" else 1024 * _MIB)


def _frame_size(key: str, value: object) -> int:
    size = _size(key, value)
    if size > _MAX_FRAME_BYTES:
        advice = f'{key} as at most "{_MAX_FRAME_BYTES // _MIB}MiB"; what is larger goes in parts'
        raise _InvalidValueError(f"{key} is {value!r}, more than a message can have", advice)
    return size


def _clients(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_CLIENTS:
        advice = f"{key} as a whole number from 1 to {_MAX_CLIENTS}"
        raise _InvalidValueError(f"{key} is {value!r}, which is no number of clients", advice)
    return value


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _InvalidValueError(
            f"{key} is {value!r}, which says neither yes nor no", f"{key} = true or {key} = false"
        )
    return value


def _tokens(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
        advice = f"{key} as a whole number from 0 to {_MAX_TOKENS}"
        raise _InvalidValueError(f"{key} is {value!r}, which is no number of tokens", advice)
    return value


def _decisions(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_DECISIONS:
        advice = f"{key} as a whole number from 1 to {_MAX_DECISIONS}; a working state never holds more"
        raise _InvalidValueError(f"{key} is {value!r}, which is no number of decisions", advice)
    return value


def _sessions(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_SESSIONS:
        advice = f"{key} as a whole number from 0 (as many as there are) to {_MAX_SESSIONS}"
        raise _InvalidValueError(f"{key} is {value!r}, which is no number of sessions", advice)
    return value


def _words(key: str, value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [None]
    if not all(isinstance(word, str) and word for word in words):
        raise _InvalidValueError(
            f"{key} is {value!r:.80}, which is no list of words", f'{key} as a list: ["scratch"]'
        )
    return tuple(words)


def _command(key: str, value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
        advice = f'{key} as a list: ["program", "argument"]; it is run without a shell'
        raise _InvalidValueError(f"{key} is {value!r:.80}, which is no command", advice)
    return tuple(words)


def _folders(key: str, value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [None]
    folders = [os.path.expanduser(name) for name in names if isinstance(name, str)]  # noqa: PTH111 - a text
    if len(folders) < len(names) or not all(it.startswith("/") and "\0" not in it for it in folders):
        advice = f'{key} as a list of folders: ["~/.pi/agent/sessions", "/srv/sessions"]'
        raise _InvalidValueError(f"{key} is {value!r:.80}, which names no folders", advice)
    return tuple(folders)


def _maps(key: str, value: object) -> dict[str, tuple[tuple[str, str], ...]]:
    if not isinstance(value, dict):
        advice = f'[{key}] on a line of its own, below it hosts: devbox = ["~/work=/srv/work"]'
        raise _InvalidValueError(f"{key} is {value!r:.80}, which is no table of hosts", advice)
    return {host: _folder_pairs(f"{key}.{host}", pairs) for host, pairs in value.items()}


def folder_pair(text: str) -> tuple[str, str] | None:
    """Return the folders of `HERE=THERE`; None unless both are absolute. The first one may begin with `~`."""
    here, _, there = text.partition("=")
    here = os.path.expanduser(here)  # noqa: PTH111 - a text
    if not (here.startswith("/") and there.startswith("/")) or "\0" in text:
        return None
    return os.path.normpath(here), os.path.normpath(there)


def _folder_pairs(key: str, value: object) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in value if isinstance(value, list) else [None]:
        pair = folder_pair(text) if isinstance(text, str) else None
        if pair is None:
            advice = f'{key} as a list of pairs of absolute folders, here and there: ["~/work=/srv/work"]'
            raise _InvalidValueError(f"{key} has {text!r:.80}, which is no pair of folders", advice)
        pairs.append(pair)
    return tuple(pairs)


def _store_url(key: str, value: object) -> str:
    """Return the URL of a store. No error shows one of a database, which may have a password."""
    advice = f'{key} as "{FILES}", "{MEMORY}" or "postgres://USER@HOST/DATABASE"'
    if not isinstance(value, str) or not value.startswith((FILES, MEMORY, *POSTGRES)):
        raise _InvalidValueError(f"{key} names no store", advice)
    if not value.startswith(POSTGRES):
        if value not in (FILES, MEMORY):
            raise _InvalidValueError(f"{key} is {value!r:.80}, which names no store", advice)
        return value
    from urllib.parse import parse_qsl, urlsplit  # only a database needs it

    try:
        parts = urlsplit(value)
        options = [
            name
            for name, _ in parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        ]
    except ValueError:
        raise _InvalidValueError(f"{key} is no valid URL", advice) from None
    # The text after the name of the user is a password, also if the URL is not correct otherwise.
    if ":" in parts.netloc.rpartition("@")[0] or any("password" in name for name in options):
        password_file = "HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass, which only you may read"
        raise _InvalidValueError(f"{key} has a password in it", f"{key} without it, and {password_file}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    ports_fit = all(re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(:[0-9]{1,5})?", host) for host in hosts)
    if not ports_fit or "@" in parts.path + parts.query + parts.fragment or parts.fragment:
        raise _InvalidValueError(f"{key} is no valid URL", advice)
    unknown = [name for name in options if name not in _POSTGRES_OPTIONS]
    if unknown:
        known = ", ".join(_POSTGRES_OPTIONS)
        raise _InvalidValueError(
            f"{key} has an option that is not known ({unknown[0]!r:.40})", f"one of {known}"
        )
    return value


def store_url_problem(name: str, url: str) -> tuple[str, str] | None:
    """Return why a URL names no store, and what to write instead; None if it names one. `name` is its name in both."""
    try:
        _store_url(name, url)
    except _InvalidValueError as unfit:
        return unfit.reason, unfit.advice
    return None


_Reader: TypeAlias = Callable[[str, object], object]

_TABLES: Final[dict[str, tuple[type[Any], dict[str, _Reader]]]] = {
    "listen": (ListenConfig, {"idle_exit": _duration, "tcp": _loopback}),
    "limits": (LimitsConfig, {"max_clients": _clients, "max_frame": _frame_size, "max_held": _size}),
    "drafts": (DraftsConfig, {"max_age": _duration}),
    "compaction": (
        CompactionConfig,
        {
            "enabled": _switch,
            "context_window": _tokens,
            "reserve_tokens": _tokens,
            "keep_recent_tokens": _tokens,
        },
    ),
    "summarizer": (SummarizerConfig, {"command": _command, "timeout": _duration}),
    "state": (StateConfig, {"max_decisions": _decisions, "max_tokens": _tokens}),
    "blobs": (BlobsConfig, {"grace": _duration, "images": _switch}),
    "roots": (RootsConfig, {"folders": _folders}),
    "history": (HistoryConfig, {"enabled": _switch}),
    "keep": (
        RetentionConfig,
        {"max_age": _duration, "max_sessions": _sessions, "tags": _words, "trash_max_age": _duration},
    ),
    "agents": (AgentsConfig, {"follow": _words, "session_start_note": _switch}),
    "sync": (SyncConfig, {"maps": _maps}),
    "store": (StoreConfig, {"url": _store_url}),
}
"""For each table its class, and for each key the function that checks and converts its value."""
