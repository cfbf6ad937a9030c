"""Agents on this machine: agent/list, agent/follow, agent/unfollow, agent/forget, agent/wake."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import Params, ProgressToken, Wire

AgentName = Annotated[str, Meta(min_length=1, max_length=64)]
VariableName = Annotated[str, Meta(min_length=1, max_length=64)]


class AgentListParams(Params, frozen=True):
    """List the agents that sessiond knows, and what it knows of their sessions on this machine.

    The files of an agent are counted, not read. The numbers of stored sessions are those of earlier imports.
    """


class AgentProblem(Wire, frozen=True):
    """A file or folder of an agent that is not read, or not completely."""

    path: str  # the absolute path
    message: str  # the problem, as a sentence
    line: int | None = None  # the first line with the problem, 1-based; null if it concerns no line
    advice: str = ""  # how to solve it


class AgentInfo(Wire, frozen=True):
    """One agent."""

    name: str  # its name in requests and in the configuration
    title: str  # its name for people
    short_name: str  # its name in a column, at most 8 letters
    program: str  # the program that starts it
    format: str | None  # the format of its sessions; null if sessiond cannot read them
    checked_version: str | None  # the newest version that was checked; null if known from documents only
    newest_version: (
        str | None
    )  # the newest version that wrote a session here; null if no file names its version
    is_unchecked_version: bool  # whether that version is newer than the checked one
    folders: list[str]  # the absolute paths of the folders that may hold its sessions
    variables: list[str]  # the environment variables that move these folders
    is_writable: bool  # whether `session/resume` can write a session for it
    is_followed: bool  # whether its sessions are read as it writes them
    file_count: int  # the number of its session files, or of the sessions in its databases
    size_bytes: int  # the size of these files or databases
    last_written_at: str | None  # when the newest of them was written (ISO 8601); null without files
    session_count: int  # the number of sessions here that came from these files
    stored_bytes: int  # the size of these sessions here, with their blobs
    waiting_count: int  # files or sessions that are still to be read, if it is followed
    queued_count: int  # files or sessions to be read at the last check of all files
    not_understood: dict[str, int]  # lines that are stored unchanged, by kind: the 100 most frequent kinds
    problems: list[AgentProblem]  # files and databases that are not read completely: the first 20
    problem_count: int  # the number of all these files
    failure: str | None = None  # why it cannot be followed at present, although `isFollowed` is true


class AgentListResult(Wire, frozen=True):
    """The agents that sessiond knows, in a fixed order."""

    agents: list[AgentInfo]  # also agents that are not on this machine
    user_home: str | None = None  # the home folder below which the daemon looks for agents
    idle_exit_ms: int | None = None  # how long the daemon runs without clients; null: no limit


class AgentFollowParams(Params, frozen=True):
    """Follow agents: import their sessions now, and from then on what they write, as soon as they write it.

    The request adds the agents to `agents.follow` of the configuration file. Files of agents are only read. The
    first import runs in the background; `agent/list` reports how many files are left. With `workDoneToken`, the client
    receives progress, and the response follows when all files are read. A cancellation then ends only the waiting.
    """

    agents: Annotated[list[AgentName], Meta(max_length=100)] | None = None  # names of agents; this or `all`
    all: bool = False  # follow all agents that sessiond can read and that have sessions here
    # HOME and the variables that `agent/list` names, as the client has them: the folders that they name are followed,
    # too, and are written to `agents.folders` of the configuration file
    environment: (
        Annotated[dict[VariableName, Annotated[str, Meta(max_length=4096)]], Meta(max_length=100)] | None
    ) = None
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class AgentFollowResult(Wire, frozen=True):
    """The agents that are followed now."""

    followed: list[str]  # their names


class AgentUnfollowParams(Params, frozen=True):
    """Stop following agents. Their sessions here stay."""

    agents: Annotated[list[AgentName], Meta(max_length=100)] | None = None  # names of agents; this or `all`
    all: bool = False  # unfollow all agents


class AgentForgetParams(Params, frozen=True):
    """Stop following an agent, and move all sessions here that came from its files to the trash.

    The agent's own files are unchanged. `trash/restore` brings a session back. If the agent is followed again, its
    files are imported again.
    """

    agent: AgentName  # its name
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class AgentForgetResult(Wire, frozen=True):
    """The sessions that were moved to the trash."""

    deleted_count: int  # the number of sessions that were moved
    failed: list[AgentProblem]  # files whose session could not be moved: the first 20
    failed_count: int  # the number of all these files


class AgentWakeParams(Params, frozen=True):
    """Check the files of a followed agent now. The response does not wait for the check.

    A hook of the agent sends this request, so that also a file system without notifications costs no time. When a
    session begins, the hook names its folder, and the response may have a note for the agent's model. A hook also names
    the process of the agent, so that the session's `origin` has `ended` when this process ends.
    """

    agent: AgentName  # its name
    path: Annotated[str, Meta(min_length=1, max_length=4096)] | None = (
        None  # only this file; an absolute path
    )
    starting_in: Annotated[str, Meta(min_length=1, max_length=4096)] | None = (
        None  # the folder of a session that begins now, an absolute path
    )
    session_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = (
        None  # the agent's id of the session, for an agent with a database
    )
    pid: Annotated[int, Meta(ge=1, lt=2**31)] | None = None  # the process id of the agent
    start_time: Annotated[int, Meta(ge=0)] | None = (
        None  # when that process started, in clock ticks after boot
    )
    ended: bool = False  # the agent has ended the session


class AgentWakeResult(Wire, frozen=True):
    """Whether the files are checked, and the note."""

    is_followed: bool  # false: the agent is not followed, and nothing was checked
    note: str | None = None  # about the last sessions of the project, if the configuration asks for it
