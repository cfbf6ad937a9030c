"""Every recorded answer of pi 1.5.2 and 1.6.0 and of oh-my-pi 18.3.4 that sessiond does not give, with the reason.

This is the one place of intended differences: a difference without a row fails the conformance test. So does
a row that no longer differs, or whose answer is another one. Answers are in short: the last entries that
speak in a context, ids of a path, or the fields that differ. Files are named as in support.golden.

`DIFFERENCES` are about what is seen in a file, `DIFFERENCES_IN_COMPACTION` about what would be done to make its
context shorter (support.peer_compaction): for each budget the fields of a cut, for each move and budget those of
what it leaves behind.
"""

from typing import Final, NamedTuple


class Difference(NamedTuple):
    """Our answer in place of that of one or both peers about a field of a recorded file."""

    peers: tuple[str, ...]
    case: str
    field: str
    answer: str
    why: str


PI: Final = ("pi-1.5.2", "pi-1.6.0")
OMP: Final = ("omp-18.3.4",)
BOTH: Final = PI + OMP

ROUND = "Bytes are the truth: a number beyond a double travels as it was written, where JavaScript rounds it."
BOM = "A byte order mark before the header does no harm."
RESET = "`reset_boundary` (oh-my-pi) starts the context anew; pi does not know it."
OMP_TYPES = (
    "`reset_boundary`, `shortSummary` and `tokensAfter` (oh-my-pi) mean what their owner means; pi does "
    "not know them."
)
DANGLING = "The context is what was said, as in pi. oh-my-pi takes out tool calls without a result."
FAILED = (
    "The context is what was said, as in pi. oh-my-pi leaves out turns that failed or were aborted, and "
    "their results."
)
EDIT = "`context_edit` (pi) changes the context, as its owner means it; oh-my-pi does not know it."
PI_TYPES = (
    "`context_edit`, `systemMessage` and system messages are treated as pi, their owner, does; and tool "
    "calls without a result stay."
)
CYCLE = (
    "Entries in a circle of parents are shown, with the first of them as a root; the peers' trees leave "
    "them out."
)
ENDLESS = "A walk ends where it would begin again; pi runs out of memory."
HUNG = "The tree is finite whatever the ids; both peers never answer."
TWICE = "Of entries with one id the last one is in the tree; the peers draw it once for each line."
EMPTY = (
    "A file without a header is never taken for a session, and no byte of it is changed; this peer "
    "writes a new header into it."
)
TITLE_OMP = (
    "`title_change` (oh-my-pi) says the title; pi does not know it, and oh-my-pi itself reads only its "
    "slot and header."
)
TITLE_PI = "`session_info` (pi) says the title; oh-my-pi does not know it."
TITLE_HEADER = "The header's `title` (seed, oh-my-pi) is the title; pi does not know it."
MODEL_PI = (
    "A model chosen in oh-my-pi's form of `model_change` is not overridden by the model of an answer (oh-my-pi "
    "#849), and only the role `default` is meant; pi takes what it understands, whichever comes last."
)
MODEL_OMP = "`provider` and `modelId` (pi) are a model change too; oh-my-pi does not know them."
SLOT = "oh-my-pi's title slot is read; pi refuses the file."
FUSED = (
    "Two entries fused in one line, or one with something behind it, are a line that is no entry, as in "
    "pi; oh-my-pi takes the first value and loses the rest at its next rewrite."
)
IDS = (
    "Ids are text, and not empty. A line with another id is reported and kept in the file, but nothing "
    "can name it."
)
OBJECT = "A line that is no entry is reported and kept in the file, but is no row of the tree."
SLOT_ELSEWHERE = "A title slot anywhere but in the first line is no entry: it has no id."
THROWS_OPEN = "One bad line does not keep a session shut; oh-my-pi throws."
THROWS = "An entry without a message says nothing; pi throws."
NULL = "Null content reads as empty, as in pi; oh-my-pi throws, or passes null on."
LEAF = (
    "A `leaf` line moves the leaf for good, and is part of no context; the peers do not know it and "
    "take the last line for the leaf."
)
LEVEL = "Without a level, thinking is off, as in oh-my-pi; pi passes null on."
HEADERS = "A second header is an entry of a type without meaning, as in oh-my-pi; pi skips it."

