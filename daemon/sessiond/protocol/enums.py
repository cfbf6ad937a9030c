"""The enumerations of the protocol: for each the values, what it is, and what each value means.

Params use an enumeration as a type: the daemon rejects any other value. Results and notifications use
`Annotated[str, opened("Name")]`: later versions add values, so a client accepts any string and treats a value that it
does not know as it treats an unknown kind of thing.

The text below each alias is its documentation. Its list has one item for each value. Two enumerations never have the
same values, because the schema recognizes an enumeration by them.
"""

from typing import Literal

from msgspec import Meta


def opened(name: str) -> Meta:
    """Return the annotation of a string that has the values of an enumeration, and may have others later.

    Args:
        name: The name of the enumeration in this module.
    """
    return Meta(extra_json_schema={"x-enum": name})


Durability = Literal["synced", "written"]
"""The level that entries reach before the response to an append is sent.

- `synced`: the lines are on the disk: they survive a power cut.
- `written`: the lines are in the file: they survive the end of the daemon, and a sync follows within a second.
"""

Format = Literal["agent", "openai", "openai-responses", "anthropic", "google"]
"""The format of messages.

- `agent`: the agents' own format, as entries store it.
- `openai`: messages of OpenAI's chat completions.
- `openai-responses`: items of OpenAI's Responses API.
- `anthropic`: messages of Anthropic's Messages API.
- `google`: contents of Google's Gemini API.
"""

Filter = Literal["default", "noTools", "userOnly", "labeledOnly", "all"]
"""Which entries of a tree are visible.

- `default`: all but settings and other entries that are not part of the conversation.
- `noTools`: as `default`, without tool results.
- `userOnly`: only the user's messages.
- `labeledOnly`: only entries with a label.
- `all`: every entry.
"""

Layout = Literal["log", "path"]
"""How the rows of a tree are ordered.

- `log`: in preorder, with children in log order.
- `path`: the path to the leaf without indentation, and other branches beside it, folded or open.
"""

WriteBlockReason = Literal[
    "damaged",
    "newerVersion",
    "permissionDenied",
    "readOnlyDisk",
    "diskFull",
    "failed",
    "notSynced",
    "replaced",
    "storeUnreachable",
]
"""Why a session accepts no writes at present.

- `damaged`: the header cannot be read.
- `newerVersion`: the format is newer than version 3.
- `permissionDenied`: the file is not writable.
- `readOnlyDisk`: the disk is read-only.
- `diskFull`: the disk is full.
- `failed`: the last write failed for another reason.
- `notSynced`: the disk could not make the last writes durable, and could not store a new file.
- `replaced`: another program truncated, replaced or removed the file.
- `storeUnreachable`: the server that stores the session cannot be reached.
"""

OriginKind = Literal["client", "foreign", "daemon"]
"""The cause of a change.

- `client`: a request of a client.
- `foreign`: another program wrote to the file, or another daemon to the same store.
- `daemon`: the daemon itself, for example an automatic compaction.
"""

OnConflict = Literal["reject", "branch"]
"""The effect of an append if the leaf is not the expected one.

- `reject`: it fails with `leafConflict`.
- `branch`: the entries become a sibling branch below the expected leaf.
"""

AppendPlacement = Literal["leaf", "root", "parent"]
"""Where the first entry of an append is placed, for clients that cannot tell an absent parameter from null.

- `leaf`: below the session's leaf, as without `parentId`.
- `root`: as a root, as with `parentId` null.
- `parent`: below the entry that `parentId` names.
"""

AppendStatus = Literal["created", "duplicate"]
"""The result for one entry of an append.

- `created`: the entry was stored now.
- `duplicate`: the same entry is stored already.
"""

Direction = Literal["forward", "backward"]
"""The order in which entries are read.

- `forward`: the oldest first: from the first line, or from the root.
- `backward`: the newest first: from the last line, or from the leaf.
"""

ForkPosition = Literal["at", "before"]
"""Where the copied path of a fork ends.

- `at`: at the entry, which is copied.
- `before`: before the entry, which is not copied.
"""

UsageGrouping = Literal["day", "model", "agent", "project"]
"""The subject of each row of a report of usage.

- `day`: a day in the time zone of the report.
- `model`: a model of a provider.
- `agent`: the agent that the sessions were read from.
- `project`: the project of the sessions.
"""

