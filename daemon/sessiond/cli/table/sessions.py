"""Declarations of the commands for whole sessions."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import AGENT, AUTOMATED, CURSOR, HERE, JSON, REPORT, SINCE, UNTIL

COMMANDS: dict[str, Command] = {
    "new": Command(
        "Start a session and print its id",
        "sessions:new",
        (),
        (
            Option("title", "TEXT", "the title in lists"),
            Option("tag", "WORD", "a tag, by which lists can be filtered; repeatable"),
            Option("id", "ID", "8 to 128 characters of A-Z a-z 0-9 _ - instead of a UUID"),
            Option("cwd", "DIR", "the folder of the session (default: the current one)"),
            Option("parent", "ID", "the session from which it derives, or the path of its file"),
            Option("ephemeral", "", "keep it in memory only"),
            JSON,
        ),
        "Until its first assistant message a session is a draft: as durable as any other, but hidden from lists.",
        writes=("session/create",),
    ),
    "continue": Command(
        "Find the session of this terminal, explain the choice, and print its id",
        "continue_session:continue_session",
        (),
        (
            Option("cwd", "DIR", "the folder of the session (default: the current one)"),
            HERE,
            Option("no-create", "", "fail if there is none, instead of creating one"),
            Option(
                "prompt",
                "",
                "print only id and title, for a shell prompt; without a session nothing (exit code 1)",
            ),
            JSON,
        ),
        "--prompt neither starts nor waits for a daemon, and changes nothing.",
        writes=("session/continue",),
    ),
    "resume": Command(
        "Go on with a session in its agent, or in another one",
        "resume:resume",
        ("[ID]",),
        (
            Option("in", "AGENT", "write a new session of this agent from the path, and go on there"),
            Option("at", "ENTRY", "write a new session from the path to this entry (default: the leaf)"),
            Option("cwd", "DIR", "the folder to go on in (default: the folder of the session)"),
            Option(
                "print", "", "print the command and what the format of the agent cannot hold; start nothing"
            ),
            JSON,
        ),
        "Without ID, a terminal offers a choice. Without --in and --at, it is the session of the agent that it was\n"
        "read from; if the agent deleted that one, it is written again. A session of an agent is never changed.",
        ("sessiond resume 7c1f --in codex", "sessiond resume 7c1f --in opencode --print"),
    ),
    "list": Command(
        "List the sessions of this project, newest first",
        "sessions:listing",
        (),
        (
            Option("all", "", "list the sessions of all folders", short="a"),
            HERE,
            Option("cwd", "DIR", "list the sessions of the project of this folder instead"),
            Option(
                "query",
                "TEXT",
                "only sessions with this text in id, title, first prompt, folder or agent",
                short="q",
            ),
            Option("tag", "WORD", "only sessions with this tag; repeatable"),
            AGENT,
            SINCE,
            UNTIL,
            Option("sort", "KEY", "updated (default), created or title"),
            Option("limit", "N", "maximum number of results (default: 50)", short="n"),
            Option("drafts", "", "include drafts"),
            Option(
                "each",
                "",
                "list each session that was handed over from agent to agent, not only the last one",
            ),
            AUTOMATED,
            CURSOR,
            JSON,
        ),
        "A session that `sessiond resume` handed over to another agent is one row with the session of that agent, and\n"
        "the row names the agents in their order. --each lists all of them. With --agent, --query, --tag or --until,\n"
        "each session is a row of its own.\n"
        "Automated sessions are counted, and not listed without --automated. With --json, all are in the result.",
        paged=True,
    ),
    "top": Command(
        "Show what every agent is doing now: its state, last words, tokens and cost",
        "top:top",
        (),
        (
            Option("since", "TIME", "sessions with an entry since this time (default: the last 12 hours)"),
            Option("here", "", "only sessions of this folder"),
            Option("once", "", "print it once, without the whole screen"),
            AUTOMATED,
            REPORT,
        ),
        "The board is up to date within half a second. Enter shows the tree of a session, and q there returns. An\n"
        "agent works in the middle of a turn, and waits for a person after it. It counts as stopped when its process\n"
        "ends, and where nothing tells that, after ten minutes without an entry in the middle of a turn.",
        ("sessiond top", "sessiond top --once --since yesterday"),
    ),
    "search": Command(
        "Search the text of the sessions of this project, on all branches",
        "search:search",
        ("QUERY",),
        (
            Option("all", "", "search the sessions of all projects", short="a"),
            HERE,
            Option("cwd", "DIR", "search the sessions of the project of this folder instead"),
            Option("session", "ID", "search this session only, of whatever project"),
            Option("role", "ROLE", "only messages of this role: user, assistant, toolResult; repeatable"),
            Option("tag", "WORD", "only in sessions with this tag; repeatable"),
            AGENT,
            Option("label", "TEXT", "only entries with this label; repeatable"),
            SINCE,
            UNTIL,
            Option("exact", "", "only whole words: parse does not find parser"),
            Option("wait", "", "wait until all sessions are indexed, for at most a minute"),
            Option("limit", "N", "maximum number of results (default: 20)", short="n"),
            CURSOR,
            Option("no-redact", "", "do not redact keys and tokens where the output is no terminal of yours"),
            JSON,
        ),
        'QUERY consists of words and "phrases in quotes" that must all occur in one entry. A word of three or more\n'
        "letters also finds longer words that begin with it. Results of one session stand together, below its title.\n"
        "If nothing is found and not all sessions are indexed yet, the search waits for them. In a pipe, a file or\n"
        "the terminal of another user, secrets that an export removes are replaced, with --json, too.",
        paged=True,
    ),
    "recall": Command(
        "Answer a question with passages of the sessions of this project",
        "recall:recall",
        ("QUESTION",),
        (
            Option("also", "WORDS", "the question in other words, for better results; repeatable"),
            Option("all", "", "ask the sessions of all projects", short="a"),
            HERE,
            Option("cwd", "DIR", "ask the sessions of the project of this folder instead"),
            AGENT,
            Option("budget", "N", "maximum number of tokens of the result (default: 2000)"),
            Option("wait", "", "wait until all sessions are indexed, for at most a minute"),
            Option("limit", "N", "maximum number of passages (default: 10)", short="n"),
            JSON,
        ),
        "Not all words must occur. The best passages come first; the newest of several about one matter is marked.\n"
        "If nothing is found and not all sessions are indexed yet, the command waits for them.",
        ("sessiond recall 'how long do sessions last?' --also 'token expiry' --also 'logged out after'",),
        paged=True,
    ),
    "usage": Command(
        "Report the tokens and the cost of requests to models",
        "usage:usage",
        (),
        (
            Option("by", "KEY", "a row for each day (default), model, agent or project"),
            SINCE,
            UNTIL,
            Option("all", "", "count the sessions of all projects", short="a"),
            HERE,
            Option("cwd", "DIR", "count the sessions of the project of this folder instead"),
            AGENT,
            Option("wait", "", "wait until all sessions are indexed, for at most a minute"),
            JSON,
        ),
        "Each request counts once, whatever agent made it and however many sessions have a copy of it. ~ marks a cost"
        " with estimates from list prices, + one that lacks models without a known price. --by project counts all"
        " projects.",
        ("sessiond usage --all --since 7d", "sessiond usage --by model --since 2026-11 --all"),
        paged=True,
    ),
    "history": Command(
        "List the last prompts of all sessions, or delete some",
        "history:history",
        ("[QUERY]", "[ID…]"),
        (
            Option("cwd", "DIR", "only prompts that were sent in this folder"),
            Option("session", "ID", "only prompts that were sent to this session"),
            Option("limit", "N", "maximum number of results (default: 50)", short="n"),
            CURSOR,
            JSON,
        ),
        "QUERY consists of words, or parts of them, that must all occur. history delete ID… removes the prompts with"
        " these ids from the history for good; the sessions keep them.",
        ("sessiond history 'fla tes'", "sessiond history delete 5e1f09-17"),
        paged=True,
        writes=("history/delete",),
    ),
    "show": Command(
        "Show the properties of a session, or some of its entries in full",
        "sessions:show",
        ("[ID]",),
        (Option("entry", "ENTRY", "show this entry in full, with --json as it is stored; repeatable"), JSON),
        paged=True,
    ),
    "fork": Command(
        "Copy a path, or the whole tree, into a new session and print its id",
        "sessions:fork",
        ("[ID]",),
        (
            Option("at", "ENTRY", "copy the path up to and including this entry (default: the leaf)"),
            Option("before", "ENTRY", "copy the path up to this entry, without it"),
            Option("whole", "", "copy all branches and labels, instead of one path"),
            Option("cwd", "DIR", "the folder of the new session"),
            Option("title", "TEXT", "the title in lists"),
            JSON,
        ),
        writes=("session/fork",),
    ),
    "rename": Command(
        "Set the title of a session",
        "sessions:rename",
        ("[ID]", "TITLE"),
        (JSON,),
        "An empty TITLE ('') removes the title.",
        writes=("session/rename",),
    ),
    "tag": Command(
        "Change the tags of a session",
        "sessions:tag",
        ("[ID]",),
        (
            Option("add", "WORD", "add this tag; repeatable"),
            Option("remove", "WORD", "remove this tag; repeatable"),
            Option("set", "WORD", "replace all tags by this one; repeatable"),
            JSON,
        ),
        writes=("session/tag",),
    ),
    "move": Command(
        "Assign a session to another folder, for example after a project was renamed",
        "sessions:move",
        ("[ID]",),
        (Option("cwd", "DIR", "the new folder of the session (default: the current one)"), JSON),
        "A copy of the previous file is kept beside it.",
        writes=("session/move",),
    ),
}
