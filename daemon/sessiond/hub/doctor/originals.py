"""Checks the originals of agents' files: that each is what its name says, and that each note has its original."""

from collections.abc import Iterator

from sessiond.hub.doctor.scope import Scope
from sessiond.store.files import originals


def check_originals(scope: Scope) -> Iterator[None]:
    """Read all originals."""
    folder = scope.data / originals.FOLDER
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return  # there are none, or the check of folders says why they cannot be listed
    for path in paths:
        if originals.is_original(path.name) and path.suffix == ".zst":
            try:
                damage = originals.damage_of(path)
            except OSError as error:
                damage = f"it cannot be read: {error.strerror}"
            if damage is not None:
                scope.add("damagedOriginal", damage, str(path))
            yield
    for path, note in originals.notes(folder):
        if not (folder / f"{note.hash}.zst").exists():
            scope.add("damagedOriginal", f"the original of {note.path} is missing", str(path))
        yield
