"""Maps the folders of one machine to those of another: by pairs that the user names, and by the remotes of git."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sessiond.config_values import folder_pair
from sessiond.error_text import TemplatedError
from sessiond.protocol import types as t


class InvalidPairError(TemplatedError):
    """Raised for a pair of folders that is not `HERE=THERE`, both absolute."""

    sentence = "{pair!r:.200} is not a pair of folders."
    advice = "Write two absolute paths: /home/ada/work=/Users/ada/work (here, then there)."

    def __init__(self, pair: str) -> None:
        super().__init__(pair=pair)


class FolderPair(NamedTuple):
    """A folder, and the same folder on another machine."""

    source: str
    target: str


def pair_of(text: str) -> FolderPair:
    """Return the pair `HERE=THERE`; see `config_values.folder_pair`. Raises `InvalidPairError`."""
    pair = folder_pair(text)
    if pair is None:
        raise InvalidPairError(text)
    return FolderPair(*pair)


class FolderMap:
    """Maps folders of a source to folders of a target.

    Args:
        pairs: Pairs that the user named. The longest that contains a folder counts.
        source: The folders of the source that are in a git repository with a remote.
        target: Those of the target.
    """

    def __init__(
        self, pairs: Iterable[FolderPair], source: Sequence[t.SyncFolder], target: Sequence[t.SyncFolder]
    ) -> None:
        self._pairs = sorted(pairs, key=lambda pair: len(pair.source), reverse=True)
        self._repositories = {folder.cwd: folder for folder in source}
        roots: dict[str, set[str]] = {}
        for folder in target:
            roots.setdefault(folder.remote, set()).add(folder.root)
        self._roots = {remote: next(iter(folders)) for remote, folders in roots.items() if len(folders) == 1}

    def target_of(self, cwd: str) -> str:
        """Return the folder on the target. A folder that nothing maps has the same path there."""
        for pair in self._pairs:
            if is_inside(cwd, pair.source):
                return _trimmed(pair.target + cwd[len(pair.source.rstrip("/")) :])
        repository = self._repositories.get(cwd)
        root = None if repository is None else self._roots.get(repository.remote)
        if repository is None or root is None or not is_inside(cwd, repository.root):
            return cwd
        return _trimmed(root + cwd[len(repository.root.rstrip("/")) :])


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _trimmed(path: str) -> str:
    return os.path.normpath(path)
