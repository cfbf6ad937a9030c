"""The session of one agent: appends entries, reads the context, compacts, and retries failed turns.

    async with connect(name="my-agent", summarize=summarize) as daemon:
        session = await AgentSession.resume(daemon)
        await session.compact_above(context_window=200_000)
        await session.append({"role": "user", "content": "Why is the build red?"})
        async with session.turn():
            context = await session.context("anthropic")
            answer = await ask_the_model(context.system, context.messages)
            await session.append(answer, format="anthropic")

The module calls no model and makes no decision about one (decision 0001). The daemon has all of its state, so an
agent that was killed continues with a new `AgentSession`. An `AgentSession` belongs to one event loop and one agent.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, Self

from msgspec import UNSET, UnsetType

from sessiond.client.chain import EntryChain
from sessiond.client.daemon import Daemon
from sessiond.client.receiver import OnProgress
from sessiond.client.results import SessionContext
from sessiond.client.retries import retry_while_unavailable
from sessiond.client.wire import DisconnectedError, RpcError
from sessiond.error_text import TemplatedError
from sessiond.protocol import types as t

_NOT_COMPACTED: Final = frozenset(
    ("noSummarizer", "summarizerFailed", "nothingToCompact", "wouldBreakTree", "leafConflict", "readOnly")
)
"""Error kinds of a refused compaction after which the agent continues as long as its context fits."""


class ContextOverflowError(TemplatedError):
    """Raised when a context does not fit into the model and compaction has not made it fit; sizes are in tokens."""

    sentence = "The context takes {tokens} tokens, the model has room for {context_window}, and it was not compacted."
    advice = "Branch to an earlier entry, or give a summary to compact()."

    def __init__(self, tokens: int, context_window: int) -> None:
        super().__init__(tokens=tokens, context_window=context_window)
        self.tokens = tokens
        self.context_window = context_window


class AgentSession:
    """One session from the point of view of its agent; made by `create`, `open` or `resume`.

    Appends and read-only requests survive a restart of the daemon; the session is then opened again.

    Attributes:
        id: The id of the session.
        leaf_id: The agent's position: its last entry, or the target of its last branch; None before the first entry.
        daemon: The daemon, for all other requests.
    """

    def __init__(self, daemon: Daemon, found: t.SessionInfo) -> None:
        self.daemon = daemon
        self.id = found.session_id
        self._chain = EntryChain(
            daemon, found.session_id, found.leaf_id, log_id=found.log_id, seq=found.last_seq
        )
        self._in_turn = False
        self._compaction_refused = False  # True after a compaction was refused in this turn
        self._settings: t.CompactionSettings | None = None
        self._append_lock = asyncio.Lock()
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
        parent_session_id: str | None = None,
        parent_path: str | None = None,
        ephemeral: bool = False,
    ) -> Self:
        """Create a session.

        Args:
            daemon: The daemon.
            cwd: The folder of the session. Default: the folder of this process.
            id: The id of the session. Default: a UUID4.
            title: The title.
            parent_session_id: The session from which it is made.
            parent_path: Instead of `parent_session_id`: the path of its file.
            ephemeral: Keep the session in memory only.

        Returns:
            The session, at its root.

        Raises:
            RpcError: The daemon refused the request; `kind` is for example `alreadyExists`.
            DisconnectedError: The connection was lost in both attempts.
        """
        made = await daemon.create(
            cwd, id=id, title=title, parent_session_id=parent_session_id, parent_path=parent_path,
            ephemeral=ephemeral,
        )  # fmt: skip
        return cls(daemon, made.session)

    @classmethod
    async def open(cls, daemon: Daemon, session_id: str | None = None, *, path: str | None = None) -> Self:
        """Open a session that exists.

        Args:
            daemon: The daemon.
            session_id: The whole id of the session; this or `path`.
            path: The absolute path of a session file.

        Returns:
            The session, at its leaf.

        Raises:
            RpcError: The daemon refused the request; `kind` is for example `sessionNotFound`.
            DisconnectedError: The connection was lost before the response, so the outcome is unknown.
        """
        return cls(daemon, (await daemon.open(session_id, path=path)).session)

    @classmethod
    async def resume(cls, daemon: Daemon, cwd: str | None = None) -> Self:
        """Open the session that `session/continue` chooses.

        It is the session that this terminal used last in `cwd`, else the newest one that no other terminal holds,
        else a new one.

        Args:
            daemon: The daemon.
            cwd: The folder of the session. Default: the folder of this process.

        Returns:
            The session, at its leaf.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        return cls(daemon, (await daemon.continue_session(cwd)).session)

    async def close(self) -> None:
        """Close the session. A draft session that no other client has open is moved to the trash.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost before the response, so the outcome is unknown.
        """
        self.daemon.stop_keeping_open(self.id)
        await self.daemon.close(self.id)

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one is appended to; None before the first entry."""
        return self._chain.leaf_id

    # --- appending

    async def append(
        self, message: Mapping[str, Any], *, format: t.Format = "agent", id: str | None = None
    ) -> str:
        """Append one message. It is synced to the disk when this returns.

        Args:
            message: The message. With a provider's `format` it may also be the provider's complete response. A message
                with the results of several tools becomes several entries.
            format: The format of the message.
            id: The id of the new entry. Messages that are appended with the same id are stored once. Default: a
                new id.

        Returns:
            The id of the entry; of several, that of the first.

        Raises:
            RpcError: The daemon refused the request, and nothing was stored.
            DisconnectedError: The daemon did not return in time.
        """
        draft = {"type": "message", "id": id or secrets.token_hex(4), "message": message}
        return (await self.append_entries([draft], format=format))[0]

    async def append_entries(
        self, entries: Sequence[Mapping[str, Any]], *, format: t.Format = "agent"
    ) -> list[str]:
        """Append entries of any type, all or none, in the order of the calls.

        In a turn, their parent is the last entry of this agent, even if other clients append meanwhile. Otherwise it
        is the leaf of the session.

        Args:
            entries: The entries, in the order of the log. Those without an id get one.
            format: The format of the messages in them.

        Returns:
            The ids of the entries.

        Raises:
            RpcError: The daemon refused the request, and nothing was stored.
            DisconnectedError: The daemon did not return in time.
        """
        # The ids are assigned here, once, so that the daemon recognizes entries that are sent again.
        drafts = [{"id": secrets.token_hex(4), **entry} for entry in entries]
        async with self._append_lock:
            append_drafts = self._chain.extend if self._in_turn else self._chain.append_at_the_leaf
            return await retry_while_unavailable(lambda: append_drafts(drafts, format))

    async def change_model(self, model: str, *, role: str = "default") -> None:
        """Record the model that is used from now on. Appends nothing if it is already in force.

        Args:
            model: The model, as "provider/name".
            role: The role of the model.

        Raises:
            ValueError: `model` does not have that form.
            RpcError: The daemon refused the request.
            DisconnectedError: The daemon did not return in time.
        """
        provider, slash, name = model.partition("/")
        if not (provider and slash and name):
            raise ValueError(f"a model is named provider/name, not {model!r}")
        if (await self._read_context("agent")).models.get(role) != model:
            entry = {
                "type": "model_change",
                "model": model,
                "role": role,
                "provider": provider,
                "modelId": name,
            }
            await self.append_entries([entry])

    async def change_thinking_level(self, level: str) -> None:
        """Record a new thinking level. Appends nothing if it is already in force.

        Args:
            level: The level, such as "off", "low" or "high".

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The daemon did not return in time.
        """
        if (await self._read_context("agent")).thinking_level != level:
            await self.append_entries([{"type": "thinking_level_change", "thinkingLevel": level}])

    async def record(self, custom_type: str, data: Any) -> str:
        """Append a custom entry, which is not part of any context.

        Args:
            custom_type: The name of its type.
            data: Any JSON value.

        Returns:
            The id of the entry.

        Raises:
            RpcError: The daemon refused the request, and nothing was stored.
            DisconnectedError: The daemon did not return in time.
        """
        return (await self.append_entries([{"type": "custom", "customType": custom_type, "data": data}]))[0]

    async def label(self, entry_id: str, label: str | None) -> None:
        """Label an entry.

        Args:
            entry_id: The id of the entry.
            label: The label; None or an empty one removes it.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        changed = await self.daemon.label(self.id, entry_id, label)
        await self._chain.advance_to(changed.session.leaf_id)

    async def rename(self, title: str) -> None:
        """Give the session a title.

        Args:
            title: The title; an empty one removes it.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        changed = await self.daemon.rename(self.id, title)
        await self._chain.advance_to(changed.session.leaf_id)

    # --- the context

    async def context(self, format: t.Format = "agent", *, explain: bool = False) -> SessionContext:
        """Read the context of the model.

        If the session is compacted automatically (`compact_above`) and the context leaves less than the reserve for a
        response, this method waits for the compaction that is in progress, or requests one.

        Args:
            format: The provider whose API accepts the messages unchanged; "agent" is the agents' own format.
            explain: Explain for every entry of the path why it is in the context or not.

        Returns:
            The messages, with the models in force and the size in tokens.

        Raises:
            ContextOverflowError: The context does not fit into the window, and it was not compacted.
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        session_context = await self._read_context(format, explain=explain)
        settings = await self._compaction_settings()
        if (
            not settings.enabled
            or session_context.tokens <= settings.context_window - settings.reserve_tokens
        ):
            return session_context
        refusal: RpcError | None = None
        may_help = not self._compaction_refused or session_context.tokens > settings.context_window
        if may_help and not self._chain.detached:  # the daemon compacts only at the session's leaf
            try:
                await self.compact()
            except RpcError as error:
                if error.kind not in _NOT_COMPACTED:
                    raise
                refusal, self._compaction_refused = error, True
            session_context = await self._read_context(format, explain=explain)
        if session_context.tokens > settings.context_window:
            raise ContextOverflowError(session_context.tokens, settings.context_window) from refusal
        return session_context

    async def compact_above(
        self,
        context_window: int,
        *,
        reserve_tokens: int | None = None,
        keep_recent_tokens: int | None = None,
    ) -> t.CompactionSettings:
        """Have the daemon compact the session when its context leaves less than `reserve_tokens` of the window.

        Compaction needs a summarizer: `connect(summarize=…)`, another client, or the configured command. The choice is
        stored as an entry, only if it changes the settings.

        Args:
            context_window: The window of the model, in tokens.
            reserve_tokens: Tokens that are reserved for a response. Default: the configured value.
            keep_recent_tokens: Tokens of the newest entries that stay. Default: the configured value.

        Returns:
            The settings in force.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        chosen = t.CompactionChoice(
            enabled=True,
            context_window=context_window,
            reserve_tokens=reserve_tokens,
            keep_recent_tokens=keep_recent_tokens,
        )
        if not _is_in_force(chosen, await self._compaction_settings()):
            done = await self.daemon.configure(self.id, auto_compact=chosen)
            self._settings = done.auto_compact
            await self._chain.advance_to(done.record_id)
        return await self._compaction_settings()

    async def compact(
        self,
        summary: str | None = None,
        *,
        first_kept_entry_id: str | None = None,
        instructions: str | None = None,
        progress: OnProgress | None = None,
    ) -> t.CompactResult:
        """Replace the older part of the context by a summary: the given one, or a new one.

        If a summary is in progress, this method waits for it. `branch(result.previous_leaf_id)` undoes the compaction.

        Args:
            summary: The summary. Default: a summarizer writes one.
            first_kept_entry_id: The first entry that stays; only with `summary`.
            instructions: Points that the summary should emphasize.
            progress: Called with each step of the work.

        Returns:
            The compaction, and the leaf before it.

        Raises:
            RpcError: The daemon refused the request; `kind` is for example `noSummarizer` or `nothingToCompact`.
            DisconnectedError: The connection was lost in both attempts.
        """
        done = await self.daemon.compact(
            self.id,
            summary=summary,
            first_kept_entry_id=first_kept_entry_id,
            instructions=instructions,
            progress=progress,
        )
        self._compaction_refused = False
        await self._chain.advance_to(done.leaf_id)
        return done

    # --- branching

    async def branch(
        self,
        target_id: str | None,
        *,
        summary: str | None = None,
        summarize: bool = False,
        instructions: str | None = None,
        expected_leaf_id: str | UnsetType | None = UNSET,
    ) -> t.BranchResult:
        """Move the leaf to an earlier entry. Nothing is removed.

        Args:
            target_id: The new leaf; None is before the first entry.
            summary: A summary of the branch that the leaf leaves. It is stored at the target.
            summarize: Have such a summary written.
            instructions: Points that the summary should emphasize.
            expected_leaf_id: Refuse with `leafConflict` if the leaf is a different one.

        Returns:
            The leaf after the move, and the one before.

        Raises:
            RpcError: The daemon refused the request, and the leaf stays; `kind` is for example `leafConflict`.
            DisconnectedError: The connection was lost in both attempts.
        """
        moved = await self.daemon.branch(
            self.id,
            target_id,
            summary=summary,
            summarize=summarize,
            instructions=instructions,
            expected_leaf_id=expected_leaf_id,
        )
        self._chain.move_to(moved.leaf_id, t.After(log_id=moved.log_id, seq=moved.seq))
        return moved

    @asynccontextmanager
    async def turn(self, *, on_failure: Literal["branch", "summarize"] = "branch") -> AsyncIterator[None]:
        """Append all entries for one prompt as a chain, with no entry of another client in between.

        The turn begins at the agent's position, usually at the user's message. If the block raises, the leaf moves
        back to where the turn began, the appended entries stay as a branch, and the exception is raised again, so
        that a loop around the turn can retry it. If the turn is canceled, its entries and the leaf stay.

        Args:
            on_failure: "summarize" stores a summary of a failed branch, if one can be written, for the next attempt.

        Returns:
            An asynchronous context manager.

        Raises:
            RuntimeError: Another turn of this agent is in progress.
        """
        if self._in_turn:
            raise RuntimeError("a turn is already in progress")
        self._in_turn, self._compaction_refused = True, False
        self._chain.begin_turn()
        try:
            yield
        except Exception as failure:
            await self._restore_leaf(failure, summarize=on_failure == "summarize")
            raise
        finally:
            self._in_turn = False
            self._chain.end_turn()

    async def retry(self, *, summary: str | None = None, summarize: bool = False) -> t.BranchResult:
        """Move the leaf back to where the last turn began. The entries of the turn stay as a branch.

        Args:
            summary: A summary of the branch that the leaf leaves. It is stored at the target.
            summarize: Have such a summary written.

        Returns:
            The leaf after the move, and the one before.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        return await self.branch(self._chain.turn_start_id, summary=summary, summarize=summarize)

    # --- working state

    async def state(self) -> t.WorkingState:
        """Read the working state: what an agent needs to resume without its history.

        Returns:
            The working state at the leaf of the session.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        return (await self.daemon.state(self.id)).state

    async def begin_task(self, decision: str | None = None, because: str = "") -> t.StateBeginTaskResult:
        """Count a turn in the working state, and record a decision if one is given.

        Args:
            decision: The decision.
            because: Its reason.

        Returns:
            The initial information for an agent; `context` is a few lines for its system prompt.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in both attempts.
        """
        made = None if decision is None else t.NewDecision(decision=decision, rationale=because)
        begun = await self.daemon.begin_task(self.id, decision=made)
        await self._chain.advance_to(begun.record_id)
        return begun

    # --- details

    async def _read_context(self, format: t.Format, *, explain: bool = False) -> SessionContext:
        session_context = await self.daemon.context(self.id, format=format, explain=explain)
        if not self._in_turn:
            self._chain.move_to(session_context.leaf_id)
        elif not await self._chain.advance_to(session_context.leaf_id):
            return await self._context_at_own_leaf(format, explain=explain)
        return session_context

    async def _context_at_own_leaf(self, format: t.Format, *, explain: bool) -> SessionContext:
        return await self.daemon.context(self.id, self.leaf_id, format=format, explain=explain)

    async def _compaction_settings(self) -> t.CompactionSettings:
        if self._settings is None:
            self._settings = (await self.daemon.configure(self.id)).auto_compact
        return self._settings

    async def _restore_leaf(self, failure: Exception, *, summarize: bool) -> None:
        """Move the leaf back after a failed turn. Errors here become notes of `failure`, which is raised again."""
        if self.leaf_id == self._chain.turn_start_id:
            return
        if self._chain.detached:  # the leaf of the session is elsewhere
            self._chain.move_to(self._chain.turn_start_id)
            return
        try:
            if summarize:
                try:
                    await self.branch(
                        self._chain.turn_start_id, summarize=True, expected_leaf_id=self.leaf_id
                    )
                except RpcError as error:
                    if error.kind not in ("noSummarizer", "summarizerFailed"):
                        raise
                    failure.add_note(f"The failed turn was left without a summary: {error}")
                else:
                    return
            await self.branch(self._chain.turn_start_id, expected_leaf_id=self.leaf_id)
        except (RpcError, DisconnectedError) as error:
            failure.add_note(f"The leaf may still be at the end of the failed turn: {error}")


def _is_in_force(chosen: t.CompactionChoice, settings: t.CompactionSettings) -> bool:
    """Return whether the settings already have the chosen values."""
    return all(
        chosen_value is None or chosen_value == current_value
        for chosen_value, current_value in (
            (chosen.enabled, settings.enabled),
            (chosen.context_window, settings.context_window),
            (chosen.reserve_tokens, settings.reserve_tokens),
            (chosen.keep_recent_tokens, settings.keep_recent_tokens),
        )
    )
