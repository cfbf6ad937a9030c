"""The file that an export is written to, and the pictures beside it."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from sessiond.hub.errors import IncompatibleParams
from sessiond.store.errors import StorageFailed
from sessiond.store.files.folders import new_file, sync_folder
from sessiond.store.files.syscalls import Syscalls

_BLOCK_BYTES: Final = 1 << 20


class ExportFile:
    """The target of an export. A file is complete and durable when it has its name.

    Args:
        target: The path, with all links resolved.
        overwrite: Whether an existing file is replaced.

    Attributes:
        pictures_folder: The folder for the pictures of a transcript.
    """

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self.pictures_folder = target.with_name(f"{target.stem}.pictures")
        self._target = target
        self._overwrite = overwrite
        self._ending = f".{os.urandom(6).hex()}.tmp"
        """The end of the names of files that are not complete."""

    def refuse_existing(self) -> None:
        """Raise `IncompatibleParams` if the target exists and is not to be replaced. `write` checks again."""
        if not self._overwrite and os.path.lexists(self._target):
            raise self._exists()

    def write_pictures(self, pictures: Mapping[str, bytes]) -> list[Path]:
        """Write the pictures that do not exist yet, and return their paths. Their names depend on their content."""
        folder = self.pictures_folder
        if pictures:
            try:
                folder.mkdir(exist_ok=True)
            except FileExistsError:
                raise IncompatibleParams(
                    f"{folder} exists already, and is not a folder for pictures"
                ) from None
        paths = {folder / name: picture for name, picture in pictures.items()}
        for path, picture in paths.items():
            if not path.is_file() or path.stat().st_size != len(picture):
                self._write([picture], path, overwrite=False)
        return list(paths)

    def write(self, parts: Iterable[bytes]) -> int:
        """Write the file from its parts, with access for its owner only. Returns its size in bytes.

        Raises:
            IncompatibleParams: The target is a folder, or exists and is not to be replaced.
            StorageFailed: The folder does not exist, or accepts no files.
            OSError: The file cannot be written.
        """
        size = 0

        def blocks() -> Iterator[bytes | bytearray]:
            nonlocal size
            block = bytearray()
            for part in parts:
                size += len(part)
                block += part
                if len(block) >= _BLOCK_BYTES:
                    yield block
                    block = bytearray()
            yield block

        self._write(blocks(), self._target, overwrite=self._overwrite)
        return size

    def remove_unfinished(self) -> None:
        """Remove incomplete files of a process that was ended."""
        for folder in (self._target.parent, self.pictures_folder):
            for path in folder.glob(f".*{self._ending}"):
                path.unlink(missing_ok=True)

    def _write(self, parts: Iterable[bytes | bytearray], target: Path, *, overwrite: bool) -> None:
        calls = Syscalls()
        made = target.with_name(f".{target.name[:160]}{self._ending}")
        try:
            os.close(new_file(made, parts, calls))
        except FileNotFoundError as error:
            reason = "no file can be created in" if target.parent.is_dir() else "there is no folder"
            raise StorageFailed(f"{reason} {target.parent}", path=str(target), errno=error.errno) from None
        try:
            if overwrite:
                made.replace(target)
            else:
                os.link(made, target)  # fails if the target exists
        except FileExistsError:
            raise self._exists() from None
        except OSError as error:
            if error.errno == errno.EISDIR:
                raise IncompatibleParams(f"{target} is a folder") from None
            raise
        finally:
            made.unlink(missing_ok=True)
        sync_folder(target.parent, calls)

    def _exists(self) -> IncompatibleParams:
        return IncompatibleParams(f"{self._target} exists already; use overwrite, or choose another path")
