"""Finds secrets without a known format by the words around them: `password=…`, `Authorization: …`, cookies.

A name such as `password` or `api_key` is not sufficient, because transcripts contain much code that uses such names.
The value must look like a secret, too; `looks_secret` decides that.
"""

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sessiond.hub.redaction.spans import Span

_PASSWORD: Final = r"passw(?:or)?d|passwd|passphrase|passcode|pwd|pgpass"
_KEY: Final = (
    r"secret|token|credentials?|(?:api|access|auth|secret|account|private|encryption|signing|shared|master|service)[_-]?key"
    r"|auth|(?<![a-z])pat"
)
_SUFFIX: Final = r"(?:[_-]?(?:v?\d{1,3}|base64|b64|prod|production|dev|test|staging|live|value|default))?"
_NAME: Final = rf"(?:(?P<password>{_PASSWORD})|{_KEY}){_SUFFIX}"
"""The end of the name of a setting that holds a secret."""
_QUOTE: Final = r"""\\{0,3}["'`]"""

# The expressions below are applied to texts in lower case, which is faster than ignoring case. An expression is only
# applied if the text contains one of its hints.

_ASSIGNED: Final = re.compile(
    rf"{_NAME}(?:{_QUOTE})?\]?\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}"
    rf"(?:(?P<open>{_QUOTE})(?P<quoted>[^\r\n]{{4,4096}}?)(?P=open)|(?P<bare>(?:[^\s\"'`,;)\]}}\\&]|&(?![\w.-]+=)){{4,4096}}))"
)
"""`NAME=value`, `name: value`, `"name": "value"`, in settings files, code, JSON and shell commands."""
_ASSIGNED_HINTS: Final = ("pass", "pwd", "secret", "token", "credential", "key", "auth", "pat")

_COOKIES: Final = re.compile(
    r"(?:cookie[\"'\\]*\s*[:=]|curl\b[^\r\n]{0,400}?\s(?:-b|--cookie))\s*[\"'\\]*(?P<value>[^\r\n\"'`\\]{8,8192})"
)
_COOKIES_HINTS: Final = ("cookie", "curl")
_COOKIE: Final = re.compile(r"(?P<name>[^\s=;,]{1,100})=(?P<value>[^\s;,]{8,})")
_COOKIE_ATTRIBUTES: Final = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority"))

_ADDRESS: Final = re.compile(r"://[^\s:/@\"']{0,200}:(?P<value>[^\s/@\"'`]{3,400})@")

_RULES: Final = (
    (
        "Authorization Header", 8, ("authorization",),
        r"authorization[\"'\\]*\s*[:=,]\s*[\"'\\]*(?:[a-z][a-z0-9-]{2,20}\s+)?(?P<value>[^\s\"'`,;\\]{8,})",
    ),
    ("Bearer Token", 12, ("bearer",), r"bearer\s+(?P<value>[a-z0-9._~+/=-]{12,})"),
    (
        "netrc Password", 4, ("machine", "default"),
        r"\b(?:machine\s+\S+|default)(?:\s+(?:login|account)\s+\S+)*\s+password\s+(?P<value>\S{4,})",
    ),
    (
        "URL Parameter", 8, ("?", "&"),
        r"[?&](?:[a-z0-9_-]{0,20}(?:token|secret|passw(?:or)?d|apikey|api[_-]key|auth|signature)|key|sig|code)="
        r"(?P<value>[^&\s\"'#<>)`\\]{8,})",
    ),
    (
        "Secret", 8, ("--",),
        r"--(?:[a-z0-9]+-){0,4}(?:password|passwd|passphrase|token|secret|api-?key|access-?key)\s+(?P<value>[^\s\"'`]{8,})",
    ),
    ("Password", 4, ("sshpass",), r"sshpass\s+-p\s{0,2}[\"']?(?P<value>[^\s\"'`]{4,200})"),
    (
        "Password", 4, ("mysql", "mariadb"),
        r"(?:mysql|mariadb)[a-z-]*\b[^\r\n|;&]{0,200}?\s-p[\"']?(?P<value>[^\s\"'`]{4,200})",
    ),
    ("Password", 4, (" login",), r" login\b[^\r\n|;&]{0,200}?\s-p\s+[\"']?(?P<value>[^\s\"'`]{4,200})"),
    ("Password", 4, ("redis-cli",), r"redis-cli\b[^\r\n|;&]{0,200}?\s-a\s+[\"']?(?P<value>[^\s\"'`]{4,200})"),
    (
        "Password", 4, ("curl",),
        r"curl\b[^\r\n|;&]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"'`]{4,200})",
    ),
)  # fmt: skip
"""For each rule: the kind of secret, its minimum length in characters, the hints, and the expression."""
_PATTERNS: Final = tuple((kind, least, hints, re.compile(pattern)) for kind, least, hints, pattern in _RULES)

_HINTS: Final = (
    "://",
    *_COOKIES_HINTS,
    *_ASSIGNED_HINTS,
    *(hint for _, _, hints, _ in _RULES for hint in hints),
)
_ANY_HINT: Final = re.compile("|".join(map(re.escape, _HINTS)))