GapKind = Literal["unread", "refused", "behind", "noSession", "incomplete", "different", "unreadable"]
"""The reason why a source is not here whole.

- `unread`: it was not read yet.
- `refused`: it is not read; the message says why.
- `behind`: it was just written, and its last entries are not read yet.
- `noSession`: its session is neither here nor in the trash.
- `incomplete`: its session lacks entries.
- `different`: its session has entries with other content.
- `unreadable`: it could not be compared.
"""

ListSort = Literal["updated", "created", "title"]
"""The order of a list of sessions.

- `updated`: the most recently updated session first.
- `created`: the most recently created session first.
- `title`: by title, in the order of its characters.
"""

ListSnapshotReason = Literal["noPosition", "otherEpoch", "tooOld", "beyondEnd"]
"""Why a client that watches a list has to read it again.

- `noPosition`: the request has no position to continue after.
- `otherEpoch`: another daemon counted the changes up to this position.
- `tooOld`: more sessions have changed since the position than the server remembers.
- `beyondEnd`: the list has not reached this position.
"""

WatchLapseReason = Literal["tooOld", "daemonEnded"]
"""Why a watch of a list ended.

- `tooOld`: more sessions have changed than the server remembers while the client did not read.
- `daemonEnded`: the daemon ended, and `attach` connected the client to another one.
"""

TreeLapseReason = Literal["otherLog", "closed", "deleted", "outOfSight", "unreadable", "daemonEnded"]
"""Why a watch of a tree ended.

- `otherLog`: the file of the session was replaced or rewritten.
- `closed`: the session was closed.
- `deleted`: the session moved to the trash.
- `outOfSight`: the rows of a watch with a `limit` have moved to other places, or are more than four times the limit.
- `unreadable`: the session cannot be read.
- `daemonEnded`: the daemon ended, and `attach` connected the client to another one.
"""

Lifecycle = Literal["complete", "interrupted", "aborted", "error", "empty"]
"""The state of the last turn of a session.

- `complete`: the turn is complete.
- `interrupted`: a prompt or a tool result has no answer, a tool call has no result, or the answer was cut at its
  length limit.
- `aborted`: a person aborted the turn.
- `error`: the turn ended in an error.
- `empty`: there is no message.
"""

SyncState = Literal["stored", "trashed", "purged"]
"""Where a session is that a sync compares.

- `stored`: it is in the folders of the sessions.
- `trashed`: it is in the trash.
- `purged`: it was deleted for good, and only its position is known.
"""

ContinueReason = Literal["breadcrumb", "recent", "created"]
"""The rule by which `session/continue` chose the session.

- `breadcrumb`: the terminal used it last in the folder.
- `recent`: it is the most recently updated session of the folder that no other living terminal holds.
- `created`: it is new.
"""

SessionChange = Literal[
    "isDraft", "title", "tags", "labels", "path", "cwd", "readOnly", "writeBlock", "origin"
]
"""A part of a session that `session/changed` reports.

- `isDraft`: the draft session became a session.
- `title`: the title.
- `tags`: the tags.
- `labels`: the labels of entries.
- `path`: the path of the file.
- `cwd`: the folder that the session belongs to.
- `readOnly`: whether the session can be written.
- `writeBlock`: the reason why the session accepts no writes at present.
- `origin`: whether the file of the agent that it was read from exists.
"""

ResumeMode = Literal["replay", "snapshot"]
"""How a subscription closes the gap since the position that the client knows.

- `replay`: the daemon sends the lines of the gap.
- `snapshot`: the daemon sends no line of the gap, and the client reads the present state.
"""

SnapshotReason = Literal["noPosition", "otherLog", "pastEnd", "tooLarge"]
"""Why a subscription begins with a snapshot.

- `noPosition`: the request has no `after`.
- `otherLog`: the position is in another log: the file was replaced, truncated or migrated.
- `pastEnd`: the position is after the last line of the log.
- `tooLarge`: the lines of the gap have too many bytes for a replay.
"""

Framing = Literal["contentLength", "jsonLines", "memory"]
"""How messages are delimited on a connection.

- `contentLength`: by a header with the length, as in LSP.
- `jsonLines`: one message on each line.
- `memory`: not at all: the client runs in the process of the daemon.
"""

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which positions in a text are counted. The names are those of LSP.

- `utf-8`: bytes in UTF-8.
- `utf-16`: UTF-16 code units, as strings of JavaScript and Java.
- `utf-32`: Unicode code points, as strings of Python.
"""

Access = Literal["read", "write", "admin"]
"""The permissions of a client.

