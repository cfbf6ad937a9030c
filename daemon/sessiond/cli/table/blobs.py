"""Declaration of the command for blobs."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "blobs": Command(
        "Show the total size of blobs, or collect those that no session references",
        "blobs:blobs",
        ("[collect]",),
        (
            Option("yes", "", "move them to the trash; without it, collect only lists them"),
            Option("days", "N", "only blobs older than N days (default: as configured, 7)"),
            JSON,
        ),
        "Images and long texts of sessions are stored in blobs. Collected blobs are moved to the trash, with a note.",
        writes=("blob/collect",),
    ),
}
