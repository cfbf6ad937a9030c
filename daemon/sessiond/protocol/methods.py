"""The table of methods and notifications, from which routes, documents, TypeScript and Lua are generated."""

from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from sessiond.protocol import types as t, versions

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)

PROTOCOL_VERSION: Final = versions.NEWEST

Stability = Literal["stable", "experimental"]
"""Whether a message keeps its form: a `stable` one only grows, an `experimental` one may change in any version."""


@dataclass(frozen=True)
class Method(Generic[P, R]):
    """A request: its name, the types of its params and result, its own error kinds, and its stability."""

    name: str
    params: type[P]
    result: type[R]
    errors: tuple[str, ...] = ()
    stability: Stability = "stable"


@dataclass(frozen=True)
class Notification(Generic[P]):
    """A message from the server without a response."""

    name: str
    params: type[P]
    stability: Stability = "stable"


_READ = (
    "sessionNotFound",
    "sessionTrashed",
    "sessionDamaged",
    "foreignDialect",
    "storageFailed",
    "foreignWriter",
)
_WRITE = (*_READ, "readOnly", "storageFull", "draining")
_COMMAND = (*_WRITE, "idReused")
"""The error kinds of methods that write lines and may take a `commandId`."""
_SUMMARY = ("noSummarizer", "summarizerFailed")

