"""Content of help and manual page beside the commands: common options, names, environment, files."""

from sessiond.cli.parse.arguments import NO_PAGER, Option

COMMON = (
    NO_PAGER,
    Option("help", "", "say what the command does and takes", short="h"),
)
"""Options of every command."""

NAMES = """\
A session is named by its id, by the first characters of it, or by the path of its file; without a name, it is \
the session of this terminal. An entry is named by its id, by the first characters of it, by its label, or by @ \
for the leaf. A name that fits several is refused, and they are listed."""

STDIN = """\
A - is standard input: for TEXT of append, branch, compact and state, for entries of append, for PARAMS of rpc, \
and, one on each line, for the IDs of delete, restore and purge."""

SCRIPTS = """\
What a script wants (an id, a transcript, JSON) goes to standard output and nothing else; what is said about it goes \
to standard error. --json prints the result of the protocol's method as the daemon sent it. Colors, cut lines, the \
pager and progress are for terminals: a pipe gets everything, plainly."""

ENVIRONMENT: dict[str, str] = {
    "SESSIOND_HOME": "one folder for all files of the daemon, instead of those below",
    "SESSIOND_TERMINAL": "what this terminal is called, instead of what is found out (tmux pane, window, tty)",
    "SESSIOND_NO_AUTOSTART": "when set, no command starts a daemon",
    "SESSIOND_CONNECT": "where the daemon is, when it is not here: tcp://127.0.0.1:7413",
    "SESSIOND_TOKEN_FILE": "the file with the token for SESSIOND_CONNECT",
    "SESSIOND_PAGER": "what shows long output on a terminal; before PAGER; empty or cat: nothing does",
    "PAGER": "the same, for all programs; without either it is less, which gets LESS=FRX unless LESS is set",
    "NO_COLOR": "when set and not empty, no colors; it comes before the next two",
    "CLICOLOR_FORCE": "when set and not 0, colors in pipes and files, too; FORCE_COLOR is the same",
    "CLICOLOR": "when 0, no colors",
    "COLUMNS": "how wide lines may be; in pipes and files, too",
    "TERM": "dumb: neither colors nor pager nor progress",
    "LC_ALL": "and LC_CTYPE, LANG: an encoding without box characters gets ASCII",
}

FILES: dict[str, str] = {
    "$XDG_DATA_HOME/sessiond": "sessions, drafts, blobs, trash, history (default: ~/.local/share/sessiond)",
    "$XDG_STATE_HOME/sessiond": "endpoint, locks, breadcrumbs, holds, index, log (default: ~/.local/state/sessiond)",
    "$XDG_RUNTIME_DIR/sessiond": "the socket",
    "$XDG_CONFIG_HOME/sessiond/config.toml": "settings; need not exist (default: ~/.config/sessiond/config.toml)",
}

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("Start a session, and say something in it", "sessiond new && sessiond append --user 'Run the tests.'"),
    ("Go back to an earlier entry; what comes next is a branch", "sessiond branch 4f0c21aa"),
    ("Compare that branch with the one that was left", "sessiond diff 1e55f0b7 @"),
    ("Find what was said anywhere", "sessiond search '\"failing test\"'"),
    ("Bring in the sessions of Claude Code", "sessiond import ~/.claude/projects"),
    ("A transcript for a repository", "sessiond export -o docs/how-it-was-done.md"),
    ("The title of every session, for a script", "sessiond list --all --json | jq -r '.sessions[].title'"),
)

TOPICS: dict[str, str] = {
    "exit-codes": "what the exit code of a command means",
    "environment": "the variables that commands look at",
    "names": "how sessions and entries are named, and what a - is",
}
"""Topics of `sessiond help` beside the commands."""
