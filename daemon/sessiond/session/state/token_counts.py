"""Reads the tokens and the cost that an agent recorded in a `usage`.

A number that cannot be a count (NaN, negative, 1e300) counts as 0 (decision 0017).
"""

from dataclasses import dataclass
from typing import Any, Final

MAX_TOKENS: Final = 1_000_000_000_000
"""Limit of the tokens of one usage; a greater number counts as 0, so that it does not distort the sum."""
MAX_COST: Final = 1_000_000_000.0
"""Limit of the cost of one usage, in its currency; a greater number counts as 0."""

_NUMBERS: Final = (int, float)  # exact types exclude bool; the range check excludes NaN


@dataclass(slots=True)
class Tokens:
    """Tokens by how they were billed; `total` is the provider's total, or else the sum of the others."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0

    def add(self, other: "Tokens") -> None:
        """Add the tokens of another count."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.total += other.total


@dataclass(slots=True)
class Cost:
    """Cost by billed kind of token, in the currency in which it was recorded."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0

    def add(self, other: "Cost") -> None:
        """Add the cost of another count."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.total += other.total


def tokens_of(usage: dict[str, Any]) -> Tokens:
    """Return the tokens of a usage. Values that cannot be counts are 0."""
    get = usage.get
    input_count, output_count = as_count(get("input")), as_count(get("output"))
    read, written = as_count(get("cacheRead")), as_count(get("cacheWrite"))
    total = as_count(usage.get("totalTokens")) or input_count + output_count + read + written
    return Tokens(input_count, output_count, read, written, total)


def cost_of(recorded: Any) -> Cost:
    """Return the cost of a usage: an object with its parts, or a number. Values that cannot be costs are 0."""
    if not isinstance(recorded, dict):
        return Cost(total=_as_cost(recorded))
    get = recorded.get
    input_count, output_count = _as_cost(get("input")), _as_cost(get("output"))
    read, written = _as_cost(get("cacheRead")), _as_cost(get("cacheWrite"))
    total = _as_cost(recorded.get("total")) or input_count + output_count + read + written
    return Cost(input_count, output_count, read, written, total)


def as_count(value: Any) -> int:
    """Return a number of tokens; 0 for a value that cannot be one."""
    return int(value) if type(value) in _NUMBERS and 0 <= value <= MAX_TOKENS else 0


def _as_cost(value: Any) -> float:
    return float(value) if type(value) in _NUMBERS and 0 <= value <= MAX_COST else 0.0
