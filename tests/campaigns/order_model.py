"""The answers to one client if each of its requests waited for the one before: a model of a few sessions.

It knows nothing of the daemon: `plan` makes up requests, and beside each the check that its answer must pass.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.columns import entries_of, message_ids_of

Outcome = dict[str, Any] | str
"""The result of a request, or the kind of its error."""

_ROOT = ""
_TOKENS = 5


@dataclass(frozen=True)
class Step:
    """One request, and what must hold of its outcome: an empty text when all is well, else what is wrong."""

    method: str
    params: dict[str, Any]
    check: Callable[[Outcome], str]


@dataclass
class Session:
    """One session as its client must see it. Lines that the daemon names are called `?` and their seq."""

    id: str
    parents: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    leaf: str = _ROOT
    seq: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    title: str | None = None
    updates: set[str] = field(default_factory=set)
    """The lines that add tokens to the working state."""
    has_answer: bool = False
    gone: bool = False

    def line(self, name: str | None, parent: str | None = None) -> None:
        """A line is added below `parent`, or at the leaf."""
        self.seq += 1
        name = name or f"?{self.seq}"
        self.parents[name] = self.leaf if parent is None else parent
        self.leaf = name

    def move(self, target: str) -> None:
        """The leaf goes to an entry."""
        self.line(None, target)
        self.leaf = target

    @property
    def path(self) -> list[str]:
        """The messages on the way from the root to the leaf."""
        return [text for text in self._way if not text.startswith("?")]

    @property
    def tokens(self) -> int:
        """Return the sum of the updates on that way."""
        return sum(_TOKENS for text in self._way if text in self.updates)

    @property
    def _way(self) -> list[str]:
        found, name = list[str](), self.leaf
        while name != _ROOT:
            found.append(name)
            name = self.parents[name]
        return found[::-1]


class Plan:
    """Makes up requests of one client, one after the other; `chance` decides which.

    Args:
        chance: Where all chance comes from.
        prefix: The start of the ids, so that several plans may be tried on one daemon.
    """

    def __init__(self, chance: random.Random, prefix: str) -> None:
        self._chance = chance
        self._prefix = prefix
        self._sessions: list[Session] = []
        self._entries = 0
        self._writes: Sequence[Callable[[Session], Step]] = (
            *[self._append] * 4, self._append_at_an_old_leaf, self._label, self._branch, self._rename, self._tag,
            self._update_state, self._delete, self._close,
        )  # fmt: skip
        self._reads: Sequence[Callable[[Session], Step]] = (
            self._path, self._context, self._entries_of, self._tree, self._stats, self._info, self._open,
            self._subscribe, self._state, self._fork, self._export, self._listed,
        )  # fmt: skip

    def steps(self, count: int) -> Iterator[Step]:
        """So many requests."""
        for _ in range(count):
            living = [session for session in self._sessions if not session.gone]
            if len(living) < 2 or (len(self._sessions) < 6 and self._chance.random() < 0.02):
                yield self._create()
            else:
                session = self._chance.choice(living if self._chance.random() < 0.95 else self._sessions)
                yield self._about(session)

    def _create(self) -> Step:
        session = Session(f"{chr(97 + len(self._sessions) % 26)}{self._prefix}-{len(self._sessions)}")
        self._sessions.append(session)
        params = {"cwd": f"/work/{self._prefix}", "id": session.id}
        return Step("session/create", params, _is(lambda result: result["session"]["lastSeq"], 0))

    def _about(self, session: Session) -> Step:
        kinds = self._writes if self._chance.random() < 0.55 else self._reads
        step = self._chance.choice(kinds)(session)
        if session.gone and step.method not in ("session/delete", "session/list"):
            return Step(step.method, step.params, _kind("sessionTrashed"))
        return step

    def _on(self, session: Session) -> dict[str, Any]:
        return {"sessionId": session.id}

    # --- writes ----------------------------------------------------------------------------------------

    def _append(self, session: Session) -> Step:
        expects: dict[str, Any] = {}
        if not session.gone and self._chance.random() < 0.2 and not session.leaf.startswith("?"):
            expects["expectedLeafId"] = session.leaf or None
        names, entries = list[str](), list[dict[str, Any]]()
        for _ in range(self._chance.choice((1, 1, 1, 2, 3))):
            self._entries += 1
            names.append(f"m{self._entries}")
            answers = self._chance.random() < 0.3
            session.has_answer = session.has_answer or (answers and not session.gone)
            text = "x" * self._chance.choice((1, 40, 300))
            said = {"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "x",
                    "model": "y", "stopReason": "stop"}  # fmt: skip
            entries.append({
                "type": "message", "id": names[-1],
                "message": said if answers else {"role": "user", "content": text},
            })  # fmt: skip
        if not session.gone:
            for name in names:
                session.line(name)
                session.messages.append(name)
        return Step(
            "session/append", {**self._on(session), "entries": entries, **expects},
            _is(lambda result: (result["leafId"], result["lastSeq"]), (names[-1], session.seq)),
        )  # fmt: skip

    def _append_at_an_old_leaf(self, session: Session) -> Step:
        behind = [message for message in session.messages if message != session.leaf]
        if not behind or session.leaf.startswith("?"):
            return self._append(session)
        params = {
            **self._on(session), "expectedLeafId": self._chance.choice(behind),
            "entries": [{"type": "message", "message": {"role": "user", "content": "too late"}}],
        }  # fmt: skip
        return Step("session/append", params, _kind("leafConflict"))

    def _label(self, session: Session) -> Step:
        if not session.messages:
            return self._append(session)
        target, label = self._chance.choice(session.messages), f"label {self._chance.randrange(100)}"
        if not session.gone:
            session.line(None)
            session.labels[target] = label
        params = {**self._on(session), "entryId": target, "label": label}
        return Step("session/label", params, _is(lambda result: result["session"]["lastSeq"], session.seq))

    def _branch(self, session: Session) -> Step:
        if not session.messages:
            return self._append(session)
        target = self._chance.choice(session.messages)
        if not session.gone:
            session.move(target)
        return Step(
            "session/branch",
            {**self._on(session), "entryId": target},
            _is(lambda result: result["leafId"], target),
        )

    def _rename(self, session: Session) -> Step:
        title = f"title {self._chance.randrange(100)}"
        if not session.gone:
            session.line(None)
            session.title = title
        return Step("session/rename", {**self._on(session), "title": title}, _is(_title, title))

    def _tag(self, session: Session) -> Step:
        tag = f"t{self._chance.randrange(8)}"
        if not session.gone:
            session.line(None)
            session.tags = [*(text for text in session.tags if text != tag), tag]
        params = {**self._on(session), "add": [tag]}
        return Step(
            "session/tag", params, _is(lambda result: sorted(result["session"]["tags"]), sorted(session.tags))
        )

    def _update_state(self, session: Session) -> Step:
        if not session.gone:
            session.line(None)
            session.updates.add(session.leaf)
        params = {**self._on(session), "tokens": _TOKENS}
        return Step("state/update", params, _is(lambda result: result["seq"], session.seq))

    def _delete(self, session: Session) -> Step:
        if self._chance.random() < 0.7:
            return self._append(session)
        gone, session.gone = session.gone, True
        check = _is(lambda result: (result["sessionId"], result.get("duplicate", False)), (session.id, gone))
        return Step("session/delete", self._on(session), check)

    def _close(self, session: Session) -> Step:
        """The last client of a draft takes it away when it closes; of a session, only its own place."""
        if not session.has_answer:
            return self._append(session)
        return Step("session/close", self._on(session), _is(lambda result: result["trashId"], None))

    # --- reads -----------------------------------------------------------------------------------------

    def _path(self, session: Session) -> Step:
        return Step("session/path", self._on(session), _is(_named_entries, session.path))

    def _context(self, session: Session) -> Step:
        return Step("session/context", self._on(session), _is(message_ids_of, session.path))

    def _entries_of(self, session: Session) -> Step:
        return Step("session/entries", self._on(session), _is(_named_entries, list(session.messages)))

    def _tree(self, session: Session) -> Step:
        expected = {name: session.labels.get(name) for name in session.messages}
        params = {**self._on(session), "filter": "all"}
        return Step("session/tree", params, _is(_labeled, expected))

    def _stats(self, session: Session) -> Step:
        expected = len(session.path), len(session.messages)
        return Step("session/stats", self._on(session), _is(_counted, expected))

    def _info(self, session: Session) -> Step:
        expected = session.seq, session.title, sorted(session.tags), len(session.messages)
        return Step("session/info", self._on(session), _is(_described, expected))

    def _open(self, session: Session) -> Step:
        return Step(
            "session/open", self._on(session), _is(lambda result: result["session"]["lastSeq"], session.seq)
        )

    def _subscribe(self, session: Session) -> Step:
        return Step("session/subscribe", self._on(session), _is(lambda result: result["toSeq"], session.seq))

    def _state(self, session: Session) -> Step:
        return Step(
            "state/get", self._on(session), _is(lambda result: result["state"]["tokensUsed"], session.tokens)
        )

    def _fork(self, session: Session) -> Step:
        return Step(
            "session/fork", self._on(session), _is(lambda result: result["session"]["messageCount"], len(session.path))
        )  # fmt: skip

    def _export(self, session: Session) -> Step:
        expected = set(session.messages)
        params = {**self._on(session), "format": "jsonl"}
        return Step("session/export", params, _is(lambda result: _exported(result, self._entries), expected))

    def _listed(self, session: Session) -> Step:
        """A list sees at least what was sent before it; it may see more."""
        expected = {
            listed.id: listed.seq for listed in self._sessions if listed.has_answer and not listed.gone
        }

        def check(outcome: Outcome) -> str:
            if isinstance(outcome, str):
                return f"{outcome} instead of a list"
            found = {listed["sessionId"]: listed["lastSeq"] for listed in outcome["sessions"]}
            late = {
                name: (found.get(name), seq) for name, seq in expected.items() if found.get(name, seq) < seq
            }
            return f"too few lines: {late}" if late else ""

        return Step("session/list", {"cwd": f"/work/{self._prefix}"}, check)


def _is(found: Callable[[dict[str, Any]], Any], expected: Any) -> Callable[[Outcome], str]:
    def check(outcome: Outcome) -> str:
        if isinstance(outcome, str):
            return f"{outcome} instead of {expected!r:.300}"
        seen = found(outcome)
        return "" if seen == expected else f"{seen!r:.300} instead of {expected!r:.300}"

    return check


def _kind(expected: str) -> Callable[[Outcome], str]:
    def check(outcome: Outcome) -> str:
        return "" if outcome == expected else f"{outcome!r:.300} instead of {expected}"

    return check


def _title(result: dict[str, Any]) -> Any:
    return result["session"]["title"]


def _named_entries(result: dict[str, Any]) -> list[str]:
    return [entry["id"] for entry in entries_of(result) if entry["type"] == "message"]


def _labeled(result: dict[str, Any]) -> dict[str, Any]:
    return {node["id"]: node["label"] for node in result["nodes"] if node["type"] == "message"}


def _counted(result: dict[str, Any]) -> tuple[int, int]:
    return _messages(result["pathStats"]), _messages(result["treeStats"])


def _messages(stats: dict[str, Any]) -> int:
    return sum(stats["messageCounts"].values())


def _described(result: dict[str, Any]) -> tuple[int, Any, list[str], int]:
    session = result["session"]
    return session["lastSeq"], session["title"], sorted(session["tags"]), session["messageCount"]


def _exported(result: dict[str, Any], highest: int) -> set[str]:
    return {
        name
        for name in (f"m{number}" for number in range(1, highest + 1))
        if f'"id":"{name}"' in result["text"]
    }
