"""The params, results and notifications of the protocol.

The docstring of a Params class documents its method. Field names are camelCase on the wire. The server sends every
field of a result; a field of params that is absent has its default. Entries are sent exactly as they are stored
(`Entry`), so clients receive fields that sessiond does not know unchanged.
"""

from sessiond.protocol.enums import (
    Dialect as Dialect,
    Durability as Durability,
    ExportFormat as ExportFormat,
    Filter as Filter,
    FindingSeverity as FindingSeverity,
    Format as Format,
    Lifecycle as Lifecycle,
    SummarizedBy as SummarizedBy,
    WriteBlockReason as WriteBlockReason,
)
from sessiond.protocol.types.blobs import (
    BlobCollectParams as BlobCollectParams,
    BlobCollectResult as BlobCollectResult,
    BlobGetParams as BlobGetParams,
    BlobGetResult as BlobGetResult,
    BlobInfo as BlobInfo,
    BlobPutParams as BlobPutParams,
    BlobPutResult as BlobPutResult,
    Hash as Hash,
    MissingBlob as MissingBlob,
)
from sessiond.protocol.types.branching import (
    BranchParams as BranchParams,
    BranchResult as BranchResult,
    PrepareBranchParams as PrepareBranchParams,
    PrepareBranchResult as PrepareBranchResult,
)
from sessiond.protocol.types.compaction import (
    CompactionChoice as CompactionChoice,
    CompactionSettings as CompactionSettings,
    CompactParams as CompactParams,
    CompactResult as CompactResult,
    ConfigureParams as ConfigureParams,
    ConfigureResult as ConfigureResult,
    FileOperations as FileOperations,
    PrepareCompactionParams as PrepareCompactionParams,
    PrepareCompactionResult as PrepareCompactionResult,
    SummarizeParams as SummarizeParams,
    SummarizeResult as SummarizeResult,
)
from sessiond.protocol.types.context import (
    ContextParams as ContextParams,
    ContextResult as ContextResult,
    Explained as Explained,
)
from sessiond.protocol.types.doctor import (
    DoctorParams as DoctorParams,
    DoctorResult as DoctorResult,
    Examined as Examined,
    Finding as Finding,
    FindingCount as FindingCount,
    FindingLocation as FindingLocation,
)
from sessiond.protocol.types.exchange import (
    ExportParams as ExportParams,
    ExportResult as ExportResult,
    ImportedSession as ImportedSession,
    ImportParams as ImportParams,
    ImportProblem as ImportProblem,
    ImportResult as ImportResult,
    Loss as Loss,
    Redaction as Redaction,
    SkippedFile as SkippedFile,
)
from sessiond.protocol.types.handshake import (
    ClientCapabilities as ClientCapabilities,
    Handshake as Handshake,
    InitializeOptions as InitializeOptions,
    Limits as Limits,
    LspOptions as LspOptions,
    SummarizeCapability as SummarizeCapability,
)
from sessiond.protocol.types.history import (
    HistoryAddParams as HistoryAddParams,
    HistoryAddResult as HistoryAddResult,
    HistoryRecentParams as HistoryRecentParams,
    HistoryResult as HistoryResult,
    HistorySearchParams as HistorySearchParams,
    Prompt as Prompt,
)
from sessiond.protocol.types.notes import (
    AppendedNote as AppendedNote,
    ChangedNote as ChangedNote,
    ContextFilledNote as ContextFilledNote,
    CreatedNote as CreatedNote,
    DeletedNote as DeletedNote,
    LaggedNote as LaggedNote,
    LeafMovedNote as LeafMovedNote,
    RestoredNote as RestoredNote,
)
from sessiond.protocol.types.progress import (
    Progress as Progress,
    ProgressNote as ProgressNote,
)
from sessiond.protocol.types.retention import (
    MOST_REPORTED as MOST_REPORTED,
    CleanedSession as CleanedSession,
    CleanupParams as CleanupParams,
    CleanupResult as CleanupResult,
    DeleteParams as DeleteParams,
    DeleteResult as DeleteResult,
    PurgeParams as PurgeParams,
    PurgeResult as PurgeResult,
    RestoreParams as RestoreParams,
    SkippedSession as SkippedSession,
    TrashedSession as TrashedSession,
    TrashListParams as TrashListParams,
    TrashListResult as TrashListResult,
)
from sessiond.protocol.types.search import (
    Hit as Hit,
    SearchParams as SearchParams,
    SearchResult as SearchResult,
)
from sessiond.protocol.types.server import (
    AuthenticateParams as AuthenticateParams,
    AuthenticateResult as AuthenticateResult,
    BlockedSession as BlockedSession,
    ClientInfo as ClientInfo,
    ClientsParams as ClientsParams,
    ClientsResult as ClientsResult,
    DrainParams as DrainParams,
    DrainResult as DrainResult,
    StatusParams as StatusParams,
    StatusResult as StatusResult,
    StopParams as StopParams,
    StopResult as StopResult,
)
from sessiond.protocol.types.sessions import (
    Because as Because,
    CloseParams as CloseParams,
    CloseResult as CloseResult,
    ContinueParams as ContinueParams,
    ContinueResult as ContinueResult,
    CreateParams as CreateParams,
    ForkParams as ForkParams,
    FormerFolder as FormerFolder,
    InfoParams as InfoParams,
    ListedSession as ListedSession,
    ListParams as ListParams,
    ListProblem as ListProblem,
    ListResult as ListResult,
    MoveParams as MoveParams,
    OpenParams as OpenParams,
    ResolveParams as ResolveParams,
    ResolveResult as ResolveResult,
    SessionResult as SessionResult,
)
from sessiond.protocol.types.shared import (
    After as After,
    Draft as Draft,
    Entry as Entry,
    EntryId as EntryId,
    Json as Json,
    Limit as Limit,
    Message as Message,
    Origin as Origin,
    Problem as Problem,
    ProgressToken as ProgressToken,
    Sent as Sent,
    Seq as Seq,
    SessionId as SessionId,
    SessionInfo as SessionInfo,
    Terminal as Terminal,
    Tokens as Tokens,
    Wire as Wire,
    WriteBlock as WriteBlock,
)
from sessiond.protocol.types.state import (
    Artifact as Artifact,
    Decision as Decision,
    NewDecision as NewDecision,
    PruneLimits as PruneLimits,
    StateBeginTaskParams as StateBeginTaskParams,
    StateBeginTaskResult as StateBeginTaskResult,
    StateGetParams as StateGetParams,
    StateGetResult as StateGetResult,
    StateMetrics as StateMetrics,
    StateUpdateParams as StateUpdateParams,
    StateUpdateResult as StateUpdateResult,
    WorkingState as WorkingState,
)
from sessiond.protocol.types.stats import (
    ComparedSide as ComparedSide,
    CompareParams as CompareParams,
    CompareResult as CompareResult,
    ContextUse as ContextUse,
    CostTotals as CostTotals,
    ModelStats as ModelStats,
    Stats as Stats,
    StatsParams as StatsParams,
    StatsResult as StatsResult,
    TokenTotals as TokenTotals,
)
from sessiond.protocol.types.tree import (
    Appended as Appended,
    AppendParams as AppendParams,
    AppendResult as AppendResult,
    ChangeResult as ChangeResult,
    EntriesParams as EntriesParams,
    EntriesResult as EntriesResult,
    LabelParams as LabelParams,
    PathParams as PathParams,
    RenameParams as RenameParams,
    TagParams as TagParams,
    TreeNode as TreeNode,
    TreeParams as TreeParams,
    TreeResult as TreeResult,
)
from sessiond.protocol.types.views import (
    PageFigures as PageFigures,
    PageMark as PageMark,
    PageRow as PageRow,
    PageSession as PageSession,
    ViewDocumentParams as ViewDocumentParams,
    ViewDocumentResult as ViewDocumentResult,
    ViewEntryParams as ViewEntryParams,
    ViewEntryResult as ViewEntryResult,
    ViewPageParams as ViewPageParams,
    ViewPageResult as ViewPageResult,
)
from sessiond.protocol.types.watching import (
    FlushParams as FlushParams,
    FlushResult as FlushResult,
    SubscribeParams as SubscribeParams,
    SubscribeResult as SubscribeResult,
    UnsubscribeParams as UnsubscribeParams,
    UnsubscribeResult as UnsubscribeResult,
)