DIFFERENCES: Final = (
    Difference(BOTH, "conformance/big-numbers", "messages", "in 3 views, a2: q1 a1 q2 a2", ROUND),
    Difference(PI, "conformance/bom", "opens", "leaf a2", BOM),
    Difference(PI, "inputs/bom", "opens", "leaf a0000004", BOM),
    Difference(PI, "conformance/compaction-over-summaries", "messages", "in 2 views, q4: q4", RESET),
    Difference(PI, "conformance/entry-types-omp", "messages", "in 7 views, e24: e23 e24", OMP_TYPES),
    Difference(OMP, "conformance/compactions", "messages", "a1: q1 a1", DANGLING),
    Difference(OMP, "conformance/dangling-tool-call", "messages", "in 5 views, a2: q1 a1 r1 q2 a2", DANGLING),
    Difference(OMP, "conformance/linear", "messages", "a1: q1 a1", DANGLING),
    Difference(
        OMP,
        "inputs/dangling-toolcall",
        "messages",
        "in 2 views, current: a0000001 a0000002 a0000003 a0000004",
        DANGLING,
    ),
    Difference(
        OMP, "conformance/failed-turns", "messages", "in 9 views, a4: a1 q2 a2 q3 a3 r3 q4 a4", FAILED
    ),
    Difference(
        OMP,
        "pi-golden/02-entry-types",
        "messages",
        "in 2 views, afterError: d100001a d100001b d100001c d100001f d1000020 d100002e d100002f d1000030",
        FAILED,
    ),
    Difference(OMP, "conformance/context-edits", "messages", "in 6 views, x4: a1 q2 q3 q4", EDIT),
    Difference(
        OMP,
        "conformance/entry-types-pi",
        "messages",
        "in 8 views, e22: e20 e08 e09 e10 e14 e19 e21 e22",
        PI_TYPES,
    ),
    Difference(BOTH, "conformance/cycle-of-two", "roots", "['q1', 'q2']", CYCLE),
    Difference(BOTH, "conformance/cycle-of-two", "parents", "{'q2': None, 'a2': 'q2'}", CYCLE),
    Difference(BOTH, "conformance/cycle-off-the-path", "roots", "['q2', 'q1']", CYCLE),
    Difference(BOTH, "conformance/cycle-off-the-path", "parents", "{'q2': None, 'a2': 'q2'}", CYCLE),
    Difference(PI, "conformance/cycle-of-two", "error", "in 3 views, a2: q2 a2", ENDLESS),
    Difference(PI, "conformance/cycle-off-the-path", "error", "in 2 views, a2: q2 a2", ENDLESS),
    Difference(PI, "conformance/self-parent", "error", "in 2 views, q2: q2", ENDLESS),
    Difference(PI, "inputs/self-parent", "error", "in 2 views, current: a0000003", ENDLESS),
    Difference(BOTH, "conformance/duplicate-id-makes-a-cycle", "opens", "leaf q3", HUNG),
    Difference(BOTH, "conformance/duplicate-id-of-the-root", "roots", "['q1']", TWICE),
    Difference(BOTH, "conformance/empty", "opens", "damaged, read-only", EMPTY),
    Difference(OMP, "conformance/only-newlines", "opens", "damaged, read-only", EMPTY),
    Difference(OMP, "conformance/title-slot-alone", "opens", "damaged, read-only", EMPTY),
    Difference(BOTH, "inputs/empty", "opens", "damaged, read-only", EMPTY),
    Difference(BOTH, "conformance/entry-types-omp", "title", "Clockwork", TITLE_OMP),
    Difference(OMP, "conformance/entry-types-pi", "title", "Clock\nwork", TITLE_PI),
    Difference(PI, "conformance/header-with-unknown-fields", "title", "In the header", TITLE_HEADER),
    Difference(
        PI,
        "conformance/entry-types-omp",
        "settings",
        "in 22 views, e23: {'model': {'provider': 'anthropic', 'modelId': 'clock-model-1'}}",
        MODEL_PI,
    ),
    Difference(
        PI,
        "conformance/model-changes",
        "settings",
        "in 5 views, a3: {'model': {'provider': 'mistral', 'modelId': 'omp-form'}}",
        MODEL_PI,
    ),
    Difference(
        OMP,
        "conformance/entry-types-pi",
        "settings",
        "in 4 views, e04: {'models': {'default': 'anthropic/clock-model-1'}}",
        MODEL_OMP,
    ),
    Difference(
        OMP,
        "conformance/model-changes",
        "settings",
        "in 2 views, q2: {'models': {'default': 'openai/pi-form'}}",
        MODEL_OMP,
    ),
    Difference(
        OMP,
        "inputs/pi-model-change",
        "settings",
        "in 2 views, a00000aa: {'models': {'default': 'openai/gpt-4o'}}",
        MODEL_OMP,
    ),
    Difference(
        OMP,
        "inputs/v1-linear",
        "settings",
        "in 3 views, d1000006: {'models': {'default': 'openai/gpt'}}",
        MODEL_OMP,
    ),
    Difference(PI, "conformance/forked-by-omp-side", "opens", "leaf a91e97ae", SLOT),
    Difference(PI, "conformance/forked-by-omp-tip", "opens", "leaf 4756115f", SLOT),
    Difference(PI, "conformance/title-slot", "opens", "leaf a2", SLOT),
    Difference(PI, "inputs/omp-title-slot", "opens", "leaf a0000004", SLOT),
    Difference(OMP, "conformance/fused-lines", "entries", "['q1', 'a1', 'q2']", FUSED),
    Difference(OMP, "conformance/fused-lines", "parents", "{}", FUSED),
    Difference(OMP, "conformance/fused-lines", "leaf", "current: q2", FUSED),
    Difference(OMP, "conformance/fused-lines", "path", "current: q1 a1 q2", FUSED),
    Difference(OMP, "conformance/fused-lines", "messages", "current: q1 a1 q2", FUSED),
    Difference(OMP, "conformance/fused-lines", "view", "a2: there is no such entry", FUSED),
    Difference(BOTH, "conformance/ids-of-other-types", "entries", "['q1', 'q2', 'q3']", IDS),
    Difference(BOTH, "conformance/ids-of-other-types", "roots", "['q1', 'q2']", IDS),
    Difference(BOTH, "conformance/ids-of-other-types", "parents", "{'q2': None}", IDS),
    Difference(
        BOTH, "conformance/ids-of-other-types", "view", "in 2 views, null: there is no such entry", IDS
    ),
    Difference(BOTH, "conformance/ids-of-other-types", "path", "in 3 views, q3: q2 q3", IDS),
    Difference(BOTH, "conformance/ids-of-other-types", "messages", "in 3 views, q3: q2 q3", IDS),
    Difference(OMP, "conformance/ids-of-other-types", "settings", "in 3 views, q3: {'models': {}}", IDS),
    Difference(PI, "conformance/ids-of-other-types", "settings", "in 3 views, q3: {'model': None}", IDS),
    Difference(
        BOTH,
        "conformance/ids-with-special-characters",
        "entries",
        "['q/1 é', '__proto__', 'constructor', 'q5']",
        IDS,
    ),
    Difference(BOTH, "conformance/ids-with-special-characters", "roots", "['q/1 é', 'q5']", IDS),
    Difference(BOTH, "conformance/ids-with-special-characters", "parents", "{'q5': None}", IDS),
    Difference(BOTH, "conformance/ids-with-special-characters", "view", ": there is no such entry", IDS),
    Difference(BOTH, "conformance/missing-id", "entries", "['q1', 'q2']", IDS),
    Difference(BOTH, "conformance/missing-id", "parents", "{}", IDS),
    Difference(BOTH, "conformance/missing-id", "view", "undefined: there is no such entry", IDS),
    Difference(PI, "conformance/not-objects", "entries", "['q1', 'a1', 'q2', 'a2']", OBJECT),
    Difference(PI, "conformance/not-objects", "roots", "['q1']", OBJECT),
    Difference(PI, "conformance/not-objects", "parents", "{}", OBJECT),
    Difference(PI, "conformance/not-objects", "view", "undefined: there is no such entry", OBJECT),
    Difference(BOTH, "conformance/title-slot-second", "entries", "['q1', 'a1', 'q2', 'a2']", SLOT_ELSEWHERE),
    Difference(BOTH, "conformance/title-slot-second", "roots", "['q1']", SLOT_ELSEWHERE),
    Difference(BOTH, "conformance/title-slot-second", "parents", "{}", SLOT_ELSEWHERE),
    Difference(
        BOTH, "conformance/title-slot-second", "view", "undefined: there is no such entry", SLOT_ELSEWHERE
    ),
    Difference(OMP, "conformance/no-message-in-a-message", "opens", "leaf q2", THROWS_OPEN),
    Difference(OMP, "conformance/not-objects", "opens", "leaf a2", THROWS_OPEN),
    Difference(PI, "conformance/no-message-in-a-message", "error", "in 5 views, q2: q1 q2", THROWS),
    Difference(OMP, "conformance/null-content", "error", "in 3 views, q2: q1 a1 q2", NULL),
    Difference(OMP, "conformance/null-content", "messages", "q1: q1", NULL),
    Difference(BOTH, "conformance/leaf-line-of-operator", "leaf", "current: a1", LEAF),
    Difference(BOTH, "conformance/leaf-line-of-operator", "path", "current: q1 a1", LEAF),
    Difference(BOTH, "conformance/leaf-line-of-operator", "messages", "current: q1 a1", LEAF),
    Difference(BOTH, "conformance/leaf-line-reset", "leaf", "current: None", LEAF),
    Difference(BOTH, "conformance/leaf-line-reset", "path", "current: empty", LEAF),
    Difference(BOTH, "conformance/leaf-line", "leaf", "current: a1", LEAF),
    Difference(BOTH, "conformance/leaf-line", "path", "current: q1 a1", LEAF),
    Difference(BOTH, "inputs/operator-leaf", "leaf", "current: a0000002", LEAF),
    Difference(BOTH, "inputs/operator-leaf", "path", "current: a0000001 a0000002", LEAF),
    Difference(BOTH, "inputs/operator-leaf", "messages", "current: a0000001 a0000002", LEAF),
    Difference(PI, "conformance/model-from-messages", "settings", "t1: {'thinkingLevel': 'off'}", LEVEL),
    Difference(
        PI,
        "conformance/two-headers",
        "entries",
        "['q1', 'a1', '5e55104d-0000-4000-8000-000000000002', 'q2', 'a2']",
        HEADERS,
    ),
    Difference(
        PI, "conformance/two-headers", "roots", "['q1', '5e55104d-0000-4000-8000-000000000002']", HEADERS
    ),
    Difference(
        PI, "conformance/two-headers", "parents", "{'5e55104d-0000-4000-8000-000000000002': None}", HEADERS
    ),
)

