"""Finds the requests of Claude Code that no message contains, by its sums of tokens.

A request that summarizes for a compaction, finds a title or reads a web page has no line of its own. Newer versions
(2.1.332 does) write `cost-state` lines with the sums of all requests of a session for each model. The part of the
difference between two sums that is in no message between them belongs to such requests.

Nothing is derived if the sums include requests that are in other files: from the first sub-agent on, and in a copy
of a session, whose first sums include those of its source.
"""

from typing import Any, Final

import msgspec

from sessiond.session.content import fields
from sessiond.session.formats.build import NO_COST

_COUNTS: Final = {
    "input": "inputTokens", "output": "outputTokens", "cacheRead": "cacheReadInputTokens",
    "cacheWrite": "cacheCreationInputTokens",
}  # fmt: skip
_ONE_HOUR: Final = "cacheCreationEphemeral1hInputTokens"
_COPY_SECONDS: Final = 1.0
"""A message that is this many seconds older than the first line of its file is a copy. Times in a turn differ less."""
_SYNTHETIC: Final = "<synthetic>"


class TokenSums(msgspec.Struct):
    """The sums at one place of a file, and the messages since then."""

    last: dict[str, dict[str, float]] = {}
    """The sums of the last `cost-state` line: for each model, the counts by their names in a usage."""
    told: dict[str, tuple[str, dict[str, Any]]] = {}
    """The model and the usage of each message since then, by its id."""
    began: float | None = None
    """The time of the first line."""
    first: str | None = None
    """The id of the first line that has an id."""
    is_usable: bool = True

    def pass_line(self, value: dict[str, Any]) -> None:
        """Record what a line says about the origin of the sums. Every line must be given, in order."""
        at, name = fields.seconds(value.get("timestamp")), fields.text(value.get("uuid"))
        if name is not None and not self.last:
            is_old = at is not None and self.began is not None and self.began - at >= _COPY_SECONDS
            if is_old or "forkedFrom" in value or self._begins_with(value):
                self.is_usable = False
            self.first = self.first or name
        if "agentId" in fields.mapping(value.get("toolUseResult")):
            self.is_usable = False
        if self.began is None:
            self.began = at

    def _begins_with(self, value: dict[str, Any]) -> bool:
        """Return whether a line is a compaction that has only its preserved messages before it."""
        if value.get("subtype") != "compact_boundary":
            return False
        kept = fields.mapping(fields.mapping(value.get("compactMetadata")).get("preservedMessages"))
        return self.first is None or self.first in fields.items(kept.get("uuids"))

    def tell(self, message: dict[str, Any]) -> None:
        """Take the tokens of an assistant message."""
        model, usage = fields.as_text(message.get("model")), message.get("usage")
        if usage is not None and model != _SYNTHETIC:
            name = fields.text(message.get("responseId")) or f"message {len(self.told)}"
            self.told[name] = (_plain(model), usage)

    def rest(self, value: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return the usage of the requests since the last sums that are in no message, for each model.

        Args:
            value: A `cost-state` line.
        """
        models = fields.mapping(value.get("modelUsage"))
        sums = {_plain(name): _counts(fields.mapping(model)) for name, model in models.items()}
        before, told = self.last, self.told.values()
        self.last, self.told = sums, {}
        if not self.is_usable or any(model not in sums for model, _ in told):
            return []
        found = []
        for model, counts in sums.items():
            own = [usage for name, usage in told if name == model]
            left = {
                name: counts[name]
                - before.get(model, {}).get(name, 0)
                - sum(_count(usage, name) for usage in own)
                for name in counts
            }
            if min(left.values()) < 0:
                return []  # a program that was killed wrote messages without sums
            if any(left.values()):
                found.append((model, _usage(left)))
        return found


def _plain(model: str) -> str:
    """Return the name of a model without the size of its context, such as `[1m]`."""
    return model.partition("[")[0]


def _counts(told: dict[str, Any]) -> dict[str, float]:
    counts = {name: fields.number(told.get(own)) for name, own in _COUNTS.items()}
    return {**counts, _ONE_HOUR: fields.number(told.get(_ONE_HOUR))}


def _count(usage: dict[str, Any], name: str) -> float:
    return fields.number(
        fields.mapping(usage.get("cttl")).get("ephemeral1h") if name == _ONE_HOUR else usage.get(name)
    )


def _usage(left: dict[str, float]) -> dict[str, Any]:
    counts = {name: left[name] for name in _COUNTS}
    usage: dict[str, Any] = {**counts, "totalTokens": sum(counts.values()), "cost": NO_COST}
    if long_lived := left[_ONE_HOUR]:
        usage["cttl"] = {"ephemeral5m": max(0, left["cacheWrite"] - long_lived), "ephemeral1h": long_lived}
    return usage
