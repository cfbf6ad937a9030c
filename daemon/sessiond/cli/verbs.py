"""Every verb of the command line: what it does, what it takes, where it is implemented."""

from sessiond.cli.arguments import Option, Verb

JSON = Option("json", "", "print the result exactly as the daemon sent it")
CURSOR = Option("cursor", "CURSOR", "go on where a page (--json) ended")
AT_LEAF = Option("leaf", "ENTRY", "at this entry instead of the session's leaf")

VERBS: dict[str, Verb] = {
    "new": Verb(
        "Start a session and print its id",
        "sessions:new",
        (),
        (
            Option("title", "TEXT", "what lists call it"),
            Option("tag", "WORD", "a word to filter by; may be repeated"),
            Option("id", "ID", "8 to 128 characters of A-Z a-z 0-9 _ - instead of a UUID"),
            Option("cwd", "DIR", "the folder it belongs to (default: this one)"),
            Option("parent", "ID", "the session it comes from"),
            Option("ephemeral", "", "keep it in memory only"),
            JSON,
        ),
        "Until its first assistant message a session is a draft: as durable as any other, hidden from lists.",
    ),
    "continue": Verb(
        "Find this terminal's session, say why that one, and print its id",
        "sessions:resume",
        (),
        (
            Option("cwd", "DIR", "the folder to look in (default: this one)"),
            Option("no-create", "", "fail when there is none instead of starting one"),
            JSON,
        ),
    ),
    "list": Verb(
        "List the sessions of this folder, newest first",
        "sessions:listing",
        (),
        (
            Option("all", "", "of all folders", short="a"),
            Option("cwd", "DIR", "of another folder"),
            Option("query", "TEXT", "with this in id, title, first prompt or folder", short="q"),
            Option("tag", "WORD", "with this tag; may be repeated"),
            Option("sort", "KEY", "updated (default), created or title"),
            Option("limit", "N", "at most so many (default: 50)", short="n"),
            Option("drafts", "", "drafts too"),
            CURSOR,
            JSON,
        ),
    ),
    "show": Verb(
        "Show what is known of a session, or one of its entries in full",
        "sessions:show",
        ("[ID]",),
        (Option("entry", "ENTRY", "this entry, as it is stored; may be repeated"), JSON),
    ),
    "tree": Verb(
        "Draw the tree of a session",
        "tree:tree",
        ("[ID]",),
        (
            Option("filter", "NAME", "default, no-tools, user-only, labeled-only or all", short="f"),
            Option("query", "TEXT", "only rows with all these words", short="q"),
            Option("root", "ENTRY", "only what hangs below this entry"),
            Option("ascii", "", "draw with plain characters"),
            Option("limit", "N", "rows in a page of --json", short="n"),
            CURSOR,
            JSON,
        ),
    ),
    "context": Verb("Show what a model would see", "context:context", ("[ID]",), (AT_LEAF, JSON)),
    "append": Verb(
        "Add entries to a session and print their ids",
        "append:append",
        ("[ID]",),
        (
            Option("user", "TEXT", "a user message"),
            Option("assistant", "TEXT", "an assistant message"),
            Option("json-entry", "JSON", "any entry"),
            Option(
                "stdin", "", "drafts from standard input: an object, an array or JSON lines (also: a lone -)"
            ),
            Option("model", "NAME", "provider/model of the --assistant messages"),
            Option("parent", "ENTRY", "attach here instead of at the leaf"),
            Option("root", "", "attach to nothing: start another root"),
            Option("expect", "ENTRY", "only if this is still the leaf"),
            Option("or-branch", "", "with --expect: make a sibling branch when it is not"),
            Option("stay", "", "leave the session's leaf where it is"),
            Option("written", "", "answer when written, before the disk has confirmed it"),
            JSON,
        ),
        "--user, --assistant and --json-entry may be mixed and repeated: all are added, in order, or none.",
    ),
    "branch": Verb(
        "Move the leaf to an earlier entry; what comes next makes a branch",
        "tree:branch",
        ("[ID]", "ENTRY"),
        (
            Option("summary", "TEXT", "say there what was left behind"),
            Option("expect", "ENTRY", "only if this is still the leaf"),
            JSON,
        ),
        "ENTRY may be the word root: before the first entry.",
    ),
    "fork": Verb(
        "Cut a path into a new session and print its id",
        "sessions:fork",
        ("[ID]",),
        (
            Option("at", "ENTRY", "up to and with this entry (default: the leaf)"),
            Option("before", "ENTRY", "up to this entry, without it"),
            Option("cwd", "DIR", "the folder of the new session"),
            Option("title", "TEXT", "what lists call it"),
            JSON,
        ),
    ),
    "label": Verb(
        "Bookmark an entry",
        "tree:label",
        ("[ID]", "ENTRY", "TEXT"),
        (JSON,),
        "An empty TEXT ('') takes the bookmark away.",
    ),
    "rename": Verb(
        "Give a session a title",
        "sessions:rename",
        ("[ID]", "TITLE"),
        (JSON,),
        "An empty TITLE ('') takes it away.",
    ),
    "tag": Verb(
        "Change the words a session can be filtered by",
        "sessions:tag",
        ("[ID]",),
        (
            Option("add", "WORD", "add one; may be repeated"),
            Option("remove", "WORD", "remove one; may be repeated"),
            Option("set", "WORD", "have only these; may be repeated"),
            JSON,
        ),
    ),
    "watch": Verb(
        "Follow a session: print entries as they arrive",
        "watch:watch",
        ("[ID]",),
        (
            Option("last", "N", "begin with the last N lines", short="n"),
            Option("since", "SEQ", "begin behind this line of the log"),
            Option("json", "", "print each notification as one line of JSON"),
        ),
        "Goes on when the daemon was restarted, without losing or repeating an entry. Ctrl-C ends it.",
    ),
    "status": Verb("Say how the daemon is, without starting it", "process:status", (), (JSON,)),
    "clients": Verb("List who is attached to the daemon", "process:clients", (), (JSON,)),
    "stop": Verb("Stop the daemon once everything is on disk", "process:stop", (), (JSON,)),
    "rpc": Verb(
        "Call any method and print the result",
        "raw:rpc",
        ("METHOD", "[PARAMS]"),
        (),
        "PARAMS is a JSON object, or - to read it from standard input.",
    ),
    "schema": Verb("Print the JSON Schema of the protocol", "raw:schema"),
    "serve": Verb(
        "Be the daemon (other commands start it by themselves)",
        "process:serve",
        (),
        (
            Option("detach", "", "go into the background once it is ready"),
            Option("stdio", "", "serve one client on standard input and output too"),
            Option("ready-fd", "N", "tell this descriptor when it is ready"),
        ),
    ),
    "attach": Verb(
        "Connect standard input and output to the daemon, for editors",
        "process:attach",
        (),
        (Option("stdio", "", "the only way there is, and the default"),),
    ),
}
