"""Determines which session files an agent will soon delete by itself, and whether their sessions are here whole."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from sessiond import human
from sessiond.agents.deletion import DeletionRule
from sessiond.hub.transfer.import_results import UNREMARKABLE
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.session.tree.lines import valid_text

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


def sentences(title: str, rule: DeletionRule, due: Mapping[str, FileStatus], missing_count: int) -> str:
    """Return the rule of an agent, what will go soon, and whether it is here, in sentences.

    Args:
        title: The name of the agent for people.
        rule: Its rule.
        due: The files that it will soon delete, by path.
        missing_count: The number of those of them that are not here whole.
    """
    ways = []
    if rule.max_age_days is not None:
        ways.append(f"session files that were not changed for {rule.max_age_days:g} days")
    if rule.max_count is not None:
        ways.append(f"all but the newest {rule.max_count:,} of a project")
    if not ways:
        return f"{title} deletes no session files by itself."
    source = "by default" if rule.settings is None else f"as {valid_text(rule.settings)} says"
    said = f"{title} deletes {' and '.join(ways)}, {source}."
    if not due:
        return f"{said} None will go within a week."
    size = human.size(sum(status.size for status in due.values()))
    said += f" Within a week: {human.count(len(due), 'file')}, {size}"
    return (
        f"{said}; {missing_count:,} not here, or not completely."
        if missing_count
        else f"{said}. All of it is here."
    )


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
