"""Random values of secrets, and the ways in which a text may show them: escaped, colored, or in other letters."""

import base64
import html
import json  # noqa: TID251 - the text of escapes that other programs write
import re
import string
import unicodedata
from collections.abc import Callable
from random import Random
from typing import Final
from urllib.parse import quote, unquote

ALNUM: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
URL: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
UPPER: Final = string.ascii_uppercase + string.digits
LOWER: Final = string.ascii_lowercase + string.digits
PUNCTUATION: Final = "!@#$%^&*()-_=+[]{}|;:,.<>?/~"

Value = Callable[[Random], str]


def some(random: Random, length: int, letters: str = ALNUM) -> str:
    return "".join(random.choices(letters, k=length))


def key(prefix: str, length: int, letters: str = ALNUM) -> Value:
    """Return the maker of a value with a prefix."""
    return lambda random: prefix + some(random, length, letters)


def password(random: Random, punctuation: str = PUNCTUATION) -> str:
    """Return a password of 10 to 20 letters, digits and punctuation: at least one of each."""
    letters = [random.choice(text) for text in (string.ascii_letters, string.digits, punctuation)]
    letters += random.choices(ALNUM + punctuation, k=random.randint(7, 17))
    random.shuffle(letters)
    return "".join(letters)


def without(characters: str) -> Value:
    """Return the maker of a password without some punctuation, which has another meaning in a format."""
    left = "".join(text for text in PUNCTUATION if text not in characters)
    return lambda random: password(random, left)


def plain(random: Random) -> str:
    """Return a password that needs no quotes in YAML and in an address."""
    return random.choice(string.ascii_letters) + password(random, "!$^*()-_=+.~|") + some(random, 1)


def uuid(random: Random) -> str:
    return "-".join(some(random, name, HEX) for name in (8, 4, 4, 4, 12))


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


# --- ways to show a value that are not the value itself --------------------------------------------------------------


def with_unicode_escapes(value: str) -> str:
    return "".join(
        f"\\u{ord(character):04x}" if place % 3 == 0 else in_json(character)
        for place, character in enumerate(value)
    )


def with_hex_escapes(value: str) -> str:
    return "".join(
        f"\\x{ord(character):02x}" if place % 2 else character for place, character in enumerate(value)
    )


def with_decimal_entities(value: str) -> str:
    return "".join(
        f"&#{ord(character)};" if place % 2 else html.escape(character)
        for place, character in enumerate(value)
    )


def with_hex_entities(value: str) -> str:
    return "".join(f"&#x{ord(character):X};" for character in value)


def with_zero_width(value: str) -> str:
    return "\u200b".join(value)


def with_joiners(value: str) -> str:
    return "".join(
        character + "\u2060\u00ad" if place % 3 == 1 else character for place, character in enumerate(value)
    )


def in_full_width(value: str) -> str:
    return "".join(
        chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in value
    )


def in_bold_letters(value: str) -> str:
    """Return the value in letters of mathematics."""
    return "".join(
        chr(0x1D400 + ord(character) - 65)
        if "A" <= character <= "Z"
        else chr(0x1D41A + ord(character) - 97)
        if "a" <= character <= "z"
        else character
        for character in value
    )


def with_colors(value: str) -> str:
    half = len(value) // 2
    return f"\x1b[31m{value[:half]}\x1b[1;33m{value[half:]}\x1b[0m"


def with_true_colors(value: str) -> str:
    return "".join(f"\x1b[38;2;1;2;{place}m{character}\x1b[39m" for place, character in enumerate(value))


def in_percent(value: str) -> str:
    return quote(value, safe="")


def all_in_percent(value: str) -> str:
    return "".join(f"%{ord(character):02X}" for character in value)


_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_INVISIBLE: Final = re.compile(r"\x1b\[[0-9;]*m|[\u200b\u2060\u00ad]")


def shown(text: str) -> str:
    """Return a text as its reader would understand it: without colors, escapes and unusual letters."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    return unquote(html.unescape(text), errors="replace")


def leaks(secret: str, text: str) -> bool:
    """Whether a text shows a part of a secret that would help to guess it: eight characters in a row, or a half."""
    length = min(8, max(4, len(secret) // 2))
    parts = {secret[start : start + length] for start in range(max(1, len(secret) - length + 1))}
    return any(part in text for text in {text, shown(text)} for part in parts)