CREATE: Final = Method(
    "session/create",
    t.CreateParams,
    t.SessionResult,
    ("alreadyExists", "idReused", "storageFull", "storageFailed", "draining"),
)
OPEN: Final = Method("session/open", t.OpenParams, t.SessionResult, (*_WRITE, "alreadyExists"))
CLOSE: Final = Method("session/close", t.CloseParams, t.CloseResult, ("sessionNotFound", "sessionTrashed"))
CONTINUE: Final = Method(
    "session/continue", t.ContinueParams, t.ContinueResult, (*_READ, "idReused", "draining")
)
LIST: Final = Method("session/list", t.ListParams, t.ListResult, ("cursorExpired",))
RESOLVE: Final = Method("session/resolve", t.ResolveParams, t.ResolveResult)
SEARCH: Final = Method(
    "session/search", t.SearchParams, t.SearchResult,
    ("sessionNotFound", "sessionTrashed", "cursorExpired", "storageFailed"),
)  # fmt: skip
RECALL: Final = Method("session/recall", t.RecallParams, t.RecallResult, ("storageFailed",))
REDACT: Final = Method("text/redact", t.RedactParams, t.RedactResult)
USAGE_REPORT: Final = Method("usage/report", t.UsageReportParams, t.UsageReportResult, ("storageFailed",))
STORAGE_REPORT: Final = Method(
    "storage/report", t.StorageReportParams, t.StorageReportResult, ("storageFailed",)
)
STORAGE_AGENTS: Final = Method("storage/agents", t.StorageAgentsParams, t.StorageAgentsResult)
STORAGE_ARCHIVE: Final = Method(
    "storage/archive", t.StorageArchiveParams, t.StorageArchiveResult, ("storageFailed", "draining")
)
STORAGE_RECLAIM: Final = Method(
    "storage/reclaim", t.StorageReclaimParams, t.StorageReclaimResult, ("storageFailed", "draining")
)
STORAGE_GIVE_BACK: Final = Method(
    "storage/giveBack", t.StorageGiveBackParams, t.StorageGiveBackResult, ("draining",)
)
AGENT_VERIFY: Final = Method(
    "agent/verify", t.AgentVerifyParams, t.AgentVerifyResult, ("storageFailed",), "experimental"
)
INFO: Final = Method("session/info", t.InfoParams, t.SessionResult, _READ)
APPEND: Final = Method(
    "session/append",
    t.AppendParams,
    t.AppendResult,
    (*_WRITE, "entryNotFound", "leafConflict", "idReused", "invalidEntry", "wouldBreakTree", "tooLarge"),
)
ENTRIES: Final = Method(
    "session/entries", t.EntriesParams, t.EntriesResult, (*_READ, "entryNotFound", "cursorExpired")
)
PATH: Final = Method(
    "session/path", t.PathParams, t.EntriesResult, (*_READ, "entryNotFound", "cursorExpired")
)
LABELS: Final = Method("session/labels", t.LabelsParams, t.LabelsResult, (*_READ, "cursorExpired"))
TREE: Final = Method("session/tree", t.TreeParams, t.TreeResult, (*_READ, "entryNotFound", "cursorExpired"))
WATCH_TREE: Final = Method(
    "session/watchTree", t.WatchTreeParams, t.WatchTreeResult, (*_READ, "entryNotFound")
)
CONTEXT: Final = Method("session/context", t.ContextParams, t.ContextResult, (*_READ, "entryNotFound"))
PREPARE_COMPACTION: Final = Method(
    "session/prepareCompaction", t.PrepareCompactionParams, t.PrepareCompactionResult,
    (*_READ, "entryNotFound"),
)  # fmt: skip
COMPACT: Final = Method(
    "session/compact", t.CompactParams, t.CompactResult,
    (*_COMMAND, "entryNotFound", "leafConflict", "wouldBreakTree", "nothingToCompact", *_SUMMARY),
)  # fmt: skip
CONFIGURE: Final = Method("session/configure", t.ConfigureParams, t.ConfigureResult, _COMMAND)
PREPARE_BRANCH: Final = Method(
    "session/prepareBranch", t.PrepareBranchParams, t.PrepareBranchResult, (*_READ, "entryNotFound")
)
BRANCH: Final = Method(
    "session/branch", t.BranchParams, t.BranchResult, (*_COMMAND, "entryNotFound", "leafConflict", *_SUMMARY)
)
STATS: Final = Method("session/stats", t.StatsParams, t.StatsResult, (*_READ, "entryNotFound"))
COMPARE: Final = Method("session/compare", t.CompareParams, t.CompareResult, (*_READ, "entryNotFound"))
FORK: Final = Method("session/fork", t.ForkParams, t.SessionResult, (*_COMMAND, "entryNotFound"))
IMPORT: Final = Method(
    "session/import",
    t.ImportParams,
    t.ImportResult,
    ("cursorExpired", "storageFull", "storageFailed", "draining"),
)
EXPORT: Final = Method(
    "session/export", t.ExportParams, t.ExportResult, (*_READ, "entryNotFound", "tooLarge", "storageFull")
)
RESUME: Final = Method(
    "session/resume", t.ResumeParams, t.ResumeResult, (*_READ, "entryNotFound", "storageFull")
)
LABEL: Final = Method("session/label", t.LabelParams, t.ChangeResult, (*_COMMAND, "entryNotFound"))
RENAME: Final = Method("session/rename", t.RenameParams, t.ChangeResult, _COMMAND)
TAG: Final = Method("session/tag", t.TagParams, t.ChangeResult, _COMMAND)
MOVE: Final = Method("session/move", t.MoveParams, t.SessionResult, (*_COMMAND, "alreadyExists"))
DELETE: Final = Method(
    "session/delete", t.DeleteParams, t.DeleteResult,
    (*_READ, "alreadyExists", "idReused", "storageFull", "draining"),
)  # fmt: skip
TRASH_RESTORE: Final = Method(
    "trash/restore", t.RestoreParams, t.SessionResult,
    ("sessionNotFound", "alreadyExists", "idReused", "sessionDamaged", "storageFull", "storageFailed", "draining"),
)  # fmt: skip
TRASH_LIST: Final = Method(
    "trash/list", t.TrashListParams, t.TrashListResult, ("cursorExpired", "storageFailed")
)
FORGOTTEN_LIST: Final = Method(
    "forgotten/list",
    t.ForgottenListParams,
    t.ForgottenListResult,
    ("storageFailed",),
    stability="experimental",
)
FORGOTTEN_REVOKE: Final = Method(
    "forgotten/revoke", t.ForgottenRevokeParams, t.ForgottenRevokeResult, ("storageFailed", "draining"),
    stability="experimental",
)  # fmt: skip
CLEANUP: Final = Method(
    "session/cleanup",
    t.CleanupParams,
    t.CleanupResult,
    ("idReused", "storageFull", "storageFailed", "draining"),
)
TRASH_PURGE: Final = Method(
    "trash/purge",
    t.PurgeParams,
    t.PurgeResult,
    ("sessionNotFound", "idReused", "storageFailed", "draining"),
)
SUBSCRIBE: Final = Method("session/subscribe", t.SubscribeParams, t.SubscribeResult, _READ)
UNSUBSCRIBE: Final = Method("session/unsubscribe", t.UnsubscribeParams, t.UnsubscribeResult)
FLUSH: Final = Method(
    "session/flush", t.FlushParams, t.FlushResult,
    ("sessionNotFound", "sessionTrashed", "storageFull", "storageFailed"),
)  # fmt: skip
STATE_GET: Final = Method(
    "state/get", t.StateGetParams, t.StateGetResult, (*_READ, "entryNotFound"), stability="experimental"
)
STATE_UPDATE: Final = Method(
    "state/update",
    t.StateUpdateParams,
    t.StateUpdateResult,
    (*_WRITE, "idReused", "invalidEntry"),
    stability="experimental",
)
STATE_BEGIN_TASK: Final = Method(
    "state/beginTask",
    t.StateBeginTaskParams,
    t.StateBeginTaskResult,
    (*_WRITE, "idReused", "invalidEntry"),
    stability="experimental",
)
VIEW_PAGE: Final = Method(
    "view/page", t.ViewPageParams, t.ViewPageResult, (*_READ, "cursorExpired"), stability="experimental"
)
VIEW_PATH: Final = Method(
    "view/path", t.ViewPathParams, t.ViewPathResult, (*_READ, "entryNotFound"), stability="experimental"
)
VIEW_DOCUMENT: Final = Method(
    "view/document", t.ViewDocumentParams, t.ViewDocumentResult, stability="experimental"
)
VIEW_ENTRY: Final = Method(
    "view/entry", t.ViewEntryParams, t.ViewEntryResult, (*_READ, "entryNotFound"), stability="experimental"
)
HISTORY_ADD: Final = Method(
    "history/add", t.HistoryAddParams, t.HistoryAddResult, ("idReused", "storageFailed", "draining")
)
HISTORY_IMPORT: Final = Method(
    "history/import", t.HistoryImportParams, t.HistoryImportResult, ("storageFailed", "draining")
)
HISTORY_LIST: Final = Method(
    "history/list", t.HistoryListParams, t.HistoryListResult, ("cursorExpired", "storageFailed", "draining")
)
HISTORY_DELETE: Final = Method(
    "history/delete", t.HistoryDeleteParams, t.HistoryDeleteResult, ("idReused", "storageFailed", "draining")
)
BLOB_PUT: Final = Method(
    "blob/put", t.BlobPutParams, t.BlobPutResult, ("storageFull", "storageFailed", "draining")
)
BLOB_GET: Final = Method(
    "blob/get", t.BlobGetParams, t.BlobGetResult, ("blobNotFound", "blobDamaged", "storageFailed")
)
BLOB_COLLECT: Final = Method(
    "blob/collect", t.BlobCollectParams, t.BlobCollectResult, ("idReused", "storageFailed", "draining")
)
STATUS: Final = Method("server/status", t.StatusParams, t.StatusResult)
CLIENTS: Final = Method("server/clients", t.ClientsParams, t.ClientsResult)
DOCTOR: Final = Method("server/doctor", t.DoctorParams, t.DoctorResult, ("draining",))
STOP: Final = Method("server/stop", t.StopParams, t.StopResult)
AUTHENTICATE: Final = Method(
    "server/authenticate", t.AuthenticateParams, t.AuthenticateResult, ("unauthenticated",)
)
DRAIN: Final = Method("server/drain", t.DrainParams, t.DrainResult)
HELLO: Final = Method("server/hello", t.HelloParams, t.HelloResult, ("unsupportedVersion",))
WATCH: Final = Method("server/watch", t.WatchParams, t.WatchResult)
UNWATCH: Final = Method("server/unwatch", t.UnwatchParams, t.UnwatchResult)

