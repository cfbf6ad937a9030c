"""Declarations of the commands for the protocol itself."""

from sessiond.cli.parse.arguments import Command
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "rpc": Command(
        "Call any method and print the result",
        "protocol:rpc",
        ("METHOD", "[PARAMS]"),
        (),
        "PARAMS is a JSON object, or - to read it from standard input.",
        paged=True,
    ),
    "terminal": Command(
        "Print the identity of this terminal, by which its sessions are found",
        "protocol:terminal",
        (),
        (JSON,),
        "It does not contact the daemon. Without a terminal it prints nothing, or null with --json, and the exit code"
        " is 1. For other clients, --json prints a Terminal as the protocol defines it.",
    ),
    "schema": Command("Print the JSON Schema of the protocol", "protocol:schema", paged=True),
}
