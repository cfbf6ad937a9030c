"""Declarations of the commands for the daemon's process."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "status": Command(
        "Show the state of the daemon, without starting it",
        "process:status",
        (),
        (Option("socket", "", "print only the path of its socket, for a script"), JSON),
    ),
    "clients": Command("List the clients of the daemon", "process:clients", (), (JSON,)),
    "stop": Command("Stop the daemon after everything is on disk", "process:stop", (), (JSON,)),
    "restart": Command(
        "Restart the daemon after everything is on disk, for example after an update",
        "process:restart",
        (),
        (Option("now", "", "do not wait for requests of other clients that are in flight"), JSON),
        "Clients reconnect automatically and miss nothing. If no daemon is running, one is started.",
    ),
    "doctor": Command(
        "Diagnose problems and, with --fix, repair what is safe to repair",
        "doctor:doctor",
        ("[PATH…]",),
        (
            Option("secrets", "", "list where keys and passwords lie: session, entry and kind of each"),
            Option("fix", "", "repair what is safe to repair; the report names the copies of the originals"),
            JSON,
        ),
        "Without PATH, it checks sessions, blobs, databases, folders, the machine, the daemon and its socket. PATH is a"
        " session file, a folder of them, or an id. A daemon is not required. Exit status 1: problems were found.\n"
        "--secrets reads sessions, drafts, the trash, blobs and the history of prompts, and never prints a secret.",
        ("sessiond doctor --fix", "sessiond doctor --secrets", "sessiond doctor ~/.pi/agent/sessions"),
        paged=True,
    ),
    "serve": Command(
        "Run the daemon in the foreground (other commands start it automatically)",
        "process:serve",
        (),
        (
            Option("detach", "", "run in the background, and return once the daemon is ready"),
            Option("stdio", "", "also serve one client on standard input and output"),
            Option("ready-fd", "N", "write a line to this file descriptor when the daemon is ready"),
        ),
    ),
    "attach": Command(
        "Connect standard input and output to the daemon, for editors",
        "process:attach",
        (),
        (Option("stdio", "", "the default, and the only mode"),),
    ),
}