AGENT_LIST: Final = Method("agent/list", t.AgentListParams, t.AgentListResult, stability="experimental")
AGENT_FOLLOW: Final = Method(
    "agent/follow", t.AgentFollowParams, t.AgentFollowResult, ("storageFailed",), stability="experimental"
)
AGENT_UNFOLLOW: Final = Method(
    "agent/unfollow", t.AgentUnfollowParams, t.AgentFollowResult, ("storageFailed",), stability="experimental"
)
AGENT_FORGET: Final = Method(
    "agent/forget", t.AgentForgetParams, t.AgentForgetResult, ("storageFailed", "draining"),
    stability="experimental",
)  # fmt: skip
AGENT_WAKE: Final = Method("agent/wake", t.AgentWakeParams, t.AgentWakeResult, stability="experimental")

SYNC_POSITIONS: Final = Method(
    "sync/positions",
    t.SyncPositionsParams,
    t.SyncPositionsResult,
    ("storageFailed",),
    stability="experimental",
)
SYNC_IDS: Final = Method("sync/ids", t.SyncIdsParams, t.SyncIdsResult, _READ, stability="experimental")
SYNC_LINES: Final = Method(
    "sync/lines", t.SyncLinesParams, t.SyncLinesResult, _READ, stability="experimental"
)
SYNC_PUT: Final = Method(
    "sync/put",
    t.SyncPutParams,
    t.SyncPutResult,
    (*_WRITE, "alreadyExists", "tooLarge"),
    stability="experimental",
)
BLOB_MISSING: Final = Method(
    "blob/missing", t.BlobMissingParams, t.BlobMissingResult, ("storageFailed", "draining"),
    stability="experimental",
)  # fmt: skip

