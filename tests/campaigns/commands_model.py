"""Requests that may be sent again: what clients ask for, what they were answered, and what must have come of it."""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar

from campaigns.campaign import hold
from campaigns.wires import message, reply

_CHANGING: Final = frozenset(("duplicate", "session", "autoCompact", "logId"))
"""The fields of an answer about the session as it is now, or about the request itself."""
_SMALL: Final = {"contextWindow": 4_000, "reserveTokens": 1_000, "keepRecentTokens": 500}
_NOT_NOW: Final = frozenset(("nothingToCompact", "wouldBreakTree", "leafConflict"))
"""Refusals that depend on where others have moved the leaf."""

State = Literal["live", "trashed", "gone"]
T = TypeVar("T")


@dataclass
class Request:
    """A request that writes, under all its repeats.

    It writes `lines` to `session`, or none; `makes` says that it makes a session. `answer` is what the first answer
    said of the request itself, `refused` the kind of its refusal. `lost` are sendings that the daemon may have
    carried out without an answer, `unread` those that it was killed before it could read.
    """

    method: str
    params: dict[str, Any]
    session: str | None = None
    lines: int = 0
    makes: bool = False
    answer: dict[str, Any] | None = None
    refused: str | None = None
    lost: int = 0
    unread: int = 0
    answers: int = 0
    made_new: int = 0

    @property
    def id(self) -> str:
        """Its `commandId`, or the id of the first entry of an append."""
        return str(
            self.params["commandId"] if "commandId" in self.params else self.params["entries"][0]["id"]
        )

    @property
    def settled(self) -> bool:
        return self.answer is not None or self.refused is not None

    def take(self, results: list[dict[str, Any]], refusals: Sequence[str] = (), lost: int = 0) -> None:
        """Hear what came of sendings of the same moment: answers, kinds of refusals, and how many are without either.

        A refused request may be carried out by a later attempt. Raises `Broken` when these are not the
        answers to one request.
        """
        known = self.answer is not None
        self.lost += lost
        for kind in refusals:
            hold(not known, f"{self}: it was answered, and later refused as {kind}")
            hold(self.method == "session/compact" and kind in _NOT_NOW, f"{self}: it was refused as {kind}")
            if not results and not lost:
                self.refused = kind
        for result in sorted(results, key=_is_repeat):
            repeat, told = _is_repeat(result), _facts(result)
            self.made_new += not repeat
            self.answers += 1
            hold(repeat or not known, f"{self}: what was answered before was carried out again")
            hold(self.answer in (None, told), f"{self}: it was answered {self.answer}, and later {told}")
            self.answer = told
        hold(self.made_new <= 1, f"{self}: it was carried out {self.made_new} times")
        if self.answers and not self.lost:
            hold(self.made_new == 1, f"{self}: a duplicate of something that nobody can have carried out")

    def __str__(self) -> str:
        return f"{self.method} {self.id}"


def _is_repeat(result: dict[str, Any]) -> bool:
    if "entries" in result:
        return all(entry["status"] == "duplicate" for entry in result["entries"])
    return bool(result.get("duplicate", False))


def _facts(result: dict[str, Any]) -> dict[str, Any]:
    """The part that stays the same in the answers to all repeats."""
    if "entries" in result:
        return {"entries": [(entry["id"], entry["seq"]) for entry in result["entries"]]}
    told = {name: value for name, value in result.items() if name not in _CHANGING}
    if "state" in told:
        told["state"] = {name: value for name, value in told["state"].items() if name != "forkCount"}
    return told | ({"sessionId": result["session"]["sessionId"]} if "session" in result else {})


@dataclass
class Life:
    """A session that one clerk makes, writes to, moves, throws away and takes back, one request after the other."""

    session: str = ""
    cwd: str = ""
    state: State = "live"
    requests: list[Request] = field(default_factory=list)


Steps: TypeAlias = Generator[Request, None, T]


