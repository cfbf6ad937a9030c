"""Declarations of the commands that connect sessiond with the agents, the system and the shell of this user."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import REPORT

COMMANDS: dict[str, Command] = {
    "setup": Command(
        "Follow the agents on this machine: hooks and MCP server in their settings, completion and prompt in the shell",
        "setup:setup",
        (),
        (
            Option("yes", "", "do it without asking"),
            Option("agent", "NAME", "only this agent, and not the shell (repeatable)"),
            Option("no-hooks", "", "add no hooks to settings of agents"),
            Option("no-mcp", "", "register no MCP server with agents"),
            Option("no-shell", "", "leave the startup file of the shell alone"),
            Option("undo", "", "take away exactly what setup added"),
            REPORT,
        ),
        "It shows what it found and what it would change, and asks. Without a terminal and without --yes it changes\n"
        "nothing. It keeps a copy of each file that it changes. --undo keeps the edits that others made since.",
        ("sessiond setup", "sessiond setup --yes --agent claude-code", "sessiond setup --undo"),
    ),
    "mcp": Command(
        "Give an agent the sessions of this user as an MCP server on standard input and output",
        "mcp:mcp",
        (),
        (
            Option("all", "", "read the sessions of all projects by default"),
            Option("cwd", "DIR", "read the sessions of the project of this folder by default"),
            Option("allow-write", "", "also offer tools that label, tag, fork and save notes"),
        ),
        "Agents start it. By default it reads the sessions of one project: that of --cwd, of the first root of the\n"
        "agent, or of the working folder. Secrets are replaced before anything is sent. No tool deletes anything.",
        ("claude mcp add --scope user sessiond -- sessiond mcp", "codex mcp add sessiond -- sessiond mcp"),
    ),
    "hook": Command(
        "Tell the daemon that an agent has written to a session (for hooks of agents)",
        "hook:hook",
        ("AGENT",),
        (),
        "It reads the event from standard input, has the daemon started if the agent is followed and none runs, waits"
        " for no start, and always succeeds. sessiond setup installs it.",
    ),
    "install-service": Command(
        "Have systemd (or launchd) listen for the daemon, and start it on demand",
        "service:install",
        (),
        (Option("print", "", "only print the files that it would write"), REPORT),
        "It writes unit files of this user and enables them. Run it again after an update.",
    ),
    "uninstall-service": Command(
        "Remove the service; commands then start the daemon automatically",
        "service:uninstall",
        (),
        (Option("print", "", "only list the files that it would remove"), REPORT),
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
}
