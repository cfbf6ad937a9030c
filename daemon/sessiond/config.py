"""`config.toml`: the settings of a user. The module knows no folders; the caller passes the file.

Every key has an effect. An unknown key is an error, because a misspelled one would silently leave the default. The
file may name a program to run, so it is used only if no other user can change it.
"""

import os
import shlex
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sessiond import config_values as values
from sessiond.error_text import TemplatedError


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
    max_frame: int = 64 * values.MIB
    max_held: int = 256 * values.MIB


@dataclass(frozen=True)
class DraftsConfig:
    """`[drafts]`: sessions without an assistant message. `max_age`: seconds until the trash; None for never."""

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
    """`[summarizer]`: the program that writes a summary when no client does; None for no program.

    `timeout`: seconds that a summarizer, program or client, may take; None for no limit.
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
    """`[blobs]`: `grace`: seconds that a blob stays after no session names it; None for forever."""

    grace: float | None = 7 * 86_400.0


@dataclass(frozen=True)
class RootsConfig:
    """`[roots]`: `folders` of sessions beside sessiond's own, such as those of pi and oh-my-pi, as absolute paths.

    Sessions in them, and in their subfolders, are listed, searched and opened in place. A file there is written only
    when a client writes to its session.
    """

    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetentionRule:
    """A rule of `[keep] rules`: limits for the sessions that it selects. The daemon moves those beyond to the trash.

    `agents`, `projects`, `tags`: only sessions that were read from one of these agents, whose folder is below one of
    these patterns, that have one of these tags; empty for all. `max_age`: seconds since the last write;
    `max_sessions`: number of sessions that stay; `max_size`: bytes of one session; `max_total`: bytes of all of them.
    """

    agents: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    max_age: float | None = None
    max_sessions: int = 0
    max_size: int | None = None
    max_total: int | None = None


@dataclass(frozen=True)
class RetentionConfig:
    """`[keep]`: which sessions the daemon moves to the trash or packs automatically, and when it purges the trash.

    `max_age`: seconds since the last write to a session, None: forever; `max_sessions`: number of sessions that stay,
    0: all; `tags`: only sessions with one of these; `trash_max_age`: seconds in the trash, None for forever.
    `pack_after`: seconds after which the file of a session that nobody uses is packed, None: never. `rules`: further
    limits for some sessions.
    """

    max_age: float | None = None
    max_sessions: int = 0
    tags: tuple[str, ...] = ()
    trash_max_age: float | None = None
    pack_after: float | None = 14 * 86_400.0
    rules: tuple[RetentionRule, ...] = ()


@dataclass(frozen=True)
class HistoryConfig:
    """`[history]`: `enabled`: prompts are recorded, so that they can be recalled in other sessions."""

    enabled: bool = True


@dataclass(frozen=True)
class AgentsConfig:
    """`[agents]`: `follow` names the agents whose sessions are read as they write them (`sessiond agents`).

    `folders`: folders of sessions by the name of the agent, beside those where the agent usually has them.
    `session_start_note`: hooks give an agent's model a note about the project's last sessions when a session begins.
    `exclude`: patterns of absolute paths; sessions whose folder or file is below one are not read.
    """

    follow: tuple[str, ...] = ()
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    session_start_note: bool = False
    exclude: tuple[str, ...] = ()


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

    url: str = values.FILES


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
    except values.InvalidValueError as unfit:
        raise InvalidConfigError(path, unfit.reason, unfit.advice) from None


def _refuse_unsafe(path: str, opened: int) -> None:
    """Raise `UnsafeConfigError` when a user other than this one and root can change an open configuration file.

    The folder is checked as well as the file, because its owner can replace the file. For a symbolic link, both the
    folder of the link and the folder of the file are checked.
    """
    folders = dict.fromkeys(os.path.dirname(file) for file in (path, os.path.realpath(path)))  # noqa: PTH120
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


def _checked(tables: dict[str, Any]) -> Config:
    _refuse_unknown("table", tables, list(_TABLES))
    chosen = {name: _table(name, tables.get(name, {})) for name in _TABLES}
    compaction: CompactionConfig = chosen["compaction"]
    if compaction.reserve_tokens + compaction.keep_recent_tokens >= compaction.context_window:
        reason = "compaction.reserve_tokens and compaction.keep_recent_tokens fill the whole context_window"
        raise values.InvalidValueError(reason, "numbers whose sum is well below that of context_window")
    if chosen["roots"].folders and chosen["store"].url != values.FILES:
        reason = "roots.folders are folders of files, and store.url says that sessions are not in files"
        raise values.InvalidValueError(reason, f'either no folders, or store.url = "{values.FILES}"')
    return Config(**chosen)


def _table(name: str, table: object) -> Any:
    kind, keys = _TABLES[name]
    if not isinstance(table, dict):
        raise values.InvalidValueError(
            f"{name} is not a table", f"[{name}] on a line of its own, the keys below it"
        )
    for key in table.keys() & _RETIRED.get(name, {}).keys():
        import logging  # few files have such a key

        logging.getLogger(__name__).warning(
            "[%s] %s has no effect any more: %s", name, key, _RETIRED[name][key]
        )
        table = {name: value for name, value in table.items() if name != key}
    _refuse_unknown(f"key in [{name}]", table, list(keys))
    return kind(**{key: keys[key](f"{name}.{key}", value) for key, value in table.items()})


def _refuse_unknown(kind: str, found: dict[str, Any], known: list[str]) -> None:
    for name in found:
        if name not in known:
            from difflib import get_close_matches  # only errors need it

            suggestions = get_close_matches(name, known, n=1, cutoff=0.5)
            advice = f"{suggestions[0]} is probably meant" if suggestions else f"one of {', '.join(known)}"
            raise values.InvalidValueError(f"{name!r} is not a known {kind}", advice)


_Reader: TypeAlias = Callable[[str, object], object]

_RULE: Final[dict[str, _Reader]] = {
    "agents": values.words,
    "projects": values.patterns,
    "tags": values.words,
    "max_age": values.duration,
    "max_sessions": values.sessions,
    "max_size": values.size,
    "max_total": values.size,
}
_LIMITS: Final = ("max_age", "max_sessions", "max_size", "max_total")


def _rules(key: str, value: object) -> tuple[RetentionRule, ...]:
    """Return the rules of `[keep]`, each of which has a limit."""
    found = []
    for number, rule in enumerate(value if isinstance(value, list) else [None], 1):
        advice = f'{key} as a list of rules: [{{ agents = ["gemini"], max_age = "90d" }}]'
        if not isinstance(rule, dict):
            raise values.InvalidValueError(f"{key} has {rule!r:.80}, which is no rule", advice)
        _refuse_unknown(f"key in rule {number} of {key}", rule, list(_RULE))
        if not any(name in rule for name in _LIMITS):
            raise values.InvalidValueError(
                f"rule {number} of {key} has no limit", f"one of {', '.join(_LIMITS)}"
            )
        chosen: dict[str, Any] = {
            name: _RULE[name](f"{key}[{number}].{name}", part) for name, part in rule.items()
        }
        found.append(RetentionRule(**chosen))
    return tuple(found)


_RETIRED: Final = {"blobs": {"images": "images stay in session files, where pi and oh-my-pi can read them"}}
"""Keys of earlier versions by their tables, and what replaces them."""

_TABLES: Final[dict[str, tuple[type[Any], dict[str, _Reader]]]] = {
    "listen": (ListenConfig, {"idle_exit": values.duration, "tcp": values.loopback}),
    "limits": (
        LimitsConfig,
        {"max_clients": values.clients, "max_frame": values.frame_size, "max_held": values.size},
    ),
    "drafts": (DraftsConfig, {"max_age": values.duration}),
    "compaction": (
        CompactionConfig,
        {
            "enabled": values.switch,
            "context_window": values.tokens,
            "reserve_tokens": values.tokens,
            "keep_recent_tokens": values.tokens,
        },
    ),
    "summarizer": (SummarizerConfig, {"command": values.command, "timeout": values.duration}),
    "state": (StateConfig, {"max_decisions": values.decisions, "max_tokens": values.tokens}),
    "blobs": (BlobsConfig, {"grace": values.duration}),
    "roots": (RootsConfig, {"folders": values.folders}),
    "history": (HistoryConfig, {"enabled": values.switch}),
    "keep": (
        RetentionConfig,
        {
            "max_age": values.duration,
            "max_sessions": values.sessions,
            "tags": values.words,
            "trash_max_age": values.duration,
            "pack_after": values.duration,
            "rules": _rules,
        },
    ),
    "agents": (
        AgentsConfig,
        {
            "follow": values.words,
            "folders": values.agent_folders,
            "session_start_note": values.switch,
            "exclude": values.patterns,
        },
    ),
    "sync": (SyncConfig, {"maps": values.maps}),
    "store": (StoreConfig, {"url": values.store_url}),
}
"""For each table its class, and for each key the function that checks and converts its value."""
