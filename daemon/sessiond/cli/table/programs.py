"""Declarations of the commands for other programs: what agents write, import, export and a filter."""

from sessiond.agent_names import OVER_ACP, WRITTEN_FORMATS
from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import FROM_A_BUNDLE, JSON
from sessiond.human import listed

COMMANDS: dict[str, Command] = {
    "agents": Command(
        "List the agents on this machine, or follow what they write",
        "agents:agents",
        ("[follow|unfollow|forget]", "[AGENT…]"),
        (
            Option("all", "", "follow: all agents that have sessions here; unfollow: all agents"),
            Option("yes", "", "forget: move the sessions; without it, forget only says how many there are"),
            JSON,
        ),
        "follow reads the sessions of an agent and returns when it has read the present ones. Lines that the agent\n"
        "writes later are read, too; its files are never changed. unfollow stops that and keeps the sessions. forget\n"
        "unfollows and moves the sessions of one agent to the trash.",
        ("sessiond agents follow --all", "sessiond agents follow claude-code codex"),
    ),
    "acp": Command(
        "Be an agent of the Agent Client Protocol for an editor: run an agent and record the conversation",
        "acp:acp",
        ("[AGENT…]",),
        (Option("agent", "NAME", "the agent whose sessions these are, if its command does not show it"),),
        f"AGENT is {listed(OVER_ACP)}, or after -- the whole command of any agent\n"
        "that speaks the protocol on standard input and output. An editor starts this command in place of the\n"
        "agent's own.",
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
                f"markdown (default), {listed([name for name in WRITTEN_FORMATS if name != 'markdown'])}",
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
}
