"""Content of help and manual page beside the commands: common options, names, environment, files."""

from sessiond.cli.parse.arguments import NO_PAGER, Option

COMMON = (
    NO_PAGER,
    Option("help", "", "show the description and the options of the command", short="h"),
)
"""Options of every command."""

NAMES = """\
A session is named by its id here or in its agent, a prefix of it, or the path of its file; without a name, a \
command uses the session of this terminal. An entry is named by its id, a prefix of its id, its label, or by @ for \
the leaf. An ambiguous name is an error that lists the candidates."""

STDIN = """\
A - reads standard input: for TEXT of append, branch, compact and state, for entries of append, for PARAMS of rpc, \
and, one on each line, for the IDs of delete, restore and purge."""

SCRIPTS = """\
Standard output contains only the result (an id, a transcript, JSON); messages about it go to standard error. --json \
prints the result of the protocol's method as the daemon sent it. Colors, shortened lines, the pager and progress are \
for terminals: a pipe gets the complete text without them."""

ENVIRONMENT: dict[str, str] = {
    "SESSIOND_HOME": "one folder for all files of the daemon, instead of the folders below",
    "SESSIOND_TERMINAL": "the name of this terminal, instead of the detected one (tmux pane, window, tty)",
    "SESSIOND_NO_AUTOSTART": "when set, no command starts a daemon",
    "SESSIOND_CONNECT": "the address of a remote daemon: tcp://127.0.0.1:7413",
    "SESSIOND_TOKEN_FILE": "the file with the token for SESSIOND_CONNECT",
    "SESSIOND_PAGER": "the pager for long output on a terminal, instead of PAGER; empty or cat: no pager",
    "PAGER": "the pager of all programs; the default is less, with LESS=FRX unless LESS is set",
    "NO_COLOR": "when set and not empty, no colors; it takes precedence over the next two",
    "CLICOLOR_FORCE": "when set and not 0, colors also in pipes and files; FORCE_COLOR is equivalent",
    "CLICOLOR": "when 0, no colors",
    "COLUMNS": "the maximum width of lines, also in pipes and files",
    "TERM": "when dumb, no colors, no pager and no progress",
    "LC_ALL": "and LC_CTYPE, LANG: if the encoding has no box characters, output is ASCII",
}

FILES: dict[str, str] = {
    "$XDG_DATA_HOME/sessiond": "sessions, drafts, blobs, trash, history (default: ~/.local/share/sessiond)",
    "$XDG_STATE_HOME/sessiond": "endpoint, locks, breadcrumbs, holds, index, log (default: ~/.local/state/sessiond)",
    "$XDG_RUNTIME_DIR/sessiond": "the socket",
    "$XDG_CONFIG_HOME/sessiond/config.toml": "settings; need not exist (default: ~/.config/sessiond/config.toml)",
}

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("Start a session and append a message", "sessiond new && sessiond append --user 'Run the tests.'"),
    ("Move the leaf to an earlier entry; the next entry starts a branch", "sessiond branch 4f0c21aa"),
    ("Compare that branch with the one that was left behind", "sessiond diff 1e55f0b7 @"),
    ("Search the sessions of all projects", "sessiond search --all '\"failing test\"'"),
    ("Import the sessions of Claude Code", "sessiond import ~/.claude/projects"),
    ("Export a transcript into a repository", "sessiond export -o docs/how-it-was-done.md"),
    ("Print the title of every session", "sessiond list --all --json | jq -r '.sessions[].title'"),
)

TOPICS: dict[str, str] = {
    "exit-codes": "the exit codes of commands",
    "environment": "the environment variables that commands read",
    "names": "the names of sessions and entries, and the meaning of -",
}
"""Topics of `sessiond help` beside the commands."""