METHODS: Final[dict[str, Method[t.Wire, t.Wire]]] = {
    method.name: method  # type: ignore[misc]
    for method in (
        CREATE, OPEN, CLOSE, CONTINUE, LIST, RESOLVE, SEARCH, RECALL, INFO, STATS, COMPARE, APPEND, ENTRIES, PATH, TREE,
        LABELS,
        CONTEXT,
        PREPARE_COMPACTION, COMPACT, CONFIGURE, PREPARE_BRANCH, BRANCH, FORK, IMPORT, EXPORT, RESUME, LABEL,
        RENAME, TAG,
        SUBSCRIBE, UNSUBSCRIBE, WATCH_TREE, FLUSH,
        MOVE, DELETE, CLEANUP, TRASH_LIST, TRASH_RESTORE, TRASH_PURGE,
        FORGOTTEN_LIST, FORGOTTEN_REVOKE,
        STATE_GET, STATE_UPDATE, STATE_BEGIN_TASK, VIEW_PAGE, VIEW_PATH, VIEW_DOCUMENT, VIEW_ENTRY,
        HISTORY_LIST, HISTORY_ADD, HISTORY_IMPORT, HISTORY_DELETE, BLOB_PUT, BLOB_GET, BLOB_COLLECT, REDACT,
        AGENT_LIST, AGENT_FOLLOW, AGENT_UNFOLLOW, AGENT_FORGET, AGENT_WAKE, USAGE_REPORT, STORAGE_REPORT,
        STORAGE_AGENTS, STORAGE_ARCHIVE, STORAGE_RECLAIM, STORAGE_GIVE_BACK, AGENT_VERIFY,
        BLOB_MISSING, SYNC_POSITIONS, SYNC_IDS, SYNC_LINES, SYNC_PUT,
        HELLO, WATCH, UNWATCH, STATUS, CLIENTS, DOCTOR, STOP, DRAIN, AUTHENTICATE,
    )
}  # fmt: skip

CREATED: Final = Notification("session/created", t.CreatedNote)
APPENDED: Final = Notification("session/appended", t.AppendedNote)
LEAF_MOVED: Final = Notification("session/leafMoved", t.LeafMovedNote)
CHANGED: Final = Notification("session/changed", t.ChangedNote)
DELETED: Final = Notification("session/deleted", t.DeletedNote)
RESTORED: Final = Notification("session/restored", t.RestoredNote)
SERVER_DRAINING: Final = Notification("server/draining", t.DrainingNote)
LAGGED: Final = Notification("session/lagged", t.LaggedNote)
CONTEXT_FILLED: Final = Notification("session/contextFilled", t.ContextFilledNote)
SESSIONS_CHANGED: Final = Notification("server/sessionsChanged", t.SessionsChangedNote)
WATCH_LAPSED: Final = Notification("server/watchLapsed", t.WatchLapsedNote)
TREE_CHANGED: Final = Notification("session/treeChanged", t.TreeChangedNote)
TREE_LAPSED: Final = Notification("session/treeLapsed", t.TreeLapsedNote)

NOTIFICATIONS: Final[dict[str, Notification[t.Wire]]] = {
    note.name: note  # type: ignore[misc]
    for note in (
        CREATED, APPENDED, LEAF_MOVED, CHANGED, DELETED, RESTORED, LAGGED, CONTEXT_FILLED, SERVER_DRAINING,
        SESSIONS_CHANGED, WATCH_LAPSED, TREE_CHANGED, TREE_LAPSED,
    )
}  # fmt: skip

SUMMARIZE: Final = Method("client/summarize", t.SummarizeParams, t.SummarizeResult)

CLIENT_METHODS: Final[dict[str, Method[t.Wire, t.Wire]]] = {SUMMARIZE.name: SUMMARIZE}  # type: ignore[dict-item]
"""The requests that the server may send to a client that declared them."""

PROGRESS: Final = "$/progress"
"""LSP's notification for long requests, of shape `t.ProgressNote`. Both sides may send it."""
