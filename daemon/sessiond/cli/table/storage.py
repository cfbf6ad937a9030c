"""Declarations of the commands for the space that sessions take."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "storage": Command(
        "Show how much space the sessions take here and at the agents, and what agents will delete",
        "storage:storage",
        ("[archive|reclaim]", "[AGENT]"),
        (
            Option("limit", "N", "maximum number of projects and of sessions (default: 10)", short="n"),
            Option("no-agents", "", "leave out the agents' own folders, which may take some seconds"),
            Option(
                "days",
                "N",
                "only files that were not changed (archive: not used) for N days (default: 14, reclaim: 30)",
            ),
            Option("yes", "", "with reclaim: move the files without asking"),
            Option("undo", "", "with reclaim: move the files back, byte for byte"),
            JSON,
        ),
        "The sessions of all projects are counted, each with the blobs that it names. The agents' own folders are\n"
        "only listed, and their settings read: what an agent deletes by itself, and whether it is here.\n"
        "archive packs the files of sessions that were neither changed nor opened for N days to about a sixth. They\n"
        "are used as before. The daemon does so by itself after `pack_after`; --days 0 packs all that are not open.\n"
        "reclaim AGENT moves old session files of an agent here, compressed, if their content is here whole: each is\n"
        "read again and compared with its session. It asks first. --undo moves them back.",
        (
            "sessiond storage --limit 30",
            "sessiond storage archive --days 3",
            "sessiond storage reclaim codex --days 90",
        ),
        paged=True,
    ),
    "verify": Command(
        "Prove that everything that agents wrote is here whole, or name the gaps",
        "verify:verify",
        ("[AGENT…]",),
        (Option("deep", "", "read every source again, and compare each entry with its session"), JSON),
        "Without AGENT, the followed agents are verified. The exit status is 1 if there is a gap. Without --deep,\n"
        "only sources that changed since they were read are compared. Nothing is changed.",
        ("sessiond verify", "sessiond verify claude-code --deep"),
        paged=True,
    ),
    "unpack": Command(
        "Make the compressed file of a session plain, or write a plain copy of it",
        "unpack:unpack",
        ("[ID]",),
        (
            Option("output", "FILE", "write a plain copy to this new file, and leave the session as it is"),
            JSON,
        ),
        "Files of sessions that nobody used for two weeks are packed (`pack_after` under [keep] in config.toml).\n"
        "The next change makes them plain again by itself. `zstd -dc` reads them, too.",
        ("sessiond unpack atlas", "sessiond unpack atlas --output atlas.jsonl"),
    ),
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
