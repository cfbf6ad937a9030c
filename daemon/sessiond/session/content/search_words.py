"""Words as a search sees them: text made ready to be searched, questions, and where they are found in a text.

A word is a run of letters and digits, without regard to case and diacritics. Scripts that put no spaces between
words (Chinese, Japanese, Korean, Thai and their neighbors) are searched by the character: each is a word of its
own, and a run of them in a question is a phrase. `JOINT` stands between them, so that a tokenizer that knows only
letters parts them, too.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sessiond.session.content.preview import clean

JOINT: Final = "\u200b"
"""A zero-width space: no letter to any tokenizer, and taken out of every text before these are put in."""

MAX_WORDS: Final = 32
_SINGLE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_ANY_SINGLE: Final = re.compile(f"[{_SINGLE}]")
_UNSPACED: Final = re.compile(f"(?<=[{_SINGLE}])(?=\\w)|(?<=\\w)(?=[{_SINGLE}])")
_TOKEN: Final = re.compile(f"[{_SINGLE}]|[^\\W_{_SINGLE}]+")
_PART: Final = re.compile(r'"([^"]*)(?:"(\*?)|$)|([^\s"]+)')
_SNIPPET: Final = 160
_LEAD: Final = 40
_MAX_MATCHES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand one behind the other; with `prefix` the last may go on."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text as one line, and where the question is found in it: `[start, end)` in code points."""

    text: str
    ranges: list[tuple[int, int]]


def searchable(text: str, limit: int) -> str:
    """Text as an index keeps it: one line of at most `limit` characters, clean, unspaced scripts parted."""
    text = " ".join(text[:limit].split())
    if not text.isprintable():
        text = " ".join(clean(text).replace(JOINT, "").split())
    return text if text.isascii() or _ANY_SINGLE.search(text) is None else _UNSPACED.sub(JOINT, text)


def readable(text: str) -> str:
    """A searchable text as it was written."""
    return text.replace(JOINT, "")


def phrases(question: str) -> list[Phrase]:
    """What a question asks for, all of it at once; empty when it holds no letter and no digit.

    Words, "phrases in quotes" and beginnings* of words. Anything may be asked: a quote that is not closed goes
    on to the end, and what is neither letter nor digit only parts words.
    """
    found: list[Phrase] = []
    for part in _PART.finditer(question.replace(JOINT, "")):
        quoted, starred, bare = part.groups()
        text = bare if bare is not None else quoted
        words = tuple(_TOKEN.findall(text))
        if words:
            found.append(Phrase(words, bool(starred) or (bare is not None and bare.endswith("*"))))
    return found[:MAX_WORDS]


def fold(word: str) -> str:
    """A word without its case and its diacritics."""
    word = word.lower()
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(it for it in parts if not unicodedata.combining(it)))


def snippet(text: str, asked: Sequence[Phrase]) -> Snippet:
    """The part of a text where most of what was asked for stands together."""
    best = _best_place(text, asked)
    start = best - _LEAD if best > _LEAD else 0
    if start and (gap := text.find(" ", start, best)) >= 0:
        start = gap + 1
    end = min(len(text), start + _SNIPPET)
    lead = "…" if start else ""
    shown = lead + text[start:end] + ("…" if end < len(text) else "")
    return Snippet(shown, _joined(sorted((first, last) for first, last, _ in _matches(shown, asked))))


def _best_place(text: str, asked: Sequence[Phrase]) -> int:
    """Where the first of the most different phrases begins that one snippet can show."""
    best, most = 0, 0
    near: deque[tuple[int, int]] = deque()
    for start, end, number in islice(_matches(text, asked), _MAX_MATCHES):
        near.append((start, number))
        while near[0][0] < end - (_SNIPPET - _LEAD) and len(near) > 1:
            near.popleft()
        kinds = len({kind for _, kind in near})
        if kinds > most:
            best, most = near[0][0], kinds
        if most == len(asked):
            break
    return best


def _matches(text: str, asked: Sequence[Phrase]) -> Iterator[tuple[int, int, int]]:
    """Where phrases stand in a text: start, end, and which phrase it is."""
    folded = [(tuple(map(fold, phrase.words)), phrase.prefix) for phrase in asked]
    said: list[str] = []
    starts: list[int] = []
    for token in _TOKEN.finditer(text):
        word = fold(token[0])
        said.append(word)
        starts.append(token.start())
        for number, ((*before, last), prefix) in enumerate(folded):
            if word == last or (prefix and word.startswith(last)):
                first = len(said) - 1 - len(before)
                if first >= 0 and said[first:-1] == before:
                    yield starts[first], token.end(), number


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
