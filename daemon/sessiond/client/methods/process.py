"""The daemon itself: status, clients, doctor, stop, drain."""

from sessiond.client.methods.base import Methods
from sessiond.protocol import methods as m, types as t


class ProcessMethods(Methods):
    """What is asked of the daemon as a process."""

    async def status(self) -> t.StatusResult:
        return await self.call(m.STATUS, t.StatusParams())

    async def clients(self) -> t.ClientsResult:
        return await self.call(m.CLIENTS, t.ClientsParams())

    async def doctor(self, *paths: str, fix: bool = False) -> t.DoctorResult:
        """What is wrong with what lies on disk, or at these absolute paths; with `fix` it is mended where it may be."""
        return await self.call(m.DOCTOR, t.DoctorParams(paths=list(paths), fix=fix))

    async def stop(self) -> t.StopResult:
        return await self.call(m.STOP, t.StopParams())

    async def authenticate(self, token: str) -> t.AuthenticateResult:
        """Only over a connection of one's own making: those of this package have shown the token already."""
        return await self.call(m.AUTHENTICATE, t.AuthenticateParams(token=token))

    async def drain(self, *, reason: str | None = None, within: float = 10.0) -> t.DrainResult:
        return await self.call(m.DRAIN, t.DrainParams(reason=reason, within=within))
