"""Determines which session files an agent will soon delete by itself, and whether their sessions are here whole."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from sessiond.agents.deletion import DeletionRule
from sessiond.hub.transfer.import_results import UNREMARKABLE
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus

SOON_DAYS: Final = 7
"""The days within which a deletion is soon."""
_DAY_NS: Final = 86_400_000_000_000


def due(deletion: DeletionRule, files: Mapping[str, FileStatus], now_ns: int) -> dict[str, FileStatus]:
    """Return the session files that an agent will delete within `SOON_DAYS` if they are not changed.

    The age of a file is that of its last change. Gemini CLI goes by the last message in it, which is not later.

    Args:
        deletion: The rule of the agent.
        files: The status of all its session files, by path.
        now_ns: The present time in nanoseconds since 1970.
    """
    found: dict[str, FileStatus] = {}
    if deletion.max_age_days is not None:
        newest_ns = now_ns - (deletion.max_age_days - SOON_DAYS) * _DAY_NS
        found |= {path: status for path, status in files.items() if status.modified_ns < newest_ns}
    if deletion.max_count is not None:
        for paths in _by_folder(files).values():
            paths.sort(key=lambda path: files[path].modified_ns, reverse=True)
            found |= {path: files[path] for path in paths[deletion.max_count :]}
    return found


def not_here(files: Mapping[str, FileStatus], records: Mapping[str, SourceRecord]) -> list[str]:
    """Return those of the files whose content is not in the store as it is now, the largest first.

    Args:
        files: The status of the files, by path.
        records: The records of their imports, by path.
    """
    missing = [path for path, status in files.items() if not _is_here(records.get(path), status)]
    return sorted(missing, key=lambda path: (-files[path].size, path))


def _is_here(record: SourceRecord | None, status: FileStatus) -> bool:
    if record is None or record.state.status != status:
        return False
    if record.skipped is not None:
        return record.skipped.message in UNREMARKABLE
    return record.session is not None


def _by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        found[path.rpartition("/")[0]].append(path)
    return found
