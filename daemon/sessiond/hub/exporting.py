"""Exporting a session: its lines with their blobs put back, written by a format, to a text or to a new file.

Lines are read on the loop in steps; all else happens in a thread. The log is only read.
"""

import asyncio
import errno
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from sessiond.export.html import to_html
from sessiond.export.transcript import Pictures, to_markdown
from sessiond.hub import placing
from sessiond.hub.blobs import SessionBlobs
from sessiond.hub.errors import InvalidRequest, TooLarge
from sessiond.hub.live import LiveSession
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.protocol import types as t
from sessiond.session import fork, lines, whole
from sessiond.session.dialects import fields
from sessiond.session.dialects.exported import Losses, Whole
from sessiond.session.dialects.to_nova import to_nova
from sessiond.session.dialects.writing import WRITERS
from sessiond.session.steps import Steps
from sessiond.store.base import StorageFailed, Store
from sessiond.store.files.folders import new_file, sync_folder
from sessiond.store.files.syscalls import Syscalls

MAX_INLINE: Final = 16 * 1024 * 1024
"""Bytes of a text in an answer; a larger export needs a path."""
_ROWS_A_STEP: Final = 64
_READ: Final = 50
"""Parts of a hundred that are done when everything is read."""

Tell = Callable[[str, int], None]
"""Hears what is being done, and how many of a hundred parts are done."""


@dataclass(frozen=True, slots=True)
class _Header:
    session_id: str
    timestamp: str
    cwd: str
    title: str | None
    tags: tuple[str, ...]
    parent_session: str | None


class Exports:
    """Exports of the sessions of one store."""

    def __init__(self, files: Store, keys: ProviderKeys) -> None:
        self._files = files
        self._keys = keys

    async def run(
        self, live: LiveSession, params: t.ExportParams, state: t.WorkingState | None, tell: Tell
    ) -> t.ExportResult:
        """Write a session as `params` say; `state` is the working state at the leaf, for NOVA.

        Raises `EntryNotFound`, `InvalidRequest`, `TooLarge`, `OSError`.
        """
        target = _target(params, self._files)
        about = _about(live)
        if params.leaf_id is None:
            found, leaf = await live.drive(_all_lines(live, tell)), live.tree.leaf_id
        else:
            row = live.row(params.leaf_id)
            path = fork.fork_lines(
                live.tree, row, live.read_rows, header=b"", new_id=lambda: placing.free_id(live.tree)
            )
            found, leaf = (await live.drive(path))[1:], None
            name = f"{about.session_id[:100]}-{fields.digest(about.session_id, params.leaf_id)[:8]}"
            about = replace(about, session_id=name, parent_session=about.session_id)
        tell(f"Writing {len(found):,} entries", _READ)
        return await asyncio.to_thread(
            _written, about, found, leaf, params, live.blobs, target, state, self._keys
        )


def _about(live: LiveSession) -> _Header:
    header = live.tree.header
    return _Header(
        session_id=live.session_id, timestamp="" if header is None else header.timestamp,
        cwd="" if header is None else header.cwd, title=live.tree.title, tags=live.tree.tags,
        parent_session=None if header is None else header.parent_session,
    )  # fmt: skip


def _target(params: t.ExportParams, files: Store) -> Path | None:
    if params.path is None:
        return None
    if not params.path.startswith("/") or "\0" in params.path:
        raise InvalidRequest("path is not an absolute path")
    target = Path(os.path.realpath(params.path))
    if files.holds(str(target)):
        raise InvalidRequest("path lies among the files of sessiond; choose another folder")
    return target