class Clerk:
    """Thinks of requests: any about sessions that all share, and one after the other about one of its own.

    `shared` are ids of sessions with the entries `u1` and `a1`.
    """

    def __init__(self, name: str, shared: list[str], chance: random.Random) -> None:
        self._name = name
        self._shared = shared
        self._chance = chance
        self._count = 0
        self._last: Request | None = None
        self.requests: list[Request] = []
        self.lives: list[Life] = []
        self._steps = self._own()

    def batch(self) -> list[Request]:
        """Some new requests, to be sent without waiting."""
        some = [self._about_shared() for _ in range(self._chance.randrange(1, 4))]
        if self._last is None or self._last.settled:
            some.insert(self._chance.randrange(len(some) + 1), next(self._steps))
        self.requests += some
        return some

    def _name_of_next(self) -> str:
        self._count += 1
        return f"{self._name}-{self._count}"

    def _about_shared(self) -> Request:
        session = self._chance.choice(self._shared)
        name = self._name_of_next()
        if self._chance.random() < 0.15:
            return _append(session, name)
        if self._chance.random() < 0.1:
            return Request("history/add", {"prompt": f"prompt of{name.replace('-', 'x')}", "commandId": name})
        if self._chance.random() < 0.1:
            return Request("session/continue", {"cwd": f"/work/{name}", "commandId": name}, makes=True)
        if self._chance.random() < 0.15:
            where: dict[str, Any] = self._chance.choice(({}, {"whole": True}, {"leafId": "a1"}))
            params = {"sessionId": session, "title": name, **where, "commandId": name}
            return Request("session/fork", params, makes=True)
        return self._lines(session, name)

    def _lines(self, session: str, name: str) -> Request:
        target = self._chance.choice(("u1", "a1"))
        choices: tuple[tuple[str, dict[str, Any], int], ...] = (
            ("session/label", {"entryId": target, "label": name}, 1),
            ("session/rename", {"title": name}, 1),
            ("session/tag", {"add": [name]}, 1),
            ("session/branch", {"entryId": target}, 1),
            ("session/branch", {"entryId": target, "summary": name}, 1),
            ("session/configure", {"autoCompact": {"keepRecentTokens": 1_000 + self._count}}, 1),
            ("state/update", {"tokens": 1, "plan": name}, 1),
            ("state/update", {"turns": 1, "tags": [name]}, 2),
            ("state/beginTask", {"decision": {"decision": name, "rationale": "so"}}, 1),
            ("session/compact", {"summary": name, "settings": _SMALL}, 1),
        )
        method, params, lines = self._chance.choice(choices)
        return Request(method, {"sessionId": session, **params, "commandId": name}, session, lines)

    def _own(self) -> Steps[None]:
        """One life after the other; each step waits for the answer to the one before."""
        while True:
            life = Life()
            self.lives.append(life)
            name = self._name_of_next()
            life.cwd = f"/work/{name}"
            params: dict[str, Any] = {"cwd": life.cwd, "commandId": name}
            if self._chance.random() < 0.5:
                params["id"] = (
                    f"{name}-session"  # no id begins as another one does, which a refusal would offer
                )
            made = yield from self._step(life, Request("session/create", params, makes=True))
            life.session = made["sessionId"]
            yield from self._step(life, _append(life.session, self._name_of_next()))
            for _ in range(self._chance.randrange(4)):
                yield from self._step(life, self._change(life))
            if self._chance.random() < 0.7:
                yield from self._thrown_away(life)

    def _change(self, life: Life) -> Request:
        name = self._name_of_next()
        if self._chance.random() < 0.5:
            life.cwd = f"/work/{name}"
            return Request("session/move", {"sessionId": life.session, "cwd": life.cwd, "commandId": name})
        params = {"sessionId": life.session, "title": name, "commandId": name}
        return Request("session/rename", params, life.session, 1)

    def _thrown_away(self, life: Life) -> Steps[None]:
        for _ in range(self._chance.randrange(1, 3)):
            params: dict[str, Any] = {"sessionId": life.session, "commandId": self._name_of_next()}
            life.state = "trashed"
            gone = yield from self._step(life, Request("session/delete", params))
            params = {"trashId": gone["trashId"], "commandId": self._name_of_next()}
            if self._chance.random() < 0.3:
                life.state = "gone"
                yield from self._step(life, Request("trash/purge", {**params, "dryRun": False}))
                return
            if self._chance.random() < 0.3:
                return
            life.state = "live"
            yield from self._step(life, Request("trash/restore", params))

    def _step(self, life: Life, request: Request) -> Steps[dict[str, Any]]:
        """Yield a request; return what it was answered."""
        self._last = request
        life.requests.append(request)
        yield request
        assert request.answer is not None  # or the next step would not be due
        return request.answer


def _append(session: str, name: str) -> Request:
    entries = [message("?" * 800, f"{name}-u"), reply("!" * 800, f"{name}-a")]
    return Request("session/append", {"sessionId": session, "entries": entries}, session, 2)