_PLACEHOLDER: Final = re.compile(
    r"""<[^>]*>?$ | [\[{(] | \*+$ | \.{2,} | \$[a-z_{(] | %[sd({] | %\w+%$ | --?[a-z] | x{3,} | 0{6,}
    | 1234567?8?9?0?$ | your | my[_-] | some[_-] | example | changeme | change[_-]me
    | placeholder | dummy | fake | foo | bar$ | redacted | none$ | null$ | nil$ | true$ | false$ | undefined$ | string$
    | (?:process|os|env|environ|self|this|cls|config|settings|secrets|vars|var|data|local|params|args|request)\b[.\[(]
    | [a-z]+:// | (?:\.{0,2}|~)/[\w.-]+/""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE: Final = re.compile(r"[(){}\[\]<>|]|\$\w|=>|->|::|\bawait\b")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z_]*[0-9]?(?:\.[A-Za-z_]\w{0,29})*")
_WORDS_ONLY: Final = re.compile(r"[^\W\d]+(?:[-./:@][^\W\d]+)*")
_DOTTED_NAME: Final = re.compile(r"[A-Za-z_]\w{0,29}(?:\.[A-Za-z_]\w{0,29})+")
_ONE_OF_US: Final = re.compile(r"passw|secret|token|credential|api_?key", re.IGNORECASE)


def by_context(text: str) -> list[Span]:
    """Return the secrets in a text that are recognized by the words around them."""
    lowered = text.lower()
    if len(lowered) != len(text):  # the lower case of some letters is more than one character
        lowered = "".join(it.lower() if it.isascii() else it for it in text)

    if _ANY_HINT.search(lowered) is None:
        return []

    def matches(hints: tuple[str, ...], pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for hint in hints:  # a loop, since `any` with a generator takes longer than the search
            if hint in lowered:
                return pattern.finditer(lowered)
        return iter(())

    spans = [
        Span(*span, "Basic Auth Credentials")
        for found in matches(("://",), _ADDRESS)
        if _may_be_secret(text[slice(*(span := found.span("value")))])
    ]
    for kind, least, hints, pattern in _PATTERNS:
        for found in matches(hints, pattern):
            span = found.span("value")
            if looks_secret(text[slice(*span)], least=least):
                spans.append(Span(*span, kind))
    for found in matches(_COOKIES_HINTS, _COOKIES):
        spans += _in_cookies(text, *found.span("value"))
    for found in matches(_ASSIGNED_HINTS, _ASSIGNED):
        spans += _assigned(text, found)
    return spans


def assigned_secret(name: str, value: str) -> str | None:
    """Return the kind of secret if a field called `name` with this value holds one, or None."""
    kind = _kind_of_field(name) if len(name) > _MAX_CACHED_CHARACTERS else _cached_kind_of_field(name)
    if kind is None or not _is_worth(value, is_password=kind == "Password", is_quoted=True):
        return None
    return kind


def _kind_of_field(name: str) -> str | None:
    """Return the kind of secret that a field with this name may hold, or None."""
    found = _FIELD.fullmatch(name)
    if found is None:
        return None
    return "Password" if found["password"] else "Secret"


_MAX_CACHED_CHARACTERS: Final = 64
_cached_kind_of_field = lru_cache(1_000)(_kind_of_field)

_FIELD: Final = re.compile(rf".{{0,200}}?{_NAME}", re.IGNORECASE)


def _in_cookies(text: str, start: int, end: int) -> list[Span]:
    return [
        Span(*it.span("value"), "Cookie")
        for it in _COOKIE.finditer(text, start, end)
        if it["name"].lower() not in _COOKIE_ATTRIBUTES and looks_secret(it["value"], least=8)
    ]


def _assigned(text: str, found: re.Match[str]) -> list[Span]:
    group = "bare" if found["quoted"] is None else "quoted"
    is_password = found["password"] is not None
    start, end = found.span(group)
    if not _is_worth(text[start:end], is_password=is_password, is_quoted=group == "quoted"):
        return []
    return [Span(start, end, "Password" if is_password else "Secret")]


def _is_worth(value: str, *, is_password: bool, is_quoted: bool) -> bool:
    """Return whether the value of an assignment is a secret and not code, prose or an example."""
    if any(it.isspace() for it in value):
        return False  # prose, such as the label of a field
    if is_password and is_quoted and len(value) >= 12 and _IDENTIFIER.fullmatch(value) is not None:
        return _ONE_OF_US.search(value) is None and "_" not in value and "." not in value
    if is_password and is_quoted:
        return looks_secret(value, least=4, may_be_digits=True)
    return looks_secret(value, least=6 if is_password else 10, may_be_digits=is_password)


def looks_secret(value: str, *, least: int, may_be_digits: bool = False) -> bool:
    """Return whether a text may be a password or a key. Placeholders, names, paths, code and words are not.

    Args:
        value: The text.
        least: The minimum length in characters.
        may_be_digits: Whether six or more digits alone count: as a password they do, as the value of `token` they may
            be a number of tokens.
    """
    if len(value) < least or not _may_be_secret(value) or _DOTTED_NAME.fullmatch(value):
        return False
    if value.isdigit():
        return may_be_digits and len(value) >= 6
    if _ONE_OF_US.search(value) and not any(it.isdigit() for it in value):
        return False
    if any(it.isdigit() for it in value):
        return _IDENTIFIER.fullmatch(value) is None or len(value) < 16 or _is_mixed(value)
    return _is_mixed(value) or (len(value) >= 8 and not _WORDS_ONLY.fullmatch(value))


def _may_be_secret(value: str) -> bool:
    """Return whether a text is neither a placeholder nor code."""
    return not _PLACEHOLDER.match(value) and not _CODE.search(value)


def _is_mixed(value: str) -> bool:
    """Return whether upper and lower case change too often for words, even for wordsJoinedLikeThese."""
    letters = [it for it in value if it.isalpha()]
    changes = sum(a.islower() != b.islower() for a, b in itertools.pairwise(letters))
    return changes >= 4 and changes * 4 >= len(letters)
