"""The arguments of the tools. The docstring of a type is the description of its tool, which models read."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

SessionName = Annotated[
    str,
    Meta(min_length=1, max_length=128, description="The id of a session, or at least its first 4 characters"),
]
EntryName = Annotated[str, Meta(min_length=1, max_length=64, description="The id of an entry")]
Cursor = Annotated[
    str, Meta(max_length=16_384, description="From an earlier result of this tool: the next page")
]
AgentName = Annotated[
    str,
    Meta(min_length=1, max_length=64, description="Only sessions of this agent: claude, codex, gemini, …"),
]
AllProjects = Annotated[
    bool,
    Meta(description="Sessions of all projects, not only the current one; only if the user asked for it"),
]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of the arguments."""


class ProjectArguments(Arguments, frozen=True, kw_only=True):
    """The base of the arguments of tools that read sessions of the current project unless told otherwise."""

    all_projects: AllProjects = False


class RecallArguments(ProjectArguments, frozen=True):
    """Answer a question from what was said and done in earlier sessions of all coding agents on this machine.

    Use it before work that may have been done or decided before. Paraphrase the question in `also`, with other words
    (synonyms, names of files, functions, errors): passages are found by words, so that three to eight wordings find
    much more than one. Returns the most telling passages, best first, each with its session, entry, agent and time.
    """

    question: Annotated[str, Meta(min_length=1, max_length=1_000, description="The question, or key words")]
    also: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1_000)]],
        Meta(max_length=8, description="Other wordings of the question, with other words: 3 to 8"),
    ] = []
    budget_tokens: Annotated[int, Meta(ge=100, description="Limit of the result in tokens, at most 2200")] = (
        2_000
    )
    agent: AgentName | None = None


class SearchArguments(ProjectArguments, frozen=True):
    """Find entries of earlier sessions by their exact words: names, error messages, commands, file names.

    All words must occur in one entry. For a question in your own words, use `recall`. Best hits first.
    """

    query: Annotated[
        str, Meta(min_length=1, max_length=1_000, description='Words, "quoted phrases" and beginnings*')
    ]
    session_id: SessionName | None = None
    agent: AgentName | None = None
    role: (
        Annotated[str, Meta(max_length=64, description="Only messages of: user, assistant, toolResult")]
        | None
    ) = None
    since: (
        Annotated[str, Meta(max_length=40, description="Only entries of this time or later, ISO 8601")] | None
    ) = None
    cursor: Cursor | None = None
    limit: Annotated[int, Meta(ge=1, description="Hits on a page, at most 20")] = 10


class ListArguments(ProjectArguments, frozen=True):
    """List earlier sessions of coding agents, the most recently updated first."""

    query: (
        Annotated[
            str,
            Meta(max_length=1_000, description="Only sessions whose title or first prompt has these words"),
        ]
        | None
    ) = None
    agent: AgentName | None = None
    tags: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(max_length=20, description="Only sessions with all of these tags"),
    ] = []
    cursor: Cursor | None = None
    limit: Annotated[int, Meta(ge=1, description="Sessions on a page, at most 30")] = 15


class OverviewArguments(ProjectArguments, frozen=True):
    """Show what a session was about, without reading it.

    It has the title, agent, folder, files touched, decisions, tokens, branches, the first prompt and the last answer.
    """

    session_id: SessionName


class ReadArguments(ProjectArguments, frozen=True):
    """Read a session: its entries in order, in pages; or around one entry; or one long entry in full.

    Without `branch`, the branch is the one that the session is on.
    """

    session_id: SessionName
    around: EntryName | None = None
    entry: EntryName | None = None
    from_character: Annotated[int, Meta(ge=0, description="With entry: where to go on in its text")] = 0
    branch: EntryName | None = None
    newest_first: Annotated[bool, Meta(description="Begin at the end of the session")] = False
    cursor: Cursor | None = None


class CompareArguments(ProjectArguments, frozen=True):
    """Compare two branches of a session from where they part: files, tokens, prompts and last answers of each side.

    `session_overview` lists the branches.
    """

    session_id: SessionName
    left: EntryName
    right: EntryName | None = None


class UsageArguments(ProjectArguments, frozen=True):
    """Report the tokens and the cost of requests to models, by day, model, agent or project."""

    by: Annotated[Literal["day", "model", "agent", "project"], Meta(description="The subject of a row")] = (
        "day"
    )
    since: (
        Annotated[str, Meta(max_length=40, description="Only requests of this time or later, ISO 8601")]
        | None
    ) = None
    until: (
        Annotated[str, Meta(max_length=40, description="Only requests of this time or earlier, ISO 8601")]
        | None
    ) = None
    agent: AgentName | None = None


class LabelArguments(ProjectArguments, frozen=True):
    """Put a label on an entry of a session, so that it is found again. An empty label removes it."""

    session_id: SessionName
    entry_id: EntryName
    label: Annotated[str, Meta(max_length=200, description="The label; empty removes it")]


class TagArguments(ProjectArguments, frozen=True):
    """Add tags to a session, or remove tags. Sessions can be listed by their tags."""

    session_id: SessionName
    add: Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=20)] = []
    remove: Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=20)] = []


class ForkArguments(ProjectArguments, frozen=True):
    """Copy a session, up to an entry, into a new session that the user can continue. The original is unchanged."""

    session_id: SessionName
    entry_id: EntryName | None = None
    title: Annotated[str, Meta(max_length=200, description="The title of the new session")] | None = None


class NoteArguments(Arguments, frozen=True):
    """Save a note about this project, such as a decision and its reason, for later sessions of any agent.

    `recall` and `search_sessions` find it. Write it so that it is understood without this conversation.
    """

    text: Annotated[str, Meta(min_length=1, max_length=8_000, description="The note")]
    session_id: SessionName | None = None
