"""Determines the requests to a model that the token counts of a Codex rollout report.

A request is in a `token_usage_record`, which names its response, in a `token_count`, or in both. Versions before 0.151
write counts only. A count is repeated when limits change, after a compaction and when a thread is resumed. Totals do
not identify a request: whether that of a compaction is part of them depends on the version.

A fork begins with the lines of its source, with the time of the fork or with their own. The header of the source may
be among them. The name of a request has the thread that made it, so that all copies of a request have one name.
"""

from typing import Any, Final

import msgspec

from sessiond.agents.codex.history import ordinal_of
from sessiond.session.content import fields
from sessiond.session.formats.build import NO_COST

_NUMBERS: Final = (
    "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
    "reasoning_output_tokens", "total_tokens",
)  # fmt: skip
_PAUSE: Final = 1.0
"""The minimum seconds between two lines that show that a thread works. Copied lines are written together."""


class TokenCounts(msgspec.Struct):
    """Names the requests of one rollout.

    Every line must be given to `pass_line`, in order, before it is given to another method. A field of an instance is
    plain data, so that it can be stored, and another instance can continue with it.
    """

    _threads: list[tuple[str, float | None]] = []
    """The threads of the headers, the own one first, each with the time at which it was created."""
    _source: str | None = None
    """The thread that the first header names as its source."""
    _maker: str | None = None
    """The thread that made the requests of the current lines."""
    _is_copied: bool = False
    _own_from: int | None = None
    """The ordinal of the first line that is not a copy, if the header has it."""
    _has_starts: bool = False
    _keeps_times: bool = False
    _last_at: float | None = None
    _seen: set[str] = set()
    _untold: list[tuple[int | float, ...]] = []
    """The usages of the records that no count has repeated yet."""

    def pass_line(self, value: dict[str, Any]) -> None:
        """Determine whether the line is a copy of a line of another thread, and of which thread."""
        payload, at = fields.mapping(value.get("payload")), fields.seconds(value.get("timestamp"))
        if value.get("type") == "session_meta" or ("type" not in value and not self._threads):
            self._take_header(payload or value)
        elif self._is_copied:
            self._place(value, payload, at)
        self._last_at = at if at is not None else self._last_at

    def of_record(self, record: dict[str, Any], fallback: str) -> str | None:
        """Return the name of the request of a `token_usage_record`; None if an earlier line named it.

        Args:
            record: The payload of the line.
            fallback: The thread, if no line names one.
        """
        thread = fields.text(record.get("thread_id")) or self._maker or fallback
        response = fields.text(record.get("response_id")) or _digest(record.get("thread_token_usage"))
        self._untold.append(_numbers(record["usage"]))
        return self._unless_seen(f"{thread}/{response}")

    def of_count(self, info: dict[str, Any], fallback: str) -> str | None:
        """Return the name of the request of a `token_count`; None if there is none, or an earlier line named it."""
        usage = _numbers(info.get("last_token_usage"))
        if not any(usage[:-1]):
            return None  # an estimate of the context that Codex makes without a request
        name = self._unless_seen(f"{self._maker or fallback}/{_digest(info.get('total_token_usage'))}")
        if name is not None and usage in self._untold:
            del self._untold[: self._untold.index(usage) + 1]
            return None
        return name

    def _take_header(self, payload: dict[str, Any]) -> None:
        thread = fields.text(fields.first(payload, "id", "session_id"))
        if thread is None:
            return
        if not self._threads:
            self._source = parent_of(payload)
            base = fields.mapping(payload.get("history_base")).get("end_ordinal_exclusive")
            self._own_from = ordinal_of(fields.first(payload, "subagent_history_start_ordinal") or base)
            self._is_copied = self._source is not None
        else:
            self._is_copied = thread != self._threads[0][0]
        if thread not in (known for known, _ in self._threads):
            self._threads.append((thread, fields.seconds(payload.get("timestamp"))))
        self._maker = self._source if self._is_copied and len(self._threads) == 1 else thread

    def _place(self, value: dict[str, Any], payload: dict[str, Any], at: float | None) -> None:
        """Decide who made the request of a line that may be a copy."""
        own, created = self._threads[0]
        ordinal, started = ordinal_of(value.get("ordinal")), _start_of_turn(payload)
        is_own = False
        if created is not None and started is not None:
            self._has_starts = True
            self._maker = self._thread_at(started)
            is_own = self._maker == own
        elif created is not None and at is not None and at < int(created):
            self._keeps_times = True
            self._maker = self._thread_at(at)
        elif self._keeps_times:
            is_own = True
        elif (
            not self._has_starts and len(self._threads) == 1 and at is not None and self._last_at is not None
        ):
            is_own = at - self._last_at >= _PAUSE
        if self._own_from is not None and ordinal is not None:
            is_own = ordinal >= self._own_from
        if is_own:
            self._maker, self._is_copied = own, False

    def _thread_at(self, moment: float) -> str | None:
        """Return the thread that was at work at a time: the last one that was created by then."""
        others = self._threads if len(self._threads) > 1 else [*self._threads, (self._source or "", None)]
        for thread, created in others:
            if created is not None and int(created) <= moment:
                return thread
        return others[-1][0] or None

    def _unless_seen(self, name: str) -> str | None:
        if name in self._seen:
            return None
        self._seen.add(name)
        return name


def parent_of(header: dict[str, Any]) -> str | None:
    """Return the id of the session that a sub-agent works for, or that a session was forked from."""
    serves = fields.mapping(fields.mapping(header.get("source")).get("subagent"))
    for found in (fields.mapping(serve) for serve in serves.values()):
        if (parent := fields.text(found.get("parent_thread_id"))) is not None:
            return parent
    return fields.text(fields.first(header, "forked_from_id", "parent_thread_id"))


def usage_of(told: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a request with the names of pi."""
    cached = fields.number(told.get("cached_input_tokens"))
    written = fields.number(told.get("cache_write_input_tokens"))
    usage = {
        "input": max(0, fields.number(told.get("input_tokens")) - cached - written),
        "output": fields.number(told.get("output_tokens")), "cacheRead": cached, "cacheWrite": written,
        "totalTokens": fields.number(told.get("total_tokens")),
        "cost": NO_COST,
    }  # fmt: skip
    if "reasoning_output_tokens" in told:
        usage["reasoningTokens"] = fields.number(told.get("reasoning_output_tokens"))
    return usage


def _numbers(told: object) -> tuple[int | float, ...]:
    """Return the numbers of a usage in a fixed order. A version may omit numbers that are 0."""
    found = fields.mapping(told)
    return tuple(fields.number(found.get(name)) for name in _NUMBERS)


def _digest(total: object) -> str:
    return fields.digest(fields.dumps(total).decode())


def _start_of_turn(payload: dict[str, Any]) -> float | None:
    """Return the time at which a turn began, which a copy of the line keeps."""
    started = payload.get("started_at") if payload.get("type") == "task_started" else None
    return fields.seconds(started)
