"""Declarations of the commands for the trash."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import CURSOR, FROM_A_BUNDLE, JSON

COMMANDS: dict[str, Command] = {
    "delete": Command(
        "Move sessions to the trash, even if clients have them open",
        "trash:delete",
        ("[ID…]",),
        (Option("note", "TEXT", "a text for the trash, for example the reason"), JSON),
        "A session in a folder of another program is deleted only if its file is named. Without ID, a terminal offers\n"
        "a choice. Alias: sessiond rm.",
        (
            "sessiond delete 4f0c21aa --note 'an experiment'",
            "sessiond list --all --tag scratch --json | jq -r '.sessions[].sessionId' | sessiond delete -",
        ),
        writes=("session/delete",),
    ),
    "forget": Command(
        "Delete sessions so that no import, agent, sync or bundle brings them back",
        "forgetting:forget",
        ("[ID…]",),
        (
            Option(
                "project", "DIR", "all sessions of the project of this folder; without --yes, only list them"
            ),
            Option("yes", "", "forget the sessions of --project"),
            Option("purge", "", "also delete them from the trash for good"),
            Option("list", "", "list the forgotten sessions"),
            Option("revoke", "", "allow that the sessions ID… come back"),
            JSON,
        ),
        "The sessions go to the trash, and sessiond restore brings them back. Copies and forks of them that are not\n"
        "stored yet are not imported, either. The agent's own files are not changed.",
        (
            "sessiond forget 4f0c21aa",
            "sessiond forget --project ~/secret --yes --purge",
            "sessiond forget --list",
        ),
        writes=("session/delete", "trash/purge"),
    ),
    "restore": Command(
        "Move sessions from the trash back to their folders, or restore a backup",
        "trash:restore",
        ("[ID…]",),
        (*FROM_A_BUNDLE, JSON),
        "ID is a session id (its last deletion is restored), or a trash id (`trashId` of sessiond trash --json).\n"
        "A file of sessiond backup is restored as a whole: what is missing is added, and nothing is overwritten.\n"
        "The options but --json apply to such a file. Without ID, a terminal offers a choice of the trash.",
        ("sessiond restore 4f0c21aa", "sessiond restore ./sessions.sessiond --dry-run"),
        writes=("trash/restore",),
    ),
    "trash": Command(
        "List the sessions in the trash, newest deletion first",
        "trash:trash",
        (),
        (Option("limit", "N", "maximum number of results (default: 50)", short="n"), CURSOR, JSON),
        paged=True,
    ),
    "cleanup": Command(
        "Move old sessions to the trash; without --yes, only list them",
        "trash:cleanup",
        (),
        (
            Option("days", "N", "sessions that were not written for N days"),
            Option("keep", "N", "all sessions but the newest N"),
            Option("tag", "WORD", "only sessions with this tag; repeatable"),
            Option("yes", "", "move them; sessiond restore undoes it"),
            JSON,
        ),
        "Open, labeled and read-only sessions are skipped. Drafts and folders of other programs are not considered.",
        ("sessiond cleanup --days 90 --tag scratch",),
        paged=True,
        writes=("session/cleanup",),
    ),
    "purge": Command(
        "Delete sessions from the trash for good; without --yes, only list them",
        "trash:purge",
        ("[ID…]",),
        (
            Option("days", "N", "all sessions that have been in the trash for N days (0: all)"),
            Option("yes", "", "delete them; this cannot be undone"),
            JSON,
        ),
        "sessiond blobs collect then collects the blobs that no other session references.",
        ("sessiond purge --days 30 --yes",),
        writes=("trash/purge",),
    ),
}
