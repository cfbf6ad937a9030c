"""Decides whether a text may be a password or a key. Placeholders, names, paths, code and words are not."""

import itertools
import re
from typing import Final

_PLACEHOLDER: Final = re.compile(
    r"""<[^<>]*>$ | <[\w .'-]*$ | \[[\w .,'"-]*\]?$ | \(?[\w -]*\)$ | \([a-z]+$ | \{\{ | \{[\w. -]*\}?$
    | [*\#._\-=•…]+$ | \.\.[\w.]*$ | x{4}[x\d-]*$ | 0{6,} | (?P<same>.)(?P=same){2,}$
    | \$?\$[a-z_]\w*(?:[;,)]*$|\??->|::|\[["']?\w*) | \$\{ | \$\( | \$\[ | \$\d[,);]*$ | %[sd({] | %\w+%$ | !\w+!$
    | --?[a-z][a-z-]*$ | 1234567?8?9?0?$ | your(?!\d) | my[_-]
    | some[_-] | example | -?anonymous | change-?me | change[_-] | placeholder | dummy | fake | foo | bar$
    | \[{0,3}redacted
    | (?:none|null|nil|true|false|undefined|string|password\d{0,2}|passwd|secret|token|root|admin|postgres)[;,.)]*$
    | (?:process|os|env|environ|self|this|cls|config|settings|secrets|vars|var|data|local|params|args|request)\b[.\[(]
    | [a-z]+:// | /?\^.*\$/?[a-z,;)]{0,10}$""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE: Final = re.compile(
    r"[&*!]{0,2}(?P<name>[A-Za-z_][A-Za-z_.:]{0,80}+[0-9]?)(?:[(\[{<]|->|\?\.|!\.|\)\.)[^@#%^~;|&$]*[()\[\]{}<>,;:'\"]$"
    r"|[^\W\d]+(?:[|,][^\W\d]+)+[|,]?$|[A-Za-z_]+,$|(?<!\w)\w{1,40}+::\w[\w:<>(),;&]*+$"
    r"|function\b|lambda\b|\(\)|\(\w*\)\s*=>|[A-Za-z_.]+\([rbfuRBFU]{0,2}['\"]"
)
_CALL: Final = re.compile(
    r"[&*!]{0,2}(?P<name>[A-Za-z_][A-Za-z_.:]{2,80}[0-9]?)[(\[<][^@#%~|&;]*[;,)\]?]*$"
    r"|[&*!(]{0,2}(?:[A-Za-z_]\w{0,60}+(?:::|->|\?\.|!\.|\.)){1,6}[A-Za-z_]\w{0,60}+[!?]?[(\[]"  # key::from(&bytes)?
    r"|[&*!(]{0,2}[A-Za-z_]\w{0,60}+(?:(?:::|->)[A-Za-z_]\w{0,60}+){1,6}+[;,)?]{0,3}$"
    r"|[a-z_]{3,40}+!?[(\[]&(?:mut\b)?[a-z_]"
)
_PATH: Final = re.compile(r"\(?(?:\.{0,2}|~|[a-z]:)[/\\][\w./\\~@{}:$-]*\)?[,;]?", re.IGNORECASE)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z_]*[0-9]?(?:\.[A-Za-z_]\w{0,29})*")
_WORDS_ONLY: Final = re.compile(r"[^\W\d]+(?:[-./:@|,+&=?!;*'’_][^\W\d]+)*[.,:;!?)…*]{0,3}")
_JOINED_WORDS: Final = re.compile(
    r"[A-Za-z]{3,20}(?:-[A-Za-z]{3,20}){2,7}|[A-Za-z]{3,20}(?:[_.+~][A-Za-z]{3,20}){3,7}"
)
"""Words that are joined like those of a passphrase."""
_DOTTED_NAME: Final = re.compile(r"[A-Za-z_]\w{0,29}(?:\??\.[A-Za-z_]\w{0,29})+[!,;)\]}]{0,3}")
_NUMBERED_WORD: Final = re.compile(
    r"(?:\A|\.)(?!(?:sha|md|base|u?int|float|utf|ucs|x|ip|rfc|arm|amd|aes|rsa|des|ed|es|iso|win|lib|py|python|node|java"
    r"|http|oauth|log|mp|h|v)\d)[A-Za-z]{3,30}\d{2,4}(?=\.|[!,;)\]}]{0,3}\Z)"
    r"|[A-Za-z]\d[A-Za-z]{1,3}\d[A-Za-z]"
)
"""A word with a number, like passwords of people, or a mixture, in a text that otherwise looks like a name in code."""
_FOUR_GROUPS: Final = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")
"""The password of an app, as Google shows it."""
_ONE_OF_US: Final = re.compile(r"passw|secret|token|credential|api_?key", re.IGNORECASE)


def is_worth(value: str, *, is_password: bool, is_quoted: bool) -> bool:
    """Return whether the value of an assignment is a secret and not code, prose or an example."""
    if any(character.isspace() for character in value):
        return is_quoted and is_passphrase(value)  # otherwise the text is prose, such as the label of a field
    if is_password and _JOINED_WORDS.fullmatch(value) is not None:
        return _ONE_OF_US.search(value) is None and may_be_secret(value, is_quoted=True)
    if is_password and is_quoted and len(value) >= 12 and _IDENTIFIER.fullmatch(value) is not None:
        return (
            _ONE_OF_US.search(value) is None
            and "_" not in value
            and ("." not in value or _is_mixed(value) or _NUMBERED_WORD.search(value) is not None)
            and may_be_secret(value, is_quoted=True)
        )
    if is_password and is_quoted:
        return looks_secret(value, least=4, may_be_digits=True, is_quoted=True)
    return looks_secret(value, least=6 if is_password else 10, may_be_digits=is_password, is_quoted=is_quoted)


def looks_secret(value: str, *, least: int, may_be_digits: bool = False, is_quoted: bool = False) -> bool:
    """Return whether a text may be a password or a key.

    Args:
        value: The text.
        least: The minimum length in characters.
        may_be_digits: Whether six or more digits alone count: as a password they do, as the value of `token` they may
            be a number of tokens.
        is_quoted: Whether it is the whole text between two quotes, which is code less often.
    """
    if len(value) < least or not may_be_secret(value, is_quoted=is_quoted):
        return False
    if not _is_mixed(value) and (_is_dotted_name(value) or _PATH.fullmatch(value)):
        return False
    if value.isdigit():
        return may_be_digits and len(value) >= 6
    letters = [character for character in value if character.isalpha()]
    if not any(character.islower() or character.isupper() for character in letters):
        return False  # no letters, or a sentence in a script without small and capital letters
    if _ONE_OF_US.search(value) and not any(character.isdigit() for character in value):
        return False
    if any(character.isdigit() for character in value):
        return (
            _IDENTIFIER.fullmatch(value) is None
            or len(value) < 16
            or _is_mixed(value)
            or _NUMBERED_WORD.search(value) is not None
        )
    return _is_mixed(value) or (len(value) >= 8 and not _WORDS_ONLY.fullmatch(value))


def _is_dotted_name(value: str) -> bool:
    """Return whether a text is the name of a member in code."""
    if _DOTTED_NAME.fullmatch(value) is None:
        return False
    return _ONE_OF_US.search(value) is not None or _NUMBERED_WORD.search(value) is None


def is_strong(value: str, *, least: int = 8) -> bool:
    """Return whether a text is probably a secret, even in prose, because it mixes its characters."""
    if len(value) < least or not looks_secret(value, least=least):
        return False
    return _kinds(value) >= 3


def is_passphrase(value: str) -> bool:
    """Return whether a text of several words is a password: each mixes its characters, or they are groups of four."""
    words = value.split(" ")
    if len(words) > 5 or len(value) < 12 or not may_be_secret(value, is_quoted=True):
        return False
    return _FOUR_GROUPS.fullmatch(value) is not None or all(
        len(word) >= 4 and _kinds(word) >= 3 for word in words
    )


def _kinds(value: str) -> int:
    """Return how many kinds of characters a text has, of digits, small letters, capital letters and punctuation."""
    return sum(
        (
            any(character.isdigit() for character in value),
            any(character.islower() for character in value),
            any(character.isupper() for character in value),
            not value.replace("-", "").replace("_", "").replace(".", "").isalnum(),
        )
    )


def may_be_secret(value: str, *, is_quoted: bool = False) -> bool:
    """Return whether a text is neither a placeholder nor code."""
    if _PLACEHOLDER.match(value):
        return False
    code = (None if is_quoted else _CALL.match(value)) or _CODE.match(value)
    if code is None:
        return True
    name = code["name"]
    return name is not None and (len(name) < 3 or _is_mixed(name))


def _is_mixed(value: str) -> bool:
    """Return whether upper and lower case change too often for words, even for wordsJoinedLikeThese."""
    letters = [character for character in value if character.isalpha()]
    changes = sum(a.islower() != b.islower() for a, b in itertools.pairwise(letters))
    return changes >= 4 and changes * 4 >= len(letters)
