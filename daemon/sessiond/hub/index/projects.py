"""The projects of the folders of all sessions, in the table `projects` of the index.

A folder that exists is examined again from time to time, because a repository may be created or removed. A folder that
does not exist any more keeps its last known project. If a repository is moved, its identity shows that the folders
below its former place belong to it (decision 0042).
"""

import os
import sqlite3
import time
from collections.abc import Iterable
from typing import Final

from sessiond.hub.index.git_projects import Project, ProjectFinder
from sessiond.unicode import valid_unicode

IN_PROJECT: Final = "cwd IN (SELECT cwd FROM projects WHERE project = ?)"
"""The condition that the folder of a session belongs to a project."""
FRESH_SECONDS: Final = 2.0
"""The time for which the projects of all folders are not examined again."""


class ProjectTable:
    """Keeps the table `projects`. Used on the thread of the index."""

    def __init__(self) -> None:
        self._checked_at = float("-inf")

    def add_new(self, connection: sqlite3.Connection) -> None:
        """Add the folders that are not in the table yet."""
        new = connection.execute(
            "SELECT DISTINCT cwd FROM files WHERE draft IS NOT NULL AND cwd NOT IN (SELECT cwd FROM projects)"
        ).fetchall()
        if new:
            self._save(connection, [cwd for (cwd,) in new], ProjectFinder())

    def folder_of(self, connection: sqlite3.Connection, folder: str) -> str:
        """Return the folder of the project that a folder belongs to, and bring the table up to date for it."""
        finder = ProjectFinder()
        known = connection.execute("SELECT project FROM projects WHERE cwd = ?", (folder,)).fetchone()
        if known is not None and not os.path.isdir(folder):  # noqa: PTH112
            return str(known[0])
        project = finder.project_of(folder)
        has_changed = known is not None and known[0] != valid_unicode(project.folder)
        if has_changed or time.monotonic() - self._checked_at > FRESH_SECONDS:
            folders = [cwd for (cwd,) in connection.execute("SELECT cwd FROM projects")]
            self._save(connection, filter(os.path.isdir, folders), finder)
            self._checked_at = time.monotonic()
        self._take_moved(connection, project)
        return valid_unicode(project.folder)

    def _save(self, connection: sqlite3.Connection, folders: Iterable[str], finder: ProjectFinder) -> None:
        rows = [
            (cwd, valid_unicode(project.folder), project.identity)
            for cwd in folders
            for project in [finder.project_of(cwd)]
        ]
        connection.executemany("INSERT OR REPLACE INTO projects VALUES(?, ?, ?)", rows)

    def _take_moved(self, connection: sqlite3.Connection, project: Project) -> None:
        """Assign the folders of this repository's former place to its present place."""
        if not project.identity:
            return
        former = connection.execute(
            "SELECT DISTINCT project FROM projects WHERE identity = ? AND project != ?",
            (project.identity, valid_unicode(project.folder)),
        ).fetchall()
        for (place,) in former:
            if not os.path.exists(place):  # noqa: PTH110 - a copy of the repository has an identity of its own
                connection.execute(
                    "UPDATE projects SET project = ? WHERE project = ?",
                    (valid_unicode(project.folder), place),
                )
