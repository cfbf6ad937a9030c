"""The locations of all files: four folders, and the names of the files in them.

Every command imports this module, so it imports little: it uses strings instead of pathlib (5 ms), and platformdirs
(20 ms) only where the XDG rules do not apply. It can create private folders; it touches no files.
"""
# ruff: noqa: PTH100, PTH102, PTH110, PTH111, PTH112, PTH114, PTH115, PTH117, PTH120

from __future__ import annotations

import errno
import os
import stat
import sys

from sessiond.error_text import TemplatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

SOCKET_PATH_LIMIT = 100
"""Bytes. Linux allows 107 and macOS 103; the difference leaves room for the temporary name that a bind uses."""

_VARIABLES = ("SESSIOND_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
_SHOWN = 300  # characters of a path in a message

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_MAY_ANYTHING = stat.S_IRWXG | stat.S_IRWXO


class UnsafeFolderError(TemplatedError):
    """Raised when a folder of sessiond cannot be created, or others may write to it."""

    sentence = "The folder {path} cannot be used: {reason}."
    advice = "To solve this: {advice}."

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(path=_shown(path), reason=reason, advice=advice)
        self.path = path
        self.reason = reason


class Locations:
    """The folders of one user's sessiond, as absolute paths; frozen.

    `data` contains sessions, blobs, drafts and trash; `state` locks, endpoint, index and log; `runtime` the socket;
    `config` the configuration. `home` is SESSIOND_HOME, below which all of them are, or None.
    """

    __slots__ = ("config", "data", "home", "runtime", "state")

    data: str
    state: str
    runtime: str
    config: str
    home: str | None

    def __init__(self, *, data: str, state: str, runtime: str, config: str, home: str | None = None) -> None:
        values = {"data": data, "state": state, "runtime": runtime, "config": config, "home": home}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Locations is frozen: {name} cannot be set")

    def __repr__(self) -> str:
        return f"Locations({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    @property
    def socket(self) -> str:
        """The default socket of the daemon; `endpoint` names the actual one."""
        return os.path.join(self.runtime, "sessiond.sock")

    @property
    def endpoint(self) -> str:
        """The description of the running daemon; see `server/process/endpoint.py`."""
        return os.path.join(self.state, "endpoint.json")

    @property
    def daemon_lock(self) -> str:
        """Locked by the daemon while it runs. Never unlinked."""
        return os.path.join(self.state, "daemon.lock")

    @property
    def start_lock(self) -> str:
        """Locked by a client that starts the daemon. Never unlinked."""
        return os.path.join(self.state, "start.lock")

    @property
    def history(self) -> str:
        """The history of prompts; see `hub/prompt_history/history.py`."""
        return os.path.join(self.data, "history.db")

    @property
    def commands(self) -> str:
        """The results of repeatable requests; see `hub/idempotency/journal.py`."""
        return os.path.join(self.state, "commands.db")

    @property
    def index(self) -> str:
        """The index of all sessions. It may be deleted at any time; see `hub/index`."""
        return os.path.join(self.state, "index.db")

    @property
    def imports(self) -> str:
        """The records of imported files. It may be deleted at any time; see `hub/transfer/source_records.py`."""
        return os.path.join(self.state, "imports.db")

    @property
    def sync(self) -> str:
        """The records of syncs; see `hub/sync/records.py`."""
        return os.path.join(self.state, "sync.db")

    @property
    def scrub(self) -> str:
        """The place of the scrub. It may be deleted at any time; see `hub/verification/scrubbing.py`."""
        return os.path.join(self.state, "scrub.json")

    @property
    def forgotten(self) -> str:
        """The sessions that nothing brings back; see `hub/retention/forgotten.py`."""
        return os.path.join(self.state, "forgotten.db")

    @property
    def secret_rules(self) -> str:
        """Compiled rules that find secrets in exports. They may be deleted at any time; see `hub/redaction`."""
        return os.path.join(self.state, "secret-rules")

    @property
    def log(self) -> str:
        """The daemon's log for people. It contains no message bodies and no secrets."""
        return os.path.join(self.state, "sessiond.log")

    @property
    def tcp_token(self) -> str:
        """The token with which a client over TCP authenticates; see `server/listeners/token.py`."""
        return os.path.join(self.state, "tcp-token")

    @property
    def server_id(self) -> str:
        """The durable id of this home; see `server/process/server_id.py`."""
        return os.path.join(self.state, "server-id")

    @property
    def config_file(self) -> str:
        """The configuration; see `config.py`."""
        return os.path.join(self.config, "config.toml")


def find_locations(environ: Mapping[str, str] = os.environ) -> Locations:
    """Return the folders that the environment determines. Creates nothing; only checks runtime folders."""
    if home := environ.get("SESSIOND_HOME"):
        home = os.path.abspath(os.path.expanduser(home))
        state = os.path.join(home, "state")
        return Locations(
            data=os.path.join(home, "data"),
            state=state,
            runtime=_short_enough(os.path.join(home, "run"), state, environ),
            config=os.path.join(home, "config"),
            home=home,
        )
    data, state, config = _platform_folders(environ)
    return Locations(data=data, state=state, runtime=_runtime_of(state, environ), config=config)


def make_private(path: str) -> None:
    """Create the folder `path` and its parents with mode 0700, and check that only this user can access it.

    If others can read an existing folder, its mode is set to 0700.

    Raises:
        UnsafeFolderError: Others can write to the folder, so its content may be theirs; or the system refused it.
    """
    try:
        _make_folders(path)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise UnsafeFolderError(path, _reason(path, error), _advice(path, error)) from error
    try:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid():
            raise UnsafeFolderError(
                path, f"it belongs to user id {found.st_uid}", "set SESSIOND_HOME to a folder of yours"
            )
        if found.st_mode & OTHERS_MAY_WRITE:
            raise UnsafeFolderError(
                path, "others may write to it", f"look through it, then run chmod 700 '{path}'"
            )
        if found.st_mode & OTHERS_MAY_ANYTHING:
            os.fchmod(folder, 0o700)
    finally:
        os.close(folder)


def require_text(path: str) -> None:
    """Raise `UnsafeFolderError` if a path is not UTF-8, because the endpoint file could not name it."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        raise UnsafeFolderError(shown, "its name is not valid UTF-8", _advice(path, error)) from None


def obstacle(path: str) -> str | None:
    """Return in words why no folder can be at `path`, or None if it exists or can be created. Creates nothing."""
    there = _nearest(path)
    if os.path.islink(there) and not os.path.exists(there):
        return f"{_shown(there)} is a link to {_shown(os.readlink(there))}, which does not exist"
    if not os.path.isdir(there):
        return f"{_shown(there)} is not a folder"
    if there == path:
        return None
    found = os.statvfs(there)
    if found.f_flag & os.ST_RDONLY:
        return f"{_shown(there)} is on a read-only file system"
    if not found.f_blocks:
        return f"{_shown(there)} is on a file system that holds no files of users"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{_shown(there)} may not be written"
    return None


def _nearest(path: str) -> str:
    """Return the path, or the nearest folder above it that exists."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _reason(path: str, error: Exception) -> str:
    refused = getattr(error, "strerror", None) or str(error)
    return obstacle(path) or (refused if os.path.lexists(path) else f"it cannot be made: {refused}")


def _advice(path: str, error: Exception) -> str:
    variable = next((name for name in _VARIABLES if _is_below(path, os.environ.get(name))), "SESSIOND_HOME")
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return f"free some space there, or set {variable} to a folder on another disk"
    return f"set {variable} to a folder that you own and may write"


def _is_below(path: str, base: str | None) -> bool:
    return bool(base) and path.startswith(os.path.abspath(os.path.expanduser(str(base))) + os.sep)


def _shown(path: str) -> str:
    """Return a path for a message; the middle of a very long one is omitted."""
    return path if len(path) <= _SHOWN else f"{path[: _SHOWN // 2]}…{path[-_SHOWN // 4 :]}"


def _make_folders(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path or os.path.lexists(above):
            raise  # the parent exists, but nothing can be created in it: /proc, or a dangling link
        _make_folders(above)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            return


def _platform_folders(environ: Mapping[str, str]) -> tuple[str, str, str]:
    if sys.platform != "linux":
        from platformdirs import PlatformDirs

        dirs = PlatformDirs("sessiond", appauthor=False)
        return dirs.user_data_dir, dirs.user_state_dir, dirs.user_config_dir
    return (
        _xdg(environ, "XDG_DATA_HOME", "~/.local/share"),
        _xdg(environ, "XDG_STATE_HOME", "~/.local/state"),
        _xdg(environ, "XDG_CONFIG_HOME", "~/.config"),
    )


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> str:
    # The XDG rule is to ignore a relative path.
    base = environ.get(variable, "").strip()
    if not os.path.isabs(base):
        base = environ.get("HOME", "~") + default[1:]
    return os.path.join(os.path.normpath(os.path.expanduser(base)), "sessiond")


def _runtime_of(state: str, environ: Mapping[str, str]) -> str:
    """Return the socket's folder: in the user's runtime folder if that is safe, else in the state folder.

    Each state folder has its own daemon, so any but the user's default state folder gets its own socket folder.
    """
    base = _runtime_base(environ)
    if base is None:
        return _short_enough(os.path.join(state, "run"), state, environ)
    if state == _usual_state():
        return _short_enough(os.path.join(base, "sessiond"), state, environ)
    return _hashed(base, state)


def _usual_state() -> str | None:
    import pwd

    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return None
    return os.path.join(os.path.normpath(home), ".local/state/sessiond")


def _short_enough(runtime: str, state: str, environ: Mapping[str, str]) -> str:
    if _fits(runtime):
        return runtime
    # The last choice is in a folder that every user may write to. `make_private` refuses a folder there that is
    # not this user's, so another user can prevent the daemon from starting, but cannot respond in its place.
    base = _runtime_base(environ)
    if base is not None and _fits(short := _hashed(base, state)):
        return short
    return _hashed("/tmp", state, owner=f"-{os.geteuid()}")


def _hashed(base: str, state: str, owner: str = "") -> str:
    from hashlib import sha256

    return os.path.join(base, f"sessiond{owner}-{sha256(os.fsencode(state)).hexdigest()[:12]}")


def _fits(runtime: str) -> bool:
    return len(os.fsencode(runtime)) + len("/sessiond.sock") <= SOCKET_PATH_LIMIT


def _runtime_base(environ: Mapping[str, str]) -> str | None:
    for path in (environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.geteuid()}"):
        if os.path.isabs(path) and _is_private(path):
            return os.path.normpath(path)
    return None


def _is_private(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return mine and not found.st_mode & OTHERS_MAY_ANYTHING
