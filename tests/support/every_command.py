"""A line for each command, in an order in which each succeeds, and the names of those that do not end by themselves."""

COMMANDS = (  # {…} are ids: two sessions, a question and an answer of the first, and a file to import
    "new --title Second", "continue", "terminal", "list --all", "search race", "recall race", "usage", "history",
    "show {session}", "show {session} --entry {question}", "fork {session}", "rename {session} Title",
    "tag {session} --add x", "move {session} --cwd .", "tree {session}",
    "append {session} --user more", "label {session} {question} here",
    "diff {session} {question} @", "branch {session} {answer} --dry-run", "branch {session} {answer}",
    "context {session}", "context {session} --explain", "compact {session} --dry-run --keep-recent 1",
    "compact {session} --summary short --keep-recent 1", "configure {session} --auto-compact off", "stats {session}",
    "state {session}", "state {session} --decide it", "state {session} --begin-task", "export {session}",
    "export {session} -o out.md", "import {file}", "bundle some.sessiond {session}", "top",
    "import some.sessiond", "backup all.sessiond", "restore ./all.sessiond", "resume {session} --in codex",
    "storage", "storage archive", "verify", "unpack {session}", "blobs", "blobs collect", "cleanup --keep 100", "trash",
    "delete {other}", "restore {other}", "delete {other}", "purge {other}", "forget --list", "status", "clients",
    "doctor",
    "agents", "setup --no-hooks --no-shell", "install-service --print", "uninstall-service --print", "restart", "stop",
)  # fmt: skip
LASTING = ("watch", "view")
"""Commands that end with Ctrl-C; tests check their first line."""
ELSEWHERE = ("sync", "move-store")
"""Commands that need a second daemon or a database; the tests of these commands test their JSON."""
