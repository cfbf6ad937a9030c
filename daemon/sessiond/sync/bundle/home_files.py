"""The files of a home that a backup has beside the sessions: config.toml, and the breadcrumbs of terminals.

A restore never replaces a file. Names of breadcrumbs are checked before they become part of a path.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.paths import Locations, make_private
from sessiond.sync.bundle.manifest import BREADCRUMBS, CONFIG
from sessiond.sync.bundle.report import RestoredFile

_MAX_BYTES: Final = 1 << 20
_MAX_FILES: Final = 10_000
_NAME: Final = re.compile(r"[A-Za-z0-9_\-%@+=][A-Za-z0-9_\-.%@+=]{0,79}")


def files_of(locations: Locations) -> Iterator[tuple[str, bytes]]:
    """Yield the name in a backup and the content of each file of a home. A file that cannot be read is left out."""
    if (data := _content(Path(locations.config_file))) is not None:
        yield CONFIG, data
    with contextlib.suppress(OSError):
        for path in sorted(_breadcrumb_folder(locations).iterdir())[:_MAX_FILES]:
            if _NAME.fullmatch(path.name) and (data := _content(path)) is not None:
                yield BREADCRUMBS + path.name, data


def place_of(locations: Locations, name: str) -> Path | None:
    """Return the place of a file of a backup in a home; None for a name that no backup has."""
    if name == CONFIG:
        return Path(locations.config_file)
    own = name.removeprefix(BREADCRUMBS)
    return _breadcrumb_folder(locations) / own if own != name and _NAME.fullmatch(own) else None


def restore_file(place: Path, data: bytes, *, is_dry_run: bool) -> RestoredFile:
    """Create a file if there is none of this name.

    Raises:
        UnsafeFolderError: Its folder cannot be created, or others may write to it.
        OSError: The system refuses to write.
    """
    if os.path.lexists(place):
        return RestoredFile(str(place), "unchanged" if _content(place) == data else "kept")
    if not is_dry_run:
        make_private(str(place.parent))
        part = place.with_name(f".{place.name}.restored")
        part.unlink(missing_ok=True)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            os.link(part, place)
        except FileExistsError:
            return RestoredFile(str(place), "kept")  # the daemon wrote it meanwhile
        finally:
            part.unlink(missing_ok=True)
    return RestoredFile(str(place), "created")


def _breadcrumb_folder(locations: Locations) -> Path:
    return Path(locations.state) / "terminal-sessions"


def _content(path: Path) -> bytes | None:
    """Return the content of a regular file; None if it cannot be read or is too long."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= _MAX_BYTES else None
