"""The command acp: an agent of the Agent Client Protocol for editors, which runs another agent and records it."""

from __future__ import annotations

from sessiond.agents.names import name_of
from sessiond.agents.table import AGENTS
from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessiond.cli.parse.arguments import ParsedArguments


def acp(args: ParsedArguments) -> int:
    """Run an agent behind a proxy on standard input and output."""
    words = args.trailing
    known = {name: list(agent.acp_command) for name, agent in AGENTS.items() if agent.acp_command}
    name = args.value("agent")
    if name is not None and name_of(name) in AGENTS:
        name = name_of(name)
    if len(words) == 1 and name is None and name_of(words[0]) in known:
        name = name_of(words[0])
        command = known[name]
    elif words:
        command = words
    elif name in known:
        command = known[name]
    else:
        raise UsageError(
            "acp requires an agent or a command",
            f"The agents are {', '.join(known)}; for any other: sessiond acp -- COMMAND…",
        )
    from sessiond.acp import main
    from sessiond.acp.stored_sessions import RecordedAgent

    name = name or _recognized(command, known)
    if name in AGENTS:
        return main.run(RecordedAgent(name, AGENTS[name].dialect or name), command)
    name = name or command[0].rpartition("/")[2]
    return main.run(RecordedAgent(name, f"acp-{name}"), command)


def _recognized(command: Sequence[str], known: dict[str, list[str]]) -> str | None:
    """Return the agent whose program is a word of a command, without its folder, scope and version."""
    words = {word.rpartition("/")[2].partition("@")[0] for word in command}
    return next((name for name, own in known.items() if own[0] in words), None)