def _all_lines(live: LiveSession, tell: Tell) -> Steps[list[bytes]]:
    tree = live.tree
    rows = [row for row in range(1, tree.committed) if tree.is_entry(row)]
    found: list[bytes] = []
    for start in range(0, len(rows), _ROWS_A_STEP):
        found += live.read_rows(rows[start : start + _ROWS_A_STEP])
        tell(f"Reading {len(rows):,} entries", _READ * len(found) // len(rows))
        yield
    return found


def _written(
    about: _Header, found: Sequence[bytes], leaf: str | None, params: t.ExportParams, blobs: SessionBlobs,
    target: Path | None, state: t.WorkingState | None, keys: ProviderKeys,
) -> t.ExportResult:  # fmt: skip
    missing: dict[str, None] = {}

    def find(digest: str) -> bytes | None:
        data = blobs.find(digest)
        if data is None:
            missing[digest] = None
        return data

    entries = [entry for line in found if (entry := _decoded(whole.put_back(line, find))) is not None]
    redactor = Redactor(keys)
    if params.redact:
        entries = [redactor.entry(entry) for entry in entries]
        about = replace(
            about,
            title=None if about.title is None else redactor.text(about.title, None),
            tags=redactor.texts(about.tags, None),
            cwd=redactor.text(about.cwd, None),
        )
    session = Whole(
        session_id=about.session_id, timestamp=about.timestamp, cwd=about.cwd, title=about.title,
        tags=about.tags, parent_session=about.parent_session, entries=entries,
        leaf=leaf if params.leaf_id is None else _last_id(entries),
    )  # fmt: skip
    losses, pictures = Losses(), Pictures()
    if params.format == "nova":
        said = {} if state is None else nova_state(state)
        data = to_nova(session, redactor.value(said, None) if params.redact else said, losses)
    elif params.format == "markdown":
        pictures = Pictures(None if target is None else quote(_folder_beside(target).name))
        data = to_markdown(session, losses, pictures)
    else:
        data = (to_html if params.format == "html" else WRITERS[params.format])(session, losses)
    text: str | None = None
    beside: list[Path] = []
    if target is not None:
        _refuse_if_there(target, overwrite=params.overwrite)
        beside = _put_beside(target, pictures.files)
        _put(data, target, overwrite=params.overwrite)
    elif len(data) > MAX_INLINE:
        raise TooLarge("the exported text (say a path to write it to)", len(data), MAX_INLINE)
    else:
        text = lines.sound(data.decode("utf-8", "replace"))
    return t.ExportResult(
        format=params.format, text=text, path=None if target is None else lines.sound(str(target)),
        size_bytes=len(data), entries=len(entries), lost=_counted(losses.lost), carried=_counted(losses.carried),
        redacted=[
            t.Redaction(kind=kind, entry_id=None if entry is None else lines.sound(entry), count=count)
            for (entry, kind), count in redactor.found.items()
        ],
        redaction_incomplete=params.redact and not keys.load(),
        missing_blobs=list(missing), pictures=[lines.sound(str(path)) for path in beside],
    )  # fmt: skip


def _folder_beside(target: Path) -> Path:
    """Where the pictures of a transcript go."""
    return target.with_name(f"{target.stem}.pictures")


def _put_beside(target: Path, pictures: dict[str, bytes]) -> list[Path]:
    """Write the pictures that are not there yet; their names are those of their bytes."""
    folder = _folder_beside(target)
    if pictures:
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise InvalidRequest(f"{folder} is there already, and is no folder for pictures") from None
    paths = {folder / name: picture for name, picture in pictures.items()}
    for path, picture in paths.items():
        if not path.is_file() or path.stat().st_size != len(picture):
            _put(picture, path, overwrite=False)
    return list(paths)


def _refuse_if_there(target: Path, *, overwrite: bool) -> None:
    """Before anything is written beside it; whoever puts something there meanwhile is seen by `_put`."""
    if not overwrite and os.path.lexists(target):
        raise InvalidRequest(f"{target} is there already; say overwrite, or choose another path")


def _last_id(entries: list[dict[str, Any]]) -> str | None:
    """The leaf of a path that was cut out: its last entry."""
    return fields.text(entries[-1].get("id")) if entries else None


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        return lines.loads(line)
    except lines.NotAnEntry:
        return None


def _counted(counts: dict[str, int]) -> list[t.Loss]:
    return [t.Loss(what=lines.sound(what), count=count) for what, count in sorted(counts.items())]


def nova_state(state: t.WorkingState) -> dict[str, Any]:
    """A working state with the names of NOVA's `SessionState.to_dict`."""
    said = msgspec.to_builtins(state)
    renamed = {_snake(name): value for name, value in said.items()}
    renamed["metrics"] = {_snake(name): value for name, value in said.get("metrics", {}).items()}
    if "plan" in renamed:
        renamed["current_plan"] = renamed.pop("plan")
    return renamed


def _snake(name: str) -> str:
    return "".join(f"_{it.lower()}" if it.isupper() else it for it in name)


def _put(data: bytes, target: Path, *, overwrite: bool) -> None:
    """Write a file that appears whole or not at all, for its owner only, durable when this returns."""
    calls = Syscalls()
    made = target.with_name(f".{target.name[:160]}.{secrets.token_hex(6)}.tmp")
    try:
        os.close(new_file(made, [data], calls))
    except FileNotFoundError as error:
        raise StorageFailed(
            f"there is no folder {target.parent}", path=str(target), errno=error.errno
        ) from None
    try:
        if overwrite:
            made.replace(target)
        else:
            os.link(made, target)  # fails when something is there, whoever put it there meanwhile
    except FileExistsError:
        raise InvalidRequest(f"{target} is there already; say overwrite, or choose another path") from None
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise InvalidRequest(f"{target} is a folder") from None
        raise
    finally:
        made.unlink(missing_ok=True)
    sync_folder(target.parent, calls)
