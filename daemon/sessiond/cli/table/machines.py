"""Declarations of the commands that move sessions between machines and stores, directly or in a file."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON, REPORT, SINCE

_ENCRYPTION = (
    "The file is encrypted with\nage if a recipient or a passphrase is given (pip install 'sessiond[age]')."
)
_CHOSEN = (
    Option("project", "DIR", "only sessions of this folder and the folders below it"),
    Option("agent", "NAME", "only sessions that were read from this agent"),
    Option("tag", "TAG", "only sessions with this tag; several: with all of them"),
)
_INTO_A_FILE = (
    Option("recipient", "KEY", "encrypt for age1…, an ssh public key, or a file of them; may be repeated"),
    Option("passphrase", "", "encrypt with a passphrase, which is asked for"),
    Option("force", "", "replace an existing file"),
    Option("dry-run", "", "only report what would be written"),
)

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
            *_CHOSEN,
            Option("drafts", "", "also draft sessions"),
            Option("map", "HERE=THERE", "the folder HERE is THERE on the other machine; may be repeated"),
            Option("timeout", "SECONDS", "give up when nothing comes from there for so long; default: 30"),
            Option("dry-run", "", "only report what would be copied"),
            JSON,
        ),
        "Both machines need sessiond and nothing else. Each gets the entries that it lacks, byte for byte. Entries\n"
        "that both added to a session become branches. Deleted sessions stay deleted, unless the other machine added\n"
        "to them. An interrupted sync is completed by the next one. COMMAND speaks the protocol on its standard\n"
        "streams. The table [sync.maps] of config.toml has folders for a HOST, as --map names them.",
        (
            "sessiond sync devbox",
            "sessiond sync devbox --project . --map ~/work=/srv/work",
            "sessiond sync --via 'ssh -p 2222 devbox sessiond attach --stdio' --watch",
        ),
    ),
    "bundle": Command(
        "Write sessions to one file, for mail, a shared folder or an archive",
        "bundle:bundle",
        ("FILE", "[ID…]"),
        (
            *_CHOSEN,
            SINCE,
            Option("drafts", "", "also draft sessions"),
            *_INTO_A_FILE,
            REPORT,
        ),
        "Without ID and without a selection, all sessions are written. The file has their entries byte for byte, with\n"
        "the blobs that they reference. sessiond import FILE stores them on another machine. " + _ENCRYPTION,
        (
            "sessiond bundle parser.sessiond 4f0c21aa",
            "sessiond bundle week.sessiond.age --project . --since 7d --recipient age1…",
        ),
    ),
    "backup": Command(
        "Write everything to one file: sessions, blobs, the trash, prompts, config.toml",
        "bundle:backup",
        ("FILE",),
        (*_INTO_A_FILE, REPORT),
        "If FILE is a folder, the file gets a name with the time in it. The daemon and the agents may go on writing.\n"
        "sessiond restore FILE restores it. " + _ENCRYPTION,
        (
            "sessiond backup /media/disk",
            "sessiond backup ~/Sync/sessions.sessiond.age --recipient ~/.ssh/id_ed25519.pub --force",
        ),
    ),
    "move-store": Command(
        "Copy all sessions from one store to another: files, or a PostgreSQL database",
        "move_store:move",
        ("A", "B"),
        (Option("dry-run", "", "only report what would be copied"), REPORT),
        "A and B are URLs as in [store] of config.toml: files: or postgres://USER@HOST/DATABASE. Sessions\n"
        "are copied byte for byte, with the trash and all blobs, and compared with the originals. A is not changed.\n"
        "The daemon must not run. After an interruption, the same command goes on.",
        ("sessiond move-store files: postgres://ada@db.example/sessions",),
    ),
}
