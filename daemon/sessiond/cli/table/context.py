"""Declarations of the commands about the context of a model: compaction, state, statistics."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import AT_LEAF, CONTEXT_WINDOW, INSTRUCTIONS, JSON, KEEP_RECENT, RESERVE

COMMANDS: dict[str, Command] = {
    "context": Command(
        "Show the context that a model receives",
        "context:context",
        ("[ID]",),
        (
            Option(
                "format",
                "NAME",
                "agent (default), or the request format of openai, openai-responses, anthropic or google",
            ),
            Option("explain", "", "show for every entry of the path its tokens, and why it is in or out"),
            AT_LEAF,
            JSON,
        ),
        examples=("sessiond context --explain", "sessiond context atlas --format anthropic | jq .messages"),
        paged=True,
    ),
    "compact": Command(
        "Replace the older part of a session by a summary in the context",
        "compact:compact",
        ("[ID]",),
        (
            Option("dry-run", "", "only show the entries that would leave the context"),
            Option("summary", "TEXT", "the summary; - reads it from standard input"),
            INSTRUCTIONS,
            KEEP_RECENT,
            CONTEXT_WINDOW,
            RESERVE,
            JSON,
        ),
        "Without --summary, an attached client that summarizes, or the [summarizer] command of config.toml, writes the"
        " summary.\nNo entry is removed: all stay in the tree, and the command that undoes it is printed.",
        (
            "sessiond compact --dry-run",
            "sessiond compact atlas --instructions 'Keep the names of the failing tests.'",
            "sessiond compact --dry-run --json | jq -r .prompt | llm | sessiond compact --summary -",
        ),
        writes=("session/compact",),
    ),
    "configure": Command(
        "Show or set when a session is compacted automatically",
        "configure:configure",
        ("[ID]",),
        (
            Option("auto-compact", "WHEN", "on, off, or default: use the settings of config.toml"),
            CONTEXT_WINDOW,
            RESERVE,
            KEEP_RECENT,
            JSON,
        ),
        "Without options it shows the settings in force.",
        ("sessiond configure atlas --auto-compact on --context-window 128000",),
        writes=("session/configure",),
    ),
    "stats": Command(
        "Show counts, context use, tokens and cost of a session",
        "stats:stats",
        ("[ID]",),
        (AT_LEAF, JSON),
        paged=True,
    ),
    "state": Command(
        "Show or update the working state of an agent: plan, decisions, artifacts",
        "state:state",
        ("[ID]",),
        (
            Option("decide", "TEXT", "record a decision"),
            Option("because", "TEXT", "the reason for the decision"),
            Option("artifact", "NAME=PATH", "record the path of an artifact"),
            Option("plan", "TEXT", "set the plan; an empty text removes it"),
            Option("tokens", "N", "add N to the number of tokens used"),
            Option("model", "NAME", "set the provider/model"),
            Option("agent", "NAME", "set the name of the agent"),
            Option(
                "compress", "", "prune now: only the newest decisions stay, and no artifacts above the limit"
            ),
            Option("begin-task", "", "count a turn, prune if necessary, and print lines for a system prompt"),
            AT_LEAF,
            JSON,
        ),
        "All options of one command except --begin-task are recorded as one line of the log. Each branch has its own"
        " state.",
        paged=True,
        writes=("state/update", "state/beginTask"),
    ),
}
