"""Working state: what an agent has to know to go on without its history."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from sessiond.client.methods.base import Methods
from sessiond.protocol import methods as m, types as t


class StateMethods(Methods):
    """What is asked of the working state, which every point of the tree has its own of.

    A change counts once, also when its answer was lost and it is sent again.
    """

    async def state(self, session_id: str, leaf_id: str | UnsetType | None = UNSET) -> t.StateResult:
        return await self.call(m.STATE, t.StateParams(session_id=session_id, leaf_id=leaf_id))

    async def update_state(
        self,
        session_id: str,
        *,
        decision: t.NewDecision | None = None,
        artifact: t.Artifact | None = None,
        tokens: int | None = None,
        turns: int | None = None,
        plan: str | None = None,
        tags: Sequence[str] | None = None,
        model: str | None = None,
        agent_name: str | None = None,
        compress: bool = False,
        limits: t.PruneLimits | None = None,
        id: str | None = None,
        command_id: str | None = None,
    ) -> t.UpdateStateResult:
        params = t.UpdateStateParams(
            session_id=session_id,
            id=id,
            decision=decision,
            artifact=artifact,
            tokens=tokens,
            turns=turns,
            plan=plan,
            tags=None if tags is None else list(tags),
            model=model,
            agent_name=agent_name,
            compress=compress,
            limits=limits,
            command_id=command_id,
        )
        return await self.call(m.UPDATE_STATE, params)

    async def begin_task(
        self,
        session_id: str,
        *,
        decision: t.NewDecision | None = None,
        limits: t.PruneLimits | None = None,
        id: str | None = None,
        command_id: str | None = None,
    ) -> t.BeginTaskResult:
        params = t.BeginTaskParams(
            session_id=session_id, id=id, decision=decision, limits=limits, command_id=command_id
        )
        return await self.call(m.BEGIN_TASK, params)
