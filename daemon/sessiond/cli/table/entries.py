"""Declarations of the commands for the entries of a session."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import CURSOR, INSTRUCTIONS, JSON

COMMANDS: dict[str, Command] = {
    "tree": Command(
        "Draw the tree of a session",
        "tree:tree",
        ("[ID]",),
        (
            Option("filter", "NAME", "default, noTools, userOnly, labeledOnly or all", short="f"),
            Option("query", "TEXT", "only rows with all these words", short="q"),
            Option("root", "ENTRY", "only this entry and its descendants"),
            Option("expand", "", "draw all rows of branches that are not on the path to the leaf", short="e"),
            Option("ascii", "", "draw with plain characters"),
            Option(
                "interactive",
                "",
                "browse the tree on the full screen; branch, fork and label there",
                short="i",
            ),
            Option("at", "ENTRY", "with -i: start at this entry (default: the leaf)"),
            Option("limit", "N", "maximum rows in a page of --json", short="n"),
            CURSOR,
            JSON,
        ),
        "The path to the leaf is drawn without indentation. Each other branch is one row with the number of its other "
        "rows; `--root ENTRY` draws it.",
        examples=("sessiond tree -i", "sessiond tree -i --filter userOnly --at 4f0c21aa"),
        paged=True,
    ),
    "view": Command(
        "Show a session in the browser, with live updates",
        "view:view",
        ("[ID]",),
        (
            Option("port", "N", "serve the page on this port of 127.0.0.1 (default: a free one)"),
            Option("no-open", "", "only print the address of the page"),
            Option("json", "", "print the address as JSON"),
        ),
        "The address contains a token that is valid once; the tab that opened it can be reloaded. Other users of this "
        "machine or network cannot open the page.",
    ),
    "append": Command(
        "Add entries to a session and print their ids",
        "append:append",
        ("[ID]",),
        (
            Option("user", "TEXT", "a user message; - reads it from standard input"),
            Option("assistant", "TEXT", "an assistant message; - reads it from standard input"),
            Option("json-entry", "JSON", "any entry"),
            Option(
                "stdin", "", "entries from standard input: an object, an array or JSON lines (also: a lone -)"
            ),
            Option(
                "format",
                "NAME",
                "read entries as messages or responses of openai, openai-responses, anthropic or google",
            ),
            Option("model", "NAME", "provider/model of the --assistant messages"),
            Option("parent", "ENTRY", "append below this entry instead of the leaf"),
            Option("root", "", "append without a parent: start another root"),
            Option("expect", "ENTRY", "fail unless this entry is the leaf"),
            Option(
                "or-branch", "", "with --expect: if it is not, create a sibling branch instead of failing"
            ),
            Option("stay", "", "do not move the leaf"),
            Option("written", "", "return after the file is written, before it is synced to the disk"),
            JSON,
        ),
        "--user, --assistant and --json-entry may be mixed and repeated: all entries are added, in order, or none.",
        (
            "sessiond append --user 'Run the tests.'",
            "git log -1 | sessiond append --user -",
            "curl … | sessiond append --format openai -",
        ),
    ),
    "branch": Command(
        "Move the leaf to an earlier entry; the next entry starts a branch there",
        "branch:branch",
        ("[ID]", "ENTRY"),
        (
            Option("dry-run", "", "only show the entries that would be left behind"),
            Option(
                "summarize",
                "",
                "have the entries that are left behind summarized, and continue from the summary",
            ),
            Option("summary", "TEXT", "use this summary; - reads it from standard input"),
            INSTRUCTIONS,
            Option("expect", "ENTRY", "fail unless this entry is the leaf"),
            JSON,
        ),
        "If ENTRY is the word root, the leaf moves before the first entry. --summarize uses the same summarizer as"
        " sessiond compact.",
        ("sessiond branch 4f0c21aa --dry-run", "sessiond branch 4f0c21aa --summarize"),
        writes=("session/branch",),
    ),
    "diff": Command(
        "Compare two branches of a session: common ancestor, entries, files and tokens",
        "diff:diff",
        ("[ID]", "A", "B"),
        (
            Option("all", "", "show every entry of both branches", short="a"),
            Option("stat", "", "show only counts and files, no entries"),
            JSON,
        ),
        "A and B are the last entries of the branches: ids, prefixes of ids, labels, or @ for the leaf.",
        ("sessiond diff 'first try' @", "sessiond diff --stat 1e55f0b7 8c1d22e3"),
        paged=True,
    ),
    "label": Command(
        "Label an entry",
        "tree:label",
        ("[ID]", "ENTRY", "TEXT"),
        (JSON,),
        "An empty TEXT ('') removes the label.",
        writes=("session/label",),
    ),
    "watch": Command(
        "Follow a session: print entries as they arrive",
        "watch:watch",
        ("[ID]",),
        (
            Option("last", "N", "start with the last N lines of the log", short="n"),
            Option("since", "SEQ", "start after this line of the log"),
            Option("json", "", "print each notification as one line of JSON"),
        ),
        "It resumes after a restart of the daemon, without losing or repeating an entry. Ctrl-C ends it.",
    ),
}
