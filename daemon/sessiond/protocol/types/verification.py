"""Verification: agent/verify."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.agents import AgentName
from sessiond.protocol.types.shared import Params, ProgressToken, Wire


class AgentVerifyParams(Params, frozen=True):
    """Check that everything that agents wrote is here whole, and return the gaps.

    A source that is unchanged since it was read is whole if its session has not become smaller. Any other is read again
    and compared with its session, entry by entry. With `deep`, all are.
    """

    agents: Annotated[list[AgentName], Meta(max_length=100)] | None = None  # default: the followed agents
    deep: bool = False  # read every source again
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class AgentVerification(Wire, frozen=True):
    """The sources of one agent: session files, or sessions in its databases."""

    agent: str  # the name of the agent
    file_count: int  # the number of its sources
    size_bytes: int  # their size
    whole_count: int  # those that are here whole
    empty_count: int  # those without content
    deleted_count: int  # those whose session is in the trash
    left_out_count: int  # those that are excluded, or whose session was forgotten
    entry_count: int | None  # compared entries; null without `deep`


class VerifiedGap(Wire, frozen=True):
    """A source that is not here whole."""

    agent: str  # the agent
    path: str  # the absolute path of the source
    kind: Annotated[str, opened("GapKind")]  # the kind of gap
    message: str  # the gap, as a sentence
    advice: str  # the next action
    session_id: str | None  # its session, if it is known


class AgentVerifyResult(Wire, frozen=True):
    """The gaps. If `gapCount` is 0, everything is here."""

    agents: list[AgentVerification]  # a row for each agent
    gaps: list[VerifiedGap]  # the first 1000
    gap_count: int  # the number of all gaps
    deep: bool  # as requested
