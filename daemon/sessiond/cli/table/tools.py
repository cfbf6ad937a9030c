"""Declarations of the commands for other programs: import, export, completion, and the protocol itself."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import FROM_A_BUNDLE, JSON

COMMANDS: dict[str, Command] = {
    "acp": Command(
        "Be an agent of the Agent Client Protocol for an editor: run an agent and record the conversation",
        "acp:acp",
        ("[AGENT…]",),
        (Option("agent", "NAME", "the agent whose sessions these are, if its command does not show it"),),
        "AGENT is claude-code, codex, gemini or opencode, or after -- the whole command of any agent that speaks the\n"
        "protocol on standard input and output. An editor starts this command in place of the agent's own.",
        (
            "sessiond acp gemini",
            "sessiond acp -- opencode acp",
            "sessiond acp --agent codex -- ./my-codex-acp",
        ),
    ),
    "import": Command(
        "Import session files of other programs, or a file of sessiond bundle",
        "exchange:import_",
        ("PATH",),
        (
            Option(
                "format",
                "NAME",
                "a format, such as claude-code, codex or pi4 (default: detected)",
            ),
            Option("cwd", "DIR", "the folder of the sessions, instead of the one in their files"),
            *FROM_A_BUNDLE,
            JSON,
        ),
        "PATH is a file or a folder. A second import adds new entries. After Ctrl-C, imported sessions stay.\n"
        "A bundle is verified before anything is stored. --identity, --map, --dry-run and --no-size-limit are for\n"
        "bundles, --format and --cwd for other files.",
    ),
    "export": Command(
        "Export a session as a transcript, an HTML page, or a file of another program",
        "exchange:export",
        ("[ID]",),
        (
            Option(
                "format",
                "NAME",
                "markdown (default), html, jsonl, operator, go, nova, claude-code, codex, gemini, opencode, qwen, pi"
                " or oh-my-pi",
            ),
            Option("leaf", "ENTRY", "only the path to this entry"),
            Option(
                "output",
                "FILE",
                "write to this file, not to standard output (html on a terminal: session.html)",
                short="o",
            ),
            Option("force", "", "replace an existing file"),
            Option("no-redact", "", "do not redact keys and tokens"),
            JSON,
        ),
        paged=True,
    ),
    "redact": Command(
        "Replace the keys, tokens and passwords in a text: a filter for pipes",
        "redact:redact",
        (),
        (),
        "It reads standard input and prints it with [redacted: KIND] in place of each secret that an export would\n"
        "remove. Nothing is stored. search, recall, export and the MCP server do this themselves.",
        ("sessiond show 7c1f --entry a1 | sessiond redact",),
    ),
    "completion": Command(
        "Print the completion script for a shell: bash, zsh or fish",
        "completion:completion",
        ("SHELL", "[WORD…]"),
        (),
        'In ~/.bashrc or ~/.zshrc: eval "$(sessiond completion bash)", or zsh. The scripts call it with the WORDs of\n'
        "a command line after --; it then prints the candidates for the last word.",
        ("sessiond completion fish > ~/.config/fish/completions/sessiond.fish",),
    ),
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
