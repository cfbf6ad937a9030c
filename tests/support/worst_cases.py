"""Texts on which a regular expression takes long, made from the expression itself.

A search is slow if many starts of a match fail late. So each repetition of an expression is repeated: alone, with the
text before it, and with ends that do not match.
"""

import random
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

codes: Any = import_module("re._constants")  # the modules have no types, and their older names are deprecated
parser: Any = import_module("re._parser")

Sequence = list[tuple[Any, Any]]
Count = Callable[[int, int], int]
_SAMPLES = "ax0 _-.:/=,;\"'\\\n\t<>()[]{}&é$@#*`|!~+"
_OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "10", codes.CATEGORY_NOT_DIGIT: "a", codes.CATEGORY_SPACE: " \n\t",
    codes.CATEGORY_NOT_SPACE: "a-=", codes.CATEGORY_WORD: "a1_", codes.CATEGORY_NOT_WORD: " -",
}  # fmt: skip
_LONG = 8
"""Repetitions of fewer times are no worst case."""
_RUN = 200
"""The length of a run that is itself repeated."""


def worst_cases(pattern: re.Pattern[Any], size: int) -> Iterator[str]:
    """Yield texts of about `size` characters. Another size gives the same texts, longer or shorter."""
    tree: Sequence = list(parser.parse(pattern.pattern, pattern.flags))
    maker = _Maker(random.Random(1))
    for before, repeated, most in _repetitions(tree, []):
        if most is not codes.MAXREPEAT and most < _LONG:
            continue
        start = "".join(maker.text(row, _least) for row in before)
        for _ in range(3):
            body = maker.text(repeated, maker.few) or "a"
            run = body * min(_RUN, int(most))
            yield start + _filled(body, size) + "\0!"
            for unit in (start + body, start + run, start[-1:] + body, start or body, start + body + " "):
                yield _filled(unit, size)
    for _ in range(6):
        whole = maker.text(tree, maker.few) or "a"
        yield _filled(whole, size)
        yield _filled(whole[:-1] or "a", size)


def _filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _least(least: int, most: int) -> int:
    return max(least, min(int(most), 1))


def _repetitions(
    sequence: Sequence, before: list[Sequence]
) -> Iterator[tuple[list[Sequence], Sequence, Any]]:
    """Yield each repetition: what precedes it, what is repeated, and how often at most."""
    for place, (code, value) in enumerate(sequence):
        above = [*before, sequence[:place]]
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield above, list(value[2]), value[1]
            yield from _repetitions(list(value[2]), above)
        elif code is codes.SUBPATTERN:
            yield from _repetitions(list(value[3]), above)
        elif code is codes.ATOMIC_GROUP:
            yield from _repetitions(list(value), above)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repetitions(list(branch), above)


class _Maker:
    """Makes texts that match parts of an expression."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._groups: dict[int, str] = {}

    def few(self, least: int, most: int) -> int:
        return self._dice.randint(least, max(least, min(int(most), least + 3)))

    def text(self, sequence: Sequence, count: Count) -> str:
        return "".join(self._item(code, value, count) for code, value in sequence)

    def _item(self, code: Any, value: Any, count: Count) -> str:
        if code is codes.LITERAL:
            return chr(value)
        if code is codes.NOT_LITERAL:
            return self._dice.choice([sample for sample in _SAMPLES if sample != chr(value)])
        if code is codes.ANY:
            return self._dice.choice('a -=:"')
        if code is codes.IN:
            return self._dice.choice(_characters(value))
        if code is codes.BRANCH:
            return self.text(list(self._dice.choice(value[1])), count)
        if code is codes.SUBPATTERN:
            made = self.text(list(value[3]), count)
            if value[0] is not None:
                self._groups[value[0]] = made
            return made
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            return "".join(self.text(list(value[2]), count) for _ in range(count(value[0], value[1])))
        if code is codes.GROUPREF:
            return self._groups.get(value, "")
        return self.text(list(value), count) if code is codes.ATOMIC_GROUP else ""  # assertions match no text


def _characters(members: Any) -> list[str]:
    """Return some characters of a class."""
    found: list[str] = []
    for code, value in members:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            found += [chr(value[0]), chr(value[1]), chr(sum(value) // 2)]
        elif code is codes.CATEGORY:
            found += _OF_CATEGORY[value]
    if members[0][0] is codes.NEGATE:
        return [sample for sample in _SAMPLES if not _is_in(sample, members)] or ["\u4e00"]
    return found


def _is_in(character: str, members: Any) -> bool:
    for code, value in members:
        if code is codes.LITERAL and character == chr(value):
            return True
        if code is codes.RANGE and value[0] <= ord(character) <= value[1]:
            return True
        if code is codes.CATEGORY and character in _OF_CATEGORY[value]:
            return True
    return False