RUN = (
    "A run of tools is not cut as long as at most twice the budget is kept: the cut is before the turn, or before "
    "words without calls. pi cuts in the run."
)
STANDS_FOR = (
    "The text that stands for a summary or a user's command in a summarizer's text has our own words."
)
PREFIX = (
    "A cut right before a turn cuts no turn, whatever settings stand between. pi takes the turn before it for one "
    "that is cut."
)
SILENT = (
    "The kept part begins with no message that says nothing, and with no label or `leaf` line: a fork takes these "
    "out."
)
AGAIN = "As long as nothing is said after a compaction there is nothing new to compact. pi cuts what was just kept."
ALL_FILES = (
    "The files of all that is left behind are told, also of what is too much for the prompt, and those that a tool "
    "touched by calls of its own."
)
AT_LEAST_ONE = (
    "The newest message is in the prompt even if it alone is beyond the budget; pi then summarizes nothing."
)
AT_LEAST_ONE_ALL_FILES = f"{AT_LEAST_ONE} {ALL_FILES}"
OPEN_CALL = "Nothing is compacted between a call and its result (decision 0018)."
NO_SYSTEM = "System messages are no part of what a branch summary is made of, so they do not count."
NO_SYSTEM_ALL_FILES = f"{NO_SYSTEM} {ALL_FILES}"
NO_LEAF_LINES = "`leaf` lines are shown nowhere."
HOOK = "Messages of oh-my-pi's roles count and are summarized as what they are; pi knows none of them."
SURROGATES = "A summarizer's text is well-formed: half a surrogate pair becomes U+FFFD."
RESULT_CUT = f"{STANDS_FOR} So has the note where a long result was cut."

