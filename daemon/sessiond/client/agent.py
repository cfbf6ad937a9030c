"""What an agent does with its session: append as it goes, ask for the context, compact, try again.

    async with connect(name="my-agent", summarize=summarize) as daemon:
        session = await AgentSession.resume(daemon)
        await session.compact_above(context_window=200_000)
        await session.append({"role": "user", "content": "Why is the build red?"})
        async with session.turn():
            context = await session.context("anthropic")
            answer = await ask_the_model(context.system, context.messages)
            await session.append(answer, format="anthropic")

It calls no model and decides nothing about one (decision 0001). Everything it knows can be asked of the daemon again,
so an agent that was killed goes on with a new `AgentSession`. For one event loop, and one agent at a time.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, Self

from msgspec import UNSET, UnsetType

from sessiond.client.chain import Chain
from sessiond.client.daemon import Daemon
from sessiond.client.patience import patiently
from sessiond.client.receiver import OnProgress
from sessiond.client.results import SessionContext
from sessiond.client.wire import Disconnected, RpcError
from sessiond.protocol import types as t

_NOT_COMPACTED: Final = frozenset(
    ("noSummarizer", "summarizerFailed", "nothingToCompact", "wouldBreakTree", "leafConflict", "readOnly")
)
"""Refusals of a compaction with which an agent can live as long as its context fits."""


class ContextOverflow(Exception):
    """The context takes {tokens} tokens, the model has room for {context_window}, and it was not compacted."""

    def __init__(self, tokens: int, context_window: int) -> None:
        super().__init__(
            f"The context takes {tokens} tokens, the model has room for {context_window}, "
            "and it was not compacted. Branch to an earlier entry, or give a summary to compact()."
        )
        self.tokens = tokens
        self.context_window = context_window


class AgentSession:
    """One session as its agent sees it; made by `create`, `open` or `resume`.

    `id` is the session's. `leaf_id` is where this agent stands: its last entry, or where it has branched to; None
    before the first entry. `daemon` is there for everything else.

    A refusal raises `RpcError` (match its `kind`), a request whose outcome is not known `Disconnected`. Appends
    and all that only reads outlive a restart of the daemon, and the session is then opened again.
    """

    def __init__(self, daemon: Daemon, found: t.SessionInfo) -> None:
        self.daemon = daemon
        self.id = found.session_id
        self._chain = Chain(daemon, found.session_id, found.leaf_id, log_id=found.log_id, seq=found.seq)
        self._in_turn = False
        self._gave_up = False  # a compaction was refused in this turn
        self._settings: t.CompactionSettings | None = None
        self._order = asyncio.Lock()
        daemon.keep_open(self.id)

    # --- attaching

    @classmethod
    async def create(
        cls,
        daemon: Daemon,
        cwd: str | None = None,
        *,
        id: str | None = None,
        title: str | None = None,
        parent_session: str | None = None,
        ephemeral: bool = False,
    ) -> Self:
        """A new session of the folder `cwd` (default: that of this process)."""
        made = await daemon.create(
            cwd, id=id, title=title, parent_session=parent_session, ephemeral=ephemeral
        )
        return cls(daemon, made.session)

    @classmethod
    async def open(cls, daemon: Daemon, session_id: str | None = None, *, path: str | None = None) -> Self:
        """The session with this id, or the beginning of one, or of this file."""
        return cls(daemon, (await daemon.open(session_id, path=path)).session)

    @classmethod
    async def resume(cls, daemon: Daemon, cwd: str | None = None) -> Self:
        """The session that this terminal had last, else the newest free one of `cwd`, else a new one."""
        return cls(daemon, (await daemon.continue_session(cwd)).session)

    async def close(self) -> None:
        """Use the session no more. If it is a draft that nobody else has open, it goes to the trash."""
        self.daemon.keep_open_no_more(self.id)
        await self.daemon.close(self.id)

    @property
    def leaf_id(self) -> str | None:
        """Where this agent stands."""
        return self._chain.leaf_id

    # --- appending

    async def append(
        self, message: Mapping[str, Any], *, format: t.Format = "agent", id: str | None = None
    ) -> str:
        """Append one message, on disk when this returns; the id of its entry.

        With a provider's `format` it may be that provider's message or whole answer; if it holds results of
        several tools it becomes several entries, and the id is that of the first. With an `id` of one's own the
        same message may be appended again for ever, and is there once.
        """
        draft = {"type": "message", "id": id or secrets.token_hex(4), "message": message}
        return (await self.append_entries([draft], format=format))[0]

    async def append_entries(
        self, entries: Sequence[Mapping[str, Any]], *, format: t.Format = "agent"
    ) -> list[str]:
        """Append entries of any type, all or none, and in the order of the calls; their ids.

        In a turn they hang on what this agent has appended before, whatever others do meanwhile; else on the
        leaf of the session.
        """
        # The ids are given once, here, so that whatever is sent again is found to be there already.
        drafts = [{"id": secrets.token_hex(4), **entry} for entry in entries]
        async with self._order:
            add = self._chain.extend if self._in_turn else self._chain.append_at_the_leaf
            return await patiently(lambda: add(drafts, format))

    async def change_model(self, model: str, *, role: str = "default") -> None:
        """Go on with another model, "provider/name". Appends nothing when it is the one in force."""
        provider, slash, name = model.partition("/")
        if not (provider and slash and name):
            raise ValueError(f"a model is named provider/name, not {model!r}")
        if (await self._seen("agent")).models.get(role) != model:
            entry = {
                "type": "model_change",
                "model": model,
                "role": role,
                "provider": provider,
                "modelId": name,
            }
            await self.append_entries([entry])

    async def change_thinking_level(self, level: str) -> None:
        """Think more or less from now on: "off", "low", "high". Appends nothing when it is so already."""
        if (await self._seen("agent")).thinking_level != level:
            await self.append_entries([{"type": "thinking_level_change", "thinkingLevel": level}])

    async def record(self, custom_type: str, data: Any) -> str:
        """Keep something of one's own in the session, any JSON value, that no model sees; its entry's id."""
        return (await self.append_entries([{"type": "custom", "customType": custom_type, "data": data}]))[0]

    async def label(self, entry_id: str, label: str | None) -> None:
        """Bookmark an entry; None or an empty one takes the bookmark away."""
        changed = await self.daemon.label(self.id, entry_id, label)
        await self._chain.follow_to(changed.session.leaf_id)

    async def rename(self, title: str) -> None:
        """Give the session a title; an empty one takes it away."""
        changed = await self.daemon.rename(self.id, title)
        await self._chain.follow_to(changed.session.leaf_id)

    # --- the context

    async def context(self, format: t.Format = "agent", *, explain: bool = False) -> SessionContext:
        """What the model is to see now, as messages of its provider.

        If the daemon compacts this session by itself and the context is too full for an answer, this waits for
        the compaction that is under way, or has one made. Raises `ContextOverflow` when the context does not fit
        into the window even so.
        """
        seen = await self._seen(format, explain=explain)
        settings = await self._limits()
        if not settings.enabled or seen.tokens <= settings.context_window - settings.reserve_tokens:
            return seen
        refusal: RpcError | None = None
        may_help = not self._gave_up or seen.tokens > settings.context_window
        if may_help and not self._chain.detached:  # only the session's own leaf can be compacted
            try:
                await self.compact()
            except RpcError as error:
                if error.kind not in _NOT_COMPACTED:
                    raise
                refusal, self._gave_up = error, True
            seen = await self._seen(format, explain=explain)
        if seen.tokens > settings.context_window:
            raise ContextOverflow(seen.tokens, settings.context_window) from refusal
        return seen

    async def compact_above(
        self,
        context_window: int,
        *,
        reserve_tokens: int | None = None,
        keep_recent_tokens: int | None = None,
    ) -> t.CompactionSettings:
        """Have the session compacted by itself when it leaves less than `reserve_tokens` of the window.

        Needs somebody who writes summaries: `connect(summarize=…)`, another client, or the configured command.
        The choice is a line of the log, written only when it is a new one. Returns the settings in force.
        """
        chosen = t.CompactionChoice(
            enabled=True,
            context_window=context_window,
            reserve_tokens=reserve_tokens,
            keep_recent_tokens=keep_recent_tokens,
        )
        if not _holds(chosen, await self._limits()):
            done = await self.daemon.configure(self.id, auto_compact=chosen)
            self._settings = done.auto_compact
            await self._chain.follow_to(done.entry_id)
        return await self._limits()

    async def compact(
        self,
        summary: str | None = None,
        *,
        first_kept_entry_id: str | None = None,
        instructions: str | None = None,
        progress: OnProgress | None = None,
    ) -> t.CompactResult:
        """Let a summary stand for the older part of the session: the given one, or one that is written now.

        If one is being written already, this waits for that. `undo` is `branch(result.previous_leaf_id)`.
        """
        done = await self.daemon.compact(
            self.id,
            summary=summary,
            first_kept_entry_id=first_kept_entry_id,
            instructions=instructions,
            progress=progress,
        )
        self._gave_up = False
        await self._chain.follow_to(done.leaf_id)
        return done

    # --- branching

    async def branch(
        self,
        target_id: str | None,
        *,
        summary: str | None = None,
        summarize: bool = False,
        instructions: str | None = None,
        expected_leaf: str | UnsetType | None = UNSET,
    ) -> t.BranchResult:
        """Go on from an earlier entry, or with None from before the first; nothing is removed.

        A `summary` says there what was left behind; with `summarize` the daemon has one written.
        """
        moved = await self.daemon.branch(
            self.id,
            target_id,
            summary=summary,
            summarize=summarize,
            instructions=instructions,
            expected_leaf=expected_leaf,
        )
        self._chain.stand_at(moved.leaf_id, t.After(log_id=moved.log_id, seq=moved.seq))
        return moved

    @asynccontextmanager
    async def turn(self, *, on_failure: Literal["branch", "summarize"] = "branch") -> AsyncIterator[None]:
        """What an agent does for one prompt: a chain of entries that nobody else gets between.

        It begins where the agent stands, usually at the user's message. An exception ends it as a failure: the
        leaf goes back to where the turn began, what was appended stays as a branch of its own, and the exception
        goes on; so a loop around the turn tries again. With `on_failure` "summarize" a summary of the failed
        branch, if one can be had, tells the next attempt about it. A turn that is cancelled stays as it is.
        """
        if self._in_turn:
            raise RuntimeError("there is a turn already: an agent takes one at a time")
        self._in_turn, self._gave_up = True, False
        self._chain.begin()
        try:
            yield
        except Exception as failure:
            await self._go_back(failure, summarize=on_failure == "summarize")
            raise
        finally:
            self._in_turn = False
            self._chain.end()

    async def retry(self, *, summary: str | None = None, summarize: bool = False) -> t.BranchResult:
        """Go back to where the last turn began, to have another answer; the one there is stays as a branch."""
        return await self.branch(self._chain.began_at, summary=summary, summarize=summarize)

    # --- working state

    async def state(self) -> t.WorkingState:
        """What this agent has to know to go on, without its history."""
        return (await self.daemon.state(self.id)).state

    async def begin_task(self, decision: str | None = None, because: str = "") -> t.BeginTaskResult:
        """Count a turn, and record a decision if one is given; `context` of the result is for a system prompt."""
        made = None if decision is None else t.NewDecision(decision=decision, rationale=because)
        begun = await self.daemon.begin_task(self.id, decision=made)
        await self._chain.follow_to(begun.entry_id)
        return begun

    # --- inside

    async def _seen(self, format: t.Format, *, explain: bool = False) -> SessionContext:
        seen = await self.daemon.context(self.id, format=format, explain=explain)
        if not self._in_turn:
            self._chain.stand_at(seen.leaf_id)
        elif not await self._chain.follow_to(seen.leaf_id):
            return await self._at_our_leaf(format, explain=explain)
        return seen

    async def _at_our_leaf(self, format: t.Format, *, explain: bool) -> SessionContext:
        return await self.daemon.context(self.id, self.leaf_id, format=format, explain=explain)

    async def _limits(self) -> t.CompactionSettings:
        if self._settings is None:
            self._settings = (await self.daemon.configure(self.id)).auto_compact
        return self._settings

    async def _go_back(self, failure: Exception, *, summarize: bool) -> None:
        """Leave a failed turn; what cannot be done about that is a note of the failure, which matters more."""
        if self.leaf_id == self._chain.began_at:
            return
        if self._chain.detached:  # the leaf of the session is elsewhere already
            self._chain.stand_at(self._chain.began_at)
            return
        try:
            if summarize:
                try:
                    await self.branch(self._chain.began_at, summarize=True, expected_leaf=self.leaf_id)
                except RpcError as error:
                    if error.kind not in ("noSummarizer", "summarizerFailed"):
                        raise
                    failure.add_note(f"The turn that failed was left without a summary: {error}")
                else:
                    return
            await self.branch(self._chain.began_at, expected_leaf=self.leaf_id)
        except (RpcError, Disconnected) as error:
            failure.add_note(f"The leaf may still be at the end of the turn that failed: {error}")


def _holds(chosen: t.CompactionChoice, settings: t.CompactionSettings) -> bool:
    """Whether the settings are as chosen already."""
    return all(
        wanted is None or wanted == there
        for wanted, there in (
            (chosen.enabled, settings.enabled),
            (chosen.context_window, settings.context_window),
            (chosen.reserve_tokens, settings.reserve_tokens),
            (chosen.keep_recent_tokens, settings.keep_recent_tokens),
        )
    )
