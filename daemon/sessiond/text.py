"""Text of transcripts made safe for a terminal: without control sequences, measured, cut and wrapped by columns."""

from __future__ import annotations

ZWJ = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_JOINING_JAMO = range(0x1160, 0x1200)

_WHOLE_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colors, cursor
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS, SOS, PM, APC: titles, links, clipboard
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI as one C1 character
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)


def one_line(text: str) -> str:
    """Return the text without control and formatting characters, with all whitespace folded to single spaces."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(_harmless(text, "").split())


def lines(text: str) -> list[str]:
    """Return the lines of the text without control and formatting characters; a tab becomes four spaces."""
    return [_harmless(line.rstrip("\r"), "\t").replace("\t", "    ") for line in text.split("\n")]


def width(text: str) -> int:
    """Return the columns of the text: 2 for wide characters and emoji, 0 for combining characters."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    columns = 0
    before = 0
    joined = False
    for character in text:
        code = ord(character)
        if character == _EMOJI_STYLE and before == 1:
            own = 1  # the emoji form of a narrow symbol is wide
        elif (
            joined
            or code in _SKIN_TONES
            or code in _JOINING_JAMO
            or category(character) in ("Mn", "Me", "Cf")
        ):
            own = 0
        else:
            own = 2 if east_asian_width(character) in "WF" else 1
        joined = character == ZWJ
        before = own or before
        columns += own
    return columns


def fit(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return the text, cut to a number of columns with an ellipsis if it is longer."""
    if width(text) <= columns:
        return text
    room = columns - len(ellipsis)
    if room <= 0:
        return ellipsis[:columns]
    cut = text[:room]  # limits the work of `_first_columns` for a very long text
    if not cut.isascii():
        cut = _first_columns(text, room)
    return cut.rstrip() + ellipsis


def pad(text: str, columns: int) -> str:
    """Return the text padded with spaces to a number of columns."""
    return text + " " * (columns - width(text))


def wrap(text: str, columns: int) -> list[str]:
    """Return the words of the text in lines up to a number of columns. A wider word is broken.

    Words of scripts that are written without spaces, such as Chinese, are broken where a line ends.
    """
    found: list[str] = []
    line, taken = "", 0
    for word in text.split():
        own = width(word)
        if line and taken + 1 + own <= columns:
            line, taken = f"{line} {word}", taken + 1 + own
            continue
        if line and own > columns and taken + 3 <= columns:
            head = _first_columns(word, columns - taken - 1)
            line, word = f"{line} {head}", word[len(head) :]
        if line:
            found.append(line)
        while width(word) > columns:
            head = _first_columns(word, columns) or word[0]
            found.append(head)
            word = word[len(head) :]
        line, taken = word, width(word)
    return [*found, line] if line else found


def _first_columns(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    end, most = 0, min(len(text), 4 * columns)  # a long sequence of combining characters is cut, too
    while end < most and width(text[: end + 1]) <= columns:
        end += 1
    return text[:end]


def _harmless(text: str, keep: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    import re
    from unicodedata import category

    text = re.sub(_WHOLE_SEQUENCES, "", text, flags=re.DOTALL)
    out = []
    for character in text:
        if character.isprintable() or character in keep or character == ZWJ:
            out.append(character)
            continue
        kind = category(character)
        if character in "\t\n\r\v\f" or kind in ("Zs", "Zl", "Zp"):
            out.append(" ")
        elif kind in ("Co", "Cn"):  # icon fonts, and emoji newer than this Python
            out.append(character)
        elif kind == "Cs":
            out.append("\ufffd")
        # Dropped are Cc and Cf: controls, bidirectional overrides, invisible tags.
    return "".join(out)
