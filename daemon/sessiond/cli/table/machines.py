"""Declarations of the commands that move sessions between machines."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "sync": Command(
        "Bring the sessions of two machines together",
        "sync:sync",
        ("[HOST]",),
        (
            Option("via", "COMMAND", "reach the other daemon through this command, instead of ssh HOST"),
            Option("push", "", "only send what the other machine lacks"),
            Option("pull", "", "only receive what this machine lacks"),
            Option("watch", "", "keep both machines together until Ctrl-C"),
            Option("project", "DIR", "only sessions of this folder and the folders below it"),
            Option("agent", "NAME", "only sessions that were read from this agent"),
            Option("tag", "TAG", "only sessions with this tag; several: with all of them"),
            Option("drafts", "", "also draft sessions"),
            Option("map", "HERE=THERE", "the folder HERE is THERE on the other machine; may be repeated"),
            Option("dry-run", "", "only report what would be copied"),
            JSON,
        ),
        "Both machines need sessiond and nothing else. Each gets the entries that it lacks, byte for byte. What both\n"
        "added to a session becomes branches. Deleted sessions stay deleted, unless the other machine added to them.\n"
        "An interrupted sync is completed by the next one. COMMAND speaks the protocol on its standard streams.",
        (
            "sessiond sync devbox",
            "sessiond sync devbox --project . --map ~/work=/srv/work",
            "sessiond sync --via 'ssh -p 2222 devbox sessiond attach --stdio' --watch",
        ),
    ),
}
