"""`config.toml`: the few things that a person may choose. Knows no folder: the caller says which file.

Every key does something. An unknown key is an error, because a misspelt one would be a silent default.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class InvalidConfig(Exception):
    """The configuration {path} cannot be used: {reason}. What to write: {advice}."""

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(f"The configuration {path} cannot be used: {reason}. What to write: {advice}.")
        self.path = path


@dataclass(frozen=True)
class Listen:
    """`[listen]`: how the daemon waits. `idle_exit`: seconds without a client until it ends; None never."""

    idle_exit: float | None = 30 * 60.0


@dataclass(frozen=True)
class Drafts:
    """`[drafts]`: sessions without an assistant message. `max_age`: seconds until the trash; None never."""

    max_age: float | None = 7 * 86_400.0


@dataclass(frozen=True)
class Config:
    """All that a person may choose, with what holds when nothing is chosen."""

    listen: Listen = field(default_factory=Listen)
    drafts: Drafts = field(default_factory=Drafts)


def read(path: str) -> Config:
    """Read the configuration; a missing file means the defaults. Raises `InvalidConfig`."""
    try:
        text = Path(path).read_bytes().decode()
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(path, str(error), "a TOML file in UTF-8 that you may read") from error

    import tomllib  # 10 ms, which a daemon without a configuration need not spend

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        advice = 'tables such as [listen] with lines such as idle_exit = "30m"'
        raise InvalidConfig(path, f"it is not TOML ({error})", advice) from error
    return _checked(path, tables)


def _checked(path: str, tables: dict[str, Any]) -> Config:
    _refuse_unknown(path, "table", tables, ["listen", "drafts"])
    listen = _table(path, tables, "listen", ["idle_exit"])
    drafts = _table(path, tables, "drafts", ["max_age"])
    return Config(
        listen=Listen(
            idle_exit=_duration(path, "listen.idle_exit", listen.get("idle_exit"), Listen.idle_exit)
        ),
        drafts=Drafts(max_age=_duration(path, "drafts.max_age", drafts.get("max_age"), Drafts.max_age)),
    )


def _table(path: str, tables: dict[str, Any], name: str, keys: list[str]) -> dict[str, Any]:
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise InvalidConfig(
            path, f"{name} is not a table", f"[{name}] on a line of its own, the keys below it"
        )
    _refuse_unknown(path, f"key in [{name}]", table, keys)
    return table


def _refuse_unknown(path: str, what: str, found: dict[str, Any], known: list[str]) -> None:
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            advice = f"{near[0]} is probably meant" if near else f"one of {', '.join(known)}"
            raise InvalidConfig(path, f"{name!r} is not a known {what}", advice)


def _duration(path: str, key: str, value: object, default: float | None) -> float | None:
    if value is None:
        return default
    if value == "never":
        return None
    parts = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", value) if isinstance(value, str) else None
    if parts is None:
        advice = f'{key} as a text such as "45s", "30m", "2h", "7d" or "never"'
        raise InvalidConfig(path, f"{key} is {value!r}, which is not a length of time", advice)
    return int(parts[1]) * _SECONDS[parts[2]]
