"""The distinctions of rows that look the same, in a list from which a person chooses a session or an entry.

protocol.md describes the rule in "Rows that look the same". The clients in the editors apply it, too.
"""

from __future__ import annotations

from sessiond import human
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PART = 30
"""Limit of the characters that are shown of a fact."""
_BACK = 12
"""Limit of the characters before a difference that are shown for the sake of a whole word."""
_INVISIBLE = frozenset("\u034f\u115f\u1160\u2800")
"""Invisible characters outside of the categories for such characters: joiners, fillers and the blank of Braille."""


def distinctions(rows: Sequence[tuple[str, Sequence[str], str]]) -> list[list[str]]:
    """Return the addition of each row: empty for a row that looks different from all others.

    Args:
        rows: Of each row, what it shows without an addition, its facts in their order, and its id. All rows have the
            same number of facts; one that a row lacks is empty.
    """
    added: list[list[str]] = [[] for _ in rows]
    for group in _groups(range(len(rows)), [_look(shown) for shown, _, _ in rows]):
        _distinguish(group, rows, added)
        for same in _groups(group, [_look("".join(added[row])) for row in group]):  # by different facts
            names = short_ids(rows[row][2] for row in same)
            for row in same if len(names) > 1 else ():
                added[row].append(names[rows[row][2]])
    return added


def session_facts(
    *, title: str | None, first_prompt: str | None, agent: str, cwd: str, home: str, updated_at: str,
    last_words: str = "",
) -> list[str]:  # fmt: skip
    """Return the facts of a session in the order in which they distinguish rows.

    Args:
        title: Its title.
        first_prompt: The beginning of its first prompt.
        agent: The name of its agent, as the list shows it; "" for a session that began here.
        cwd: Its folder.
        home: The home folder of the user.
        updated_at: When it was written last, ISO 8601.
        last_words: The beginning of its last message.
    """
    folder = one_line(human.folder(cwd, home))
    named = one_line(title or first_prompt or "")
    facts = [named, one_line(agent), folder.rstrip("/").rpartition("/")[2], folder]
    return [*facts, *human.day_and_minute(updated_at), one_line(first_prompt or ""), one_line(last_words)]


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the prefixes of the ids, by id: long enough to distinguish them, and at least 8 characters."""
    different, length = set(ids), 8
    while len({name[:length] for name in different}) < len(different):
        length += 1
    return {name: one_line(name[:length]) for name in different}


def _distinguish(
    group: Sequence[int],
    rows: Sequence[tuple[str, Sequence[str], str]],
    added: list[list[str]],
    first: int = 0,
) -> None:
    """Add the differences to the rows of a group, beginning with a fact."""
    for at in range(first, len(rows[group[0]][1]) + 1):
        if at < len(rows[group[0]][1]):
            parts = _parts([rows[row][1][at] for row in group])
        else:
            names = short_ids(rows[row][2] for row in group)
            parts = [names[rows[row][2]] for row in group]
        looks = [_look(part) for part in parts]
        if len(set(looks)) == 1:
            continue
        for row, part in zip(group, parts, strict=True):
            added[row] += filter(None, [part])
        for smaller in _groups(group, looks):
            _distinguish(smaller, rows, added, at)  # the fact may differ further on
        return


def _groups(rows: Iterable[int], looks: Sequence[str]) -> list[list[int]]:
    """Return the rows that look like others, together with these."""
    found: dict[str, list[int]] = {}
    for row, look in zip(rows, looks, strict=True):
        found.setdefault(look, []).append(row)
    return [group for group in found.values() if len(group) > 1]


def _parts(texts: Sequence[str]) -> Sequence[str]:
    """Return the shown part of each text: the whole of short texts, else from the word in which they differ."""
    if all(len(text) <= _PART for text in texts):
        return texts
    least, most = min(texts), max(texts)
    same = next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
    begin = max(least.rfind(" ", 0, same), least.rfind("/", 0, same)) + 1
    if same - begin > _BACK:
        begin = same
    return [_part(text, begin) for text in texts]


def _part(text: str, begin: int) -> str:
    rest = text[begin:]
    if len(rest) > _PART:
        rest = rest[: _PART - 1].rstrip() + "…"
    return f"…{rest}" if rest and begin else rest


def _look(text: str) -> str:
    """Return the same text for texts that look the same: without blanks, invisible characters and forms of width."""
    if text.isascii():
        return "".join(text.split())
    from unicodedata import category, normalize

    return "".join(
        character
        for character in normalize("NFKC", text)
        if category(character) not in ("Cc", "Cf", "Zs", "Zl", "Zp")
        and character not in _INVISIBLE
        and not "\ufe00" <= character <= "\ufe0f"  # the styles of emoji
        and not "\U0001f3fb" <= character <= "\U0001f3ff"  # and their colors of skin
        and not "\U000e0100" <= character <= "\U000e01ef"
    )