- `read`: requests that change nothing.
- `write`: requests that change sessions, blobs, the history or the trash.
- `admin`: requests about the daemon and other clients, such as `server/stop`.
"""

Fate = Literal["in", "changed", "out"]
"""Whether an entry of the path is in the context.

- `in`: it is in the context as it is stored.
- `changed`: it is in the context in another form.
- `out`: it is not in the context.
"""

SummarizedBy = Literal["given", "client", "command"]
"""The origin of a summary.

- `given`: the request had the summary.
- `client`: a client wrote it.
- `command`: the configured command wrote it.
"""

Summarizer = Literal["client", "command"]
"""The present writer of summaries for a session.

- `client`: a client that declared `summarize`.
- `command`: the configured command.
"""

SummaryPurpose = Literal["compaction", "branch"]
"""The purpose of a summary.

- `compaction`: it replaces the older part of the context.
- `branch`: it describes the branch that the leaf leaves.
"""

NoCutReason = Literal["alreadyCompacted", "nothingToSummarize", "callsUnanswered"]
"""Why a session cannot be compacted now.

- `alreadyCompacted`: the leaf is a compaction.
- `nothingToSummarize`: all entries are recent enough to stay.
- `callsUnanswered`: tool calls wait for their results.
"""

FindingSeverity = Literal["error", "warning", "note"]
"""The severity of a finding of the doctor.

- `error`: damage, or a condition that prevents work.
- `warning`: a condition that may become an error.
- `note`: information only.
"""

# --- Formats: written by scripts/gen_agents.py ---
Dialect = Literal[
    "pi",
    "pi4",
    "operator",
    "go",
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "qwen",
    "copilot",
    "cursor",
    "cline",
    "nova",
]
"""A session format that can be imported.

- `pi`: the v3 format of pi and oh-my-pi, in which sessiond stores sessions.
- `pi4`: the v4 format of pi.
- `operator`: Operator's format.
- `go`: the format of go-sessions.
- `claude-code`: the transcripts of Claude Code.
- `codex`: the rollouts of Codex.
- `gemini`: the sessions of Gemini CLI.
- `opencode`: the sessions of OpenCode, as its `export` writes them or in its database.
- `qwen`: the sessions of Qwen Code.
- `copilot`: the events of Copilot CLI.
- `cursor`: the transcripts of Cursor's agent.
- `cline`: the messages of Cline, of its command-line program or of its extension for VS Code.
- `nova`: NOVA's working state.
"""

ExportFormat = Literal[
    "jsonl",
    "markdown",
    "html",
    "operator",
    "go",
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "qwen",
    "pi",
    "oh-my-pi",
    "nova",
]
"""A format that a session can be exported to. The agents' formats have one path, and are for these agents to resume.

- `jsonl`: the v3 format of pi and oh-my-pi.
- `markdown`: a transcript of one path.
- `html`: a page with the whole tree.
- `operator`: Operator's format.
- `go`: the format of go-sessions.
- `claude-code`: a session of Claude Code, for a file named after its `sessionId`.
- `codex`: a rollout of Codex.
- `gemini`: a session of Gemini CLI.
- `opencode`: a document for `opencode import`.
- `qwen`: a session of Qwen Code, for a file named after its `sessionId`.
- `pi`: a session of pi.
- `oh-my-pi`: a session of oh-my-pi.
- `nova`: NOVA's working state at one point.
"""
# --- End of the formats ---

ImportStatus = Literal["created", "grown", "unchanged"]
"""The result of an import for one file.

- `created`: a new session has its content.
- `grown`: lines were added to the session of an earlier import.
- `unchanged`: the file has no new lines.
"""

CleanupLimit = Literal["age", "count", "size"]
"""The limit that a session exceeds.

- `age`: it is older than the maximum age.
- `count`: more sessions than the maximum number are newer.
- `size`: it, or it and newer ones, have more bytes than the maximum.
"""

SkipReason = Literal["open", "labeled", "readOnly"]
"""Why a session that exceeds a limit stays.

- `open`: a client or a living terminal uses it.
- `labeled`: it has labels.
- `readOnly`: it cannot be written.
"""

TreeRule = Literal["noToolSplit", "firstKeptOnPath"]
"""A rule that a compaction violates.

- `noToolSplit`: a tool call stays with its result, and tool calls without results stay in the context.
- `firstKeptOnPath`: `firstKeptEntryId` is on the path that the compaction ends.
"""

ProgressKind = Literal["begin", "report", "end"]
"""A step of a long request.

- `begin`: the first step.
- `report`: a further step.
- `end`: the last step.
"""
