"""Finds the data that agents write about their sessions in other files."""

from typing import Any

from sessiond.agents.agent import Beside
from sessiond.agents.table import AGENTS

_ROWS = {agent.dialect: agent for agent in AGENTS.values() if agent.beside is not None}


class Companions:
    """The data that agents write about their sessions in other files. Those for many sessions are read once."""

    def __init__(self) -> None:
        self._readers: dict[str, Beside] = {}

    def of(self, path: str, dialect: str) -> dict[str, Any]:
        """Return the data about a session for the reader of its file (`Source.beside`). Blocks.

        Args:
            path: The file, or the path of the source.
            dialect: Its format.
        """
        read = self._readers.get(dialect)
        if read is None and (row := _ROWS.get(dialect)) is not None and row.beside is not None:
            read = self._readers[dialect] = row.beside()
        return {"sourcePath": path, **({} if read is None else read(path))}
