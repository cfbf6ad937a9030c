"""The coroutines of the Python client: the method that each one calls, and its positional params."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """One coroutine. `method` is the constant of `protocol.methods`, `places` are its params in order."""

    method: str
    name: str
    places: tuple[str, ...] = ()
    required: str = ""  # a param that has a default on the wire, and none here
    spread: str = ""  # a list that is given as `*name`
    without: tuple[str, ...] = ("terminal",)  # already given by `initialize` or another param
    in_this_folder: bool = False  # `cwd` is the folder of this process by default


@dataclass(frozen=True)
class Topic:
    """One generated file and its class."""

    name: str
    title: str
    about: str
    calls: tuple[Call, ...]
    base: str = "Methods"
    base_module: str = field(default="base")


BY_HAND = ("HELLO", "APPEND", "BLOB_PUT", "BLOB_GET", "SUBSCRIBE", "UNSUBSCRIBE", "WATCH")
"""Methods that hand-written code of `sessiond.client` calls.

It makes the handshake, gives ids to entries, and takes and returns bytes.
"""

NOT_CALLED = ("VIEW_DOCUMENT", "VIEW_PATH")
"""Methods that only editors need: a program reads `view/page` and shows the rows itself."""

TOPICS = (
    Topic(
        "sessions", "Whole sessions", "Requests about sessions as wholes.",
        (
            Call("CREATE", "create", ("cwd",), in_this_folder=True),
            Call("OPEN", "open", ("session_id",)),
            Call("CLOSE", "close", ("session_id",)),
            Call("CONTINUE", "continue_session", ("cwd",), in_this_folder=True),
            Call("LIST", "list_sessions", ("cwd",)),
            Call("RESOLVE", "resolve", ("query",)),
            Call("SEARCH", "search", ("query",)),
            Call("RECALL", "recall", ("question",)),
            Call("USAGE_REPORT", "usage_report"),
            Call("STORAGE_REPORT", "storage_report"),
            Call("STORAGE_AGENTS", "storage_of_agents"),
            Call("STORAGE_ARCHIVE", "archive_storage"),
            Call("STORAGE_RECLAIM", "reclaim_storage", ("agent",)),
            Call("STORAGE_GIVE_BACK", "give_back_storage", ("agent",)),
            Call("INFO", "info", ("session_id",)),
            Call("STATS", "stats", ("session_id", "leaf_id")),
            Call("COMPARE", "compare", ("session_id", "left_id", "right_id")),
            Call("FORK", "fork", ("session_id",)),
            Call("MOVE", "move", ("session_id", "cwd")),
            Call("RENAME", "rename", ("session_id", "title")),
            Call("TAG", "tag", ("session_id",)),
            Call("FLUSH", "flush", ("session_id",)),
        ),
    ),
    Topic(
        "entries", "The entries of a session", "Requests about the tree of entries.",
        (
            Call("ENTRIES", "entries", ("session_id",)),
            Call("PATH", "path", ("session_id", "leaf_id")),
            Call("TREE", "tree", ("session_id",)),
            Call("WATCH_TREE", "watch_tree", ("session_id",)),
            Call("UNWATCH", "unwatch", ("watch_id",)),
            Call("LABELS", "labels", ("session_id",)),
            Call("LABEL", "label", ("session_id", "entry_id", "label"), required="label"),
        ),
        "AppendMethods", "append",
    ),
    Topic(
        "context", "Context, compaction and branches",
        "Requests about what a model sees. Canceling a coroutine cancels its request.",
        (
            Call("CONTEXT", "context", ("session_id", "leaf_id")),
            Call("PREPARE_COMPACTION", "prepare_compaction", ("session_id", "leaf_id")),
            Call("COMPACT", "compact", ("session_id",)),
            Call("CONFIGURE", "configure", ("session_id",)),
            Call("PREPARE_BRANCH", "prepare_branch", ("session_id", "entry_id")),
            Call("BRANCH", "branch", ("session_id", "entry_id")),
        ),
    ),
    Topic(
        "state", "The working state", "Requests about the working state. Each point of the tree has its own.",
        (
            Call("STATE_GET", "state", ("session_id", "leaf_id")),
            Call("STATE_UPDATE", "update_state", ("session_id",)),
            Call("STATE_BEGIN_TASK", "begin_task", ("session_id",)),
        ),
    ),
    Topic(
        "views", "Views for people", "Requests for what people see of a session: a page, or an entry as a document.",
        (
            Call("VIEW_PAGE", "view_page", ("session_id",)),
            Call("VIEW_ENTRY", "view_entry", ("session_id", "entry_id")),
            Call("REDACT", "redact", ("texts",)),
        ),
    ),
    Topic(
        "exchange", "Sessions of other programs", "Requests that import and export. Paths are absolute.",
        (
            Call("IMPORT", "import_sessions", ("paths",), required="paths", without=("path",)),
            Call("EXPORT", "export_session", ("session_id", "format")),
            Call("RESUME", "resume_session", ("session_id",)),
        ),
    ),
    Topic(
        "agents", "The agents on this machine", "Requests about agents whose sessions are followed.",
        (
            Call("AGENT_LIST", "list_agents"),
            Call("AGENT_FOLLOW", "follow_agents", ("agents",)),
            Call("AGENT_UNFOLLOW", "unfollow_agents", ("agents",)),
            Call("AGENT_FORGET", "forget_agent", ("agent",)),
            Call("AGENT_WAKE", "wake_agent", ("agent", "path")),
            Call("AGENT_VERIFY", "verify_agents", ("agents",)),
        ),
    ),
    Topic(
        "history", "The history of prompts", "Requests about the prompts that were typed, over all sessions.",
        (
            Call("HISTORY_ADD", "add_prompt", ("prompt",)),
            Call("HISTORY_IMPORT", "import_prompts", ("prompts",)),
            Call("HISTORY_LIST", "list_prompts", ("query",)),
            Call("HISTORY_DELETE", "delete_prompts", ("prompt_ids",)),
        ),
    ),
    Topic(
        "retention", "The end of sessions and blobs", "Requests that remove sessions and blobs, and restore sessions.",
        (
            Call("DELETE", "delete", ("session_id",)),
            Call("TRASH_RESTORE", "restore", ("session_id",)),
            Call("CLEANUP", "cleanup"),
            Call("TRASH_PURGE", "purge", ("session_id",)),
            Call("TRASH_LIST", "trash"),
            Call("FORGOTTEN_LIST", "forgotten"),
            Call("FORGOTTEN_REVOKE", "revoke_forgotten", ("session_ids",)),
            Call("BLOB_COLLECT", "collect_blobs"),
        ),
    ),
    Topic(
        "sync", "The union of two stores", "Requests that bring the sessions of two machines together.",
        (
            Call("SYNC_POSITIONS", "sync_positions"),
            Call("SYNC_IDS", "sync_ids", ("session_id",)),
            Call("SYNC_LINES", "sync_lines", ("session_id",)),
            Call("SYNC_PUT", "sync_put", ("session_id", "lines")),
            Call("BLOB_MISSING", "missing_blobs", ("hashes",)),
        ),
    ),
    Topic(
        "process", "The daemon itself", "Requests about the daemon as a process.",
        (
            Call("STATUS", "status"),
            Call("CLIENTS", "clients"),
            Call("DOCTOR", "doctor", spread="paths"),
            Call("STOP", "stop"),
            Call("AUTHENTICATE", "authenticate", ("token",)),
            Call("DRAIN", "drain"),
        ),
    ),
)  # fmt: skip