DIFFERENCES_IN_COMPACTION: Final = (
    Difference(PI, "compaction/after-a-compaction", "rendered", "c1", STANDS_FOR),
    Difference(PI, "compaction/after-a-compaction", "cuts", "80: kept n1", RUN),
    Difference(PI, "compaction/after-a-compaction", "moves", "in 2, n6-k4/40: read new.py", ALL_FILES),
    Difference(PI, "compaction/after-an-extension", "rendered", "c1", STANDS_FOR),
    Difference(PI, "compaction/after-an-extension", "cuts", "80: kept n1", RUN),
    Difference(PI, "compaction/after-an-extension", "moves", "in 2, n6-k4/40: read new.py", ALL_FILES),
    Difference(PI, "compaction/between-call-and-result", "cuts", "80: kept e9", RUN),
    Difference(PI, "compaction/edits", "cuts", "40: prefix none", PREFIX),
    Difference(PI, "compaction/edits", "moves", "a5-q1/40: read gone.py", ALL_FILES),
    Difference(PI, "compaction/just-compacted", "rendered", "c1", STANDS_FOR),
    Difference(PI, "compaction/just-compacted", "moves", "in 2, c1-k1/40: modified kept.py", ALL_FILES),
    Difference(PI, "compaction/labeled-since-compacted", "rendered", "c1", STANDS_FOR),
    Difference(
        PI, "compaction/labeled-since-compacted", "cuts", "in 8, 100000: refused alreadyCompacted", AGAIN
    ),
    Difference(
        PI,
        "compaction/labeled-since-compacted",
        "moves",
        "l1-o1/40: read old.py, modified kept.py",
        ALL_FILES,
    ),
    Difference(PI, "compaction/left-behind", "cuts", "1: kept s3", SILENT),
    Difference(PI, "compaction/left-behind", "moves", "in 2, a5-q1/40: modified mod.py try.py", ALL_FILES),
    Difference(PI, "compaction/nothing-kept", "rendered", "c1", STANDS_FOR),
    Difference(PI, "compaction/nothing-kept", "moves", "in 2, n6-k4/40: read new.py", ALL_FILES),
    Difference(PI, "compaction/one-long-turn", "cuts", "200: kept e21", RUN),
    Difference(
        PI, "compaction/one-long-turn", "moves", "in 2, e30-e16/40: read a5.py a6.py a7.py", ALL_FILES
    ),
    Difference(PI, "compaction/roles", "rendered", "e5 e8 e10", RESULT_CUT),
    Difference(PI, "compaction/roles", "moves", "in 4, e14-e8/40: tokens 9", NO_SYSTEM_ALL_FILES),
    Difference(
        PI,
        "compaction/turns",
        "moves",
        "in 2, e28-e15/40: tokens 60, read clock3.py clock4.py clock5.py",
        AT_LEAST_ONE_ALL_FILES,
    ),
    Difference(PI, "compaction/usage-before-an-edit", "cuts", "in 2, 10: prefix none", PREFIX),
    Difference(PI, "conformance/compaction-over-summaries", "rendered", "k2 s2", STANDS_FOR),
    Difference(PI, "conformance/compactions-several", "rendered", "k4", STANDS_FOR),
    Difference(PI, "conformance/compactions", "rendered", "klater", STANDS_FOR),
    Difference(PI, "conformance/dangling-tool-call", "cuts", "in 2, 10: refused callsUnanswered", OPEN_CALL),
    Difference(PI, "conformance/entry-types-omp", "estimates", "fewer", RESET),
    Difference(PI, "conformance/entry-types-omp", "rendered", "fewer", RESET),
    Difference(PI, "conformance/entry-types-omp", "cuts", "in 2, 10: refused nothingToSummarize", RESET),
    Difference(PI, "conformance/entry-types-omp", "moves", "in 4, e24-e13/40: tokens 17", HOOK),
    Difference(PI, "conformance/entry-types-pi", "rendered", "e20 e08 e19", STANDS_FOR),
    Difference(PI, "conformance/entry-types-pi", "cuts", "10: kept e16", SILENT),
    Difference(PI, "conformance/entry-types-pi", "moves", "e22-e01/0: tokens 41", NO_SYSTEM),
    Difference(PI, "conformance/fork-source", "rendered", "k1", STANDS_FOR),
    Difference(PI, "conformance/forked-by-pi-tip", "rendered", "k1", STANDS_FOR),
    Difference(PI, "conformance/ids-of-other-types", "estimates", "fewer", IDS),
    Difference(PI, "conformance/ids-of-other-types", "rendered", "fewer", IDS),
    Difference(PI, "conformance/ids-of-other-types", "cuts", "1: summarized q2, tokens 3", IDS),
    Difference(
        PI,
        "conformance/ids-of-other-types",
        "moves",
        "in 4, q3-q1/40: left q2 q3, ancestor None, tokens 3",
        IDS,
    ),
    Difference(PI, "conformance/leaf-line-of-operator", "moves", "in 4, v1-q2/40: left a2", NO_LEAF_LINES),
    Difference(PI, "conformance/leaf-line-reset", "moves", "in 2, v1-a1/40: left none", NO_LEAF_LINES),
    Difference(PI, "conformance/leaf-line-then-entries", "cuts", "1: kept q4", SILENT),
    Difference(PI, "conformance/leaf-line-then-entries", "moves", "in 16, q4-q2/40: left q4", NO_LEAF_LINES),
    Difference(PI, "conformance/leaf-line", "moves", "in 6, v1-a1/40: left none", NO_LEAF_LINES),
    Difference(PI, "conformance/lone-surrogates", "rendered", "a1", SURROGATES),
    Difference(PI, "conformance/settings-along-a-path", "cuts", "1: prefix none", PREFIX),
    Difference(PI, "conformance/v3-hook-message", "estimates", "h1", HOOK),
    Difference(PI, "conformance/v3-hook-message", "rendered", "h1", HOOK),
    Difference(PI, "conformance/v3-hook-message", "cuts", "1: prefix h1", HOOK),
    Difference(PI, "conformance/v3-hook-message", "moves", "in 2, a1-q1/40: tokens 4", HOOK),
)
