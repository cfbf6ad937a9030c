"""The declarations of commands about the context: context, compaction, state, statistics."""

from sessiond.cli.parse.arguments import Option, Verb
from sessiond.cli.parse.options import AT_LEAF, CONTEXT_WINDOW, INSTRUCTIONS, JSON, KEEP_RECENT, RESERVE

MODEL_VERBS: dict[str, Verb] = {
    "context": Verb(
        "Show what a model would see",
        "context:context",
        ("[ID]",),
        (
            Option("format", "NAME", "agent (default), or a part of a request: openai, anthropic or google"),
            Option("explain", "", "say of every entry of the path why it is in or out, and its tokens"),
            AT_LEAF,
            JSON,
        ),
        examples=("sessiond context --explain", "sessiond context atlas --format anthropic | jq .messages"),
        paged=True,
    ),
    "compact": Verb(
        "Let a summary stand for the older part of a session",
        "compact:compact",
        ("[ID]",),
        (
            Option("dry-run", "", "only show what would leave the context"),
            Option("summary", "TEXT", "the summary; - reads it from standard input"),
            INSTRUCTIONS,
            KEEP_RECENT,
            CONTEXT_WINDOW,
            RESERVE,
            JSON,
        ),
        "Without --summary it is written by an attached client that can, or by the [summarizer] command of "
        "config.toml.\nNothing is removed: the entries stay in the tree, and the way back is printed.",
        (
            "sessiond compact --dry-run",
            "sessiond compact atlas --instructions 'Keep the names of the failing tests.'",
            "sessiond compact --dry-run --json | jq -r .prompt | llm | sessiond compact --summary -",
        ),
        writes=("session/compact",),
    ),
    "configure": Verb(
        "Show or choose when a session is compacted by itself",
        "configure:configure",
        ("[ID]",),
        (
            Option("auto-compact", "WHEN", "on, off, or default: all of these as config.toml has them"),
            CONTEXT_WINDOW,
            RESERVE,
            KEEP_RECENT,
            JSON,
        ),
        "Without options it shows the settings in force.",
        ("sessiond configure atlas --auto-compact on --context-window 128000",),
        writes=("session/configure",),
    ),
    "stats": Verb(
        "Show what a session is made of, how full its context is and what it has cost",
        "stats:stats",
        ("[ID]",),
        (AT_LEAF, JSON),
        paged=True,
    ),
    "state": Verb(
        "Show or update what an agent must know to go on: plan, decisions, artifacts",
        "state:state",
        ("[ID]",),
        (
            Option("decide", "TEXT", "record a decision"),
            Option("because", "TEXT", "why it was made"),
            Option("artifact", "NAME=PATH", "record where something lies"),
            Option("plan", "TEXT", "have this plan; an empty one takes it away"),
            Option("tokens", "N", "count so many tokens more"),
            Option("model", "NAME", "go on with this provider/model"),
            Option("agent", "NAME", "who works here"),
            Option("compress", "", "prune now: the newest decisions stay, above the limit no artifact"),
            Option("begin-task", "", "count a turn, prune if need be, print lines for a system prompt"),
            AT_LEAF,
            JSON,
        ),
        "All options of one command but --begin-task are one line of the log. A branch has the state of its point.",
        paged=True,
        writes=("state/update", "state/beginTask"),
    ),
}
