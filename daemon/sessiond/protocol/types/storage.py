"""The space that sessions take: storage/report, agents, archive, reclaim and giveBack."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.agents import AgentName
from sessiond.protocol.types.exchange import SkippedFile
from sessiond.protocol.types.shared import Params, ProgressToken, Wire


class StorageReportParams(Params, frozen=True):
    """Return how much space the sessions take: by kind of data, agent, project and month, and the largest sessions.

    Sizes are those of files in bytes. The size of a session includes the blobs that it names; a blob of several
    sessions counts in each of them, and once among the kinds. A log that is not indexed yet counts without blobs.
    """

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 10  # maximum number of projects and of sessions


class StorageShare(Wire, frozen=True):
    """The part of the space that has one key."""

    key: str  # a kind, an agent (`sessiond` for none), the folder of a project, or a month as `2026-11`
    title: str  # the kind or the agent in words; else the key
    count: int  # the number of its sessions; of a kind: of its files
    size_bytes: int  # their size


class LargeSession(Wire, frozen=True):
    """A session with its size."""

    session_id: str  # the session
    title: str | None  # its title, else its first prompt; null without both
    cwd: str  # its folder
    agent: str  # its agent; `sessiond` for none
    updated_at: str  # when it was written last
    log_bytes: int  # the size of its log
    blob_bytes: int  # the size of the blobs that it names


class StorageReportResult(Wire, frozen=True):
    """The report. Shares are listed with the largest first, months with the newest first."""

    # `sessions`, `packed`, `drafts`, `inPlace` (in folders of other programs), `blobs`, `originals`, `trash`, `index`
    # (can be rebuilt), `records` (other data)
    kinds: list[StorageShare]
    total_bytes: int  # the size of all kinds
    agents: list[StorageShare]  # the sessions by agent
    projects: list[StorageShare]  # the sessions by project: the largest ones
    project_count: int  # the number of all projects
    months: list[StorageShare]  # the sessions by the month of their last change, in UTC
    sessions: list[LargeSession]  # the largest sessions
    recent_bytes: int  # the size of the sessions that were changed in the last 30 days
    free_bytes: int | None  # the bytes that can still be written; null if it is not known


class StorageAgentsParams(Params, frozen=True):
    """Return how much space the agents' own folders take, and what the agents will delete there.

    Their files are listed, and not opened or changed.
    """

    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class AgentDeletion(Wire, frozen=True):
    """The rule by which an agent deletes its own session files, and the files that will go within 7 days."""

    max_age_days: float | None  # it deletes files that were not changed for so long; null: none by age
    max_count: int | None  # it deletes all but so many of a folder; null: none by number
    settings_path: str | None  # the settings file that says so; null for its defaults
    remark: str  # facts that a person would not expect
    due_count: int  # the files that it will delete within 7 days
    due_bytes: int  # their size
    missing_count: int  # those of them that are not here whole
    missing: list[str]  # their paths: the 10 largest
    message: str  # all of this in sentences


class AgentStorage(Wire, frozen=True):
    """The folders of one agent."""

    agent: str  # the name of the agent
    title: str  # its name for people
    is_followed: bool  # whether its sessions are read as it writes them
    folders: list[str]  # the absolute paths of its folders
    file_count: int  # the number of its session files, or of the sessions in its databases
    session_bytes: int  # the size of these files or databases
    other_bytes: int  # the size of the other files in the folders
    recent_bytes: int  # the size of the files that were changed in the last 30 days
    deletion: AgentDeletion | None  # null if it is not known


class StorageAgentsResult(Wire, frozen=True):
    """The agents that have files on this machine, in a fixed order."""

    agents: list[AgentStorage]  # a row for each


class StorageArchiveParams(Params, frozen=True):
    """Pack the files of unused sessions at once, as the daemon does by itself in idle time.

    They are compressed, used as before, and plain again before the next change.
    """

    unused_days: Annotated[int, Meta(ge=0, le=100_000)] = 14  # only sessions neither changed nor opened since
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class StorageArchiveResult(Wire, frozen=True):
    """The sessions that were packed."""

    session_count: int  # their number
    size_bytes: int  # the size of their plain files
    packed_bytes: int  # the size of their files now
    failed_count: int  # sessions that the disk refused; the log of the daemon names them


class StorageReclaimParams(Params, frozen=True):
    """Move old session files of an agent to sessiond, compressed, to free the space that they take.

    Only files whose sessions are here whole are moved: each is compared with its session, entry by entry, and its
    compressed copy is read again before it is removed. Unless `dryRun` is false, nothing is moved.
    """

    agent: AgentName  # the agent
    older_than_days: Annotated[int, Meta(ge=1, le=100_000)] = 30  # only files that were not changed since
    dry_run: bool = True  # change nothing, and return what would be moved
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class StorageReclaimResult(Wire, frozen=True):
    """The files that were moved."""

    file_count: int  # their number
    size_bytes: int  # their size
    kept_bytes: int | None  # the size of their compressed originals; null with `dryRun`
    skipped: list[SkippedFile]  # old files that stay: the first 100
    skipped_count: int  # the number of all these
    dry_run: bool  # as requested


class StorageGiveBackParams(Params, frozen=True):
    """Move the files that `storage/reclaim` took back to their places, byte for byte."""

    agent: AgentName  # the agent
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class StorageGiveBackResult(Wire, frozen=True):
    """The files that are back."""

    file_count: int  # their number
    size_bytes: int  # their size
    skipped: list[SkippedFile]  # the first 100 that stay here
    skipped_count: int  # the number of all these
