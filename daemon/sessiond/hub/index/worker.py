"""Answers questions to the index on its thread, and does the checks that are common to all questions.

A question is a function of the worker, such as `listing.page`. If the index file turns out to be damaged or was
removed, it is rebuilt, and the question is asked again.
"""

import logging
import sqlite3
from collections.abc import Callable
from typing import TypeVar

import msgspec

from sessiond.hub.database_file import refusal
from sessiond.hub.errors import HubError
from sessiond.hub.index.database import Database
from sessiond.hub.index.erasure import Erasure
from sessiond.hub.index.files import FileTable
from sessiond.hub.index.projects import ProjectTable
from sessiond.hub.index.text_indexer import TextIndexer
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)
T = TypeVar("T")
P = TypeVar("P", t.ListParams, t.ListFilter, t.SearchParams, t.RecallParams, t.UsageReportParams)


class Worker:
    """The database of the index and the parts that keep its tables, which questions use.

    Args:
        store: The store of the logs.
        path: The database file; None means a temporary file.
    """

    def __init__(self, store: Store, path: str | None) -> None:
        self.build_number = 0
        """The build number: how often the file was opened or rebuilt."""
        self._path = path
        self.database = Database(path)
        self.files = FileTable(store, self.database)
        self.texts = TextIndexer(store, self.database, self.files)
        self.erasure = Erasure(self.database)
        self._projects = ProjectTable()

    def ask(self, question: "Callable[[Worker], T]") -> T:
        """Return the answer to a question. It is asked twice if the index proves to be damaged.

        Raises:
            StorageFailed: The index cannot be read or written.
        """
        try:
            if not self.database.is_in_place():
                if self.database.is_open:
                    log.warning("the index was deleted; it is rebuilt")
                    self._rebuild()
                else:
                    self._begin()
            try:
                self.database.verify_if_known()
                return question(self)
            except (HubError, StorageFailed, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001 - damage may cause any error: no row, bad text, an overflow
                log.warning("the index is damaged; it is rebuilt: %r", error)
                self._rebuild()
                return question(self)
        except sqlite3.Error as error:  # a new file fails, too, so the disk is the cause
            raise refusal(self._path or "", error) from error

    def check_files(self) -> int:
        """Bring the index up to date with the files, as a part of a question. Returns the build number."""
        if self.files.refresh():
            self.texts.stop()
            self._projects.add_new(self.database.connection)
        return self.build_number

    def resolved(self, params: P) -> P:
        """Return params whose `project` is the folder of the project."""
        if params.project is None:
            return params
        project = self._projects.folder_of(self.database.connection, params.project)
        return msgspec.structs.replace(params, project=project)

    def close(self) -> None:
        """Close and seal the file."""
        self.database.close_and_seal()

    def _begin(self) -> None:
        self.build_number += 1
        self.database.open()
        try:
            self.files.load()
        except Exception as error:  # noqa: BLE001 - damage may cause any error
            log.warning("the index is damaged; it is rebuilt: %r", error)
            self.database.delete()
            self.database.open()
            self.files.load()

    def _rebuild(self) -> None:
        self.texts.discard()
        self.erasure.discard()
        self.database.delete()
        self._begin()
