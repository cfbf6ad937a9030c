"""Finds secrets without a known format by their place: in headers, cookies, addresses and commands.

`assignments` finds the values of names such as `password`.
"""

import re
from collections.abc import Iterator
from typing import Final

from sessiond.hub.redaction.assignments import assigned
from sessiond.hub.redaction.commands import COMMANDS, HASHES, OPTIONS, PASSWORDS
from sessiond.hub.redaction.likely_values import looks_secret, may_be_secret
from sessiond.hub.redaction.members import in_members
from sessiond.hub.redaction.printed_secrets import printed
from sessiond.hub.redaction.spans import Span
from sessiond.hub.redaction.tables import in_tables

_QUOTED: Final = r"(?P<quote>[\"'])(?P<quoted>[^\r\n]{4,200}?)(?P=quote)"
_VALUE: Final = rf"(?:{_QUOTED}|(?P<value>[^\s\"'`]{{4,200}}))"
"""The value of an option: in quotes it has any characters."""

# The expressions below are applied to texts in lower case, which is faster than ignoring case. An expression is only
# applied if the text contains one of its hints. Repetitions are bounded or possessive, so the time of a search grows
# with the length of a text and no faster (`tests/test_patterns.py`).

_COOKIES: Final = re.compile(
    r"(?:cookie[\"'\\]*\s*[:=]|curl\b[^\r\n]{0,400}?\s(?:-b|--cookie))\s*[\"'\\]*(?P<value>[^\r\n\"'`\\]{8,8192})"
)
_COOKIES_HINTS: Final = ("cookie", "curl")
_COOKIE: Final = re.compile(r"(?P<name>[^\s=;,]{1,100})=(?P<value>[^\s;,]{8,})")
_COOKIE_ATTRIBUTES: Final = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority"))

_ADDRESS: Final = re.compile(
    r"://(?:[^\s:/@\"']{0,200}:(?P<value>[^\s/\"'`]{3,400})@|(?P<user>[a-z0-9_-]{20,200}+)@)"
)
"""An address with a password, or with a token in place of the user."""

_RULES: Final = (
    (
        "Authorization Header", 8, ("authorization",),
        r"authorization[\"'\\]*\s*[:=,]\s*[\"'\\]*(?:[a-z][a-z0-9-]{2,20}\s+)?(?P<value>[^\s\"'`,;\\]{8,})",
    ),
    ("Bearer Token", 12, ("bearer",), r"bearer\s+(?P<value>[a-z0-9._~+/=-]{12,})"),
    (
        "netrc Password", 4, ("machine ", "default login", "default\n"),
        r"\b(?:machine\s{1,20}+\S{1,200}+|default)(?:\s{1,20}+(?:login|account)\s{1,20}+\S{1,200}+){0,2}"
        r"\s{1,20}+password\s{1,20}+(?P<value>\S{4,})",
    ),
    (
        "URL Parameter", 8, ("?", "&"),
        r"[?&](?:[a-z0-9_-]{0,20}(?:token|secret|passw(?:or)?d|apikey|api[_-]key|auth|signature)|key|sig|code)="
        r"(?P<value>[^&\s\"'#<>)`\\]{8,})",
    ),
    (
        "Secret", 8, ("--",),
        r"--(?:[a-z0-9]+-){0,4}(?:password|passwd|passphrase|token|secret|(?:api|access|private)-?key)\s+(?P<value>[^\s\"'`]{8,})",
    ),
    ("Password", 4, ("sshpass",), rf"sshpass\s+-p\s{{0,2}}{_VALUE}"),
    ("Password", 4, ("sshpass",), rf"sshpass[\"']\s{{0,4}}+,\s{{0,4}}+[\"']-p[\"']\s{{0,4}}+,\s{{0,4}}+{_VALUE}"),
    ("Password", 4, ("securestring",), rf"convertto-securestring\s{{1,4}}+(?:-string\s{{1,4}}+)?{_VALUE}"),
    (
        "Password", 4, ("password ", "secret "),  # of a network device, after the number of its encoding
        r"(?:password|secret)[ \t]{1,4}+[0-9][ \t]{1,4}+(?P<value>[^\s\"']{4,200})",
    ),
    (
        "Password", 4, ("auth",),
        r"(?:auth[\"']?\s{0,4}+[:=]\s{0,4}+[(\[]|basic_?auth\()\s{0,8}+(?P<q>[\"'])[^\"'\r\n]{1,100}+(?P=q)\s{0,4}+,\s{0,8}+(?:some\()?"
        rf"{_VALUE}",
    ),
    ("Basic Auth Credentials", 16, ("basic ",), r"\bbasic[ ]{1,4}+(?P<value>[a-z0-9+/]{16,4096}+={0,2})"),
    (
        "Password", 4, ("thin:", "sqlplus"),
        r"(?:thin:|sqlplus[^\r\n]{0,40}?\s)[\w.$-]{1,60}+/(?P<value>[^\s@\"']{4,200}+)@",
    ),
    (
        "Password", 4, ("> auth ",),
        r">[ ]auth[ ]{1,4}+(?:[\w-]{1,60}+[ ]{1,4}+)?(?P<value>[^\s\"']{4,200}+)(?=[\r\n]|$)",
    ),
    (
        "Secret", 16, ("oauth\"", "token\"", "bearer\""),  # tokens by host, as in auth.json of Composer
        r"(?:oauth|token|bearer)\"\s{0,8}+:\s{0,8}+\{\s{0,40}+\"[^\"\s]{1,100}+\"\s{0,8}+:\s{0,8}+\""
        r"(?P<value>[^\"\s]{16,400}+)\"",
    ),
    ("Secret", 20, ("unseal key",), r"unseal\ key\ \d{1,2}+:\s{1,4}+(?P<value>[a-z0-9+/=]{20,200}+)"),
    (
        "Secret", 16, ("cat ",),  # a file whose name says that it holds a key
        r"cat[ ](?:[^\s|;&]{0,200}?(?:\.key|secret|token|passw)[^\s|;&]{0,40}+)[ \t]{0,4}+\r?\n"
        r"(?P<value>[^\s\"':=]{16,400}+)(?=[ \t]{0,4}+(?:[\r\n]|$))",
    ),
    (
        "Private Key", 16, ("kty",),  # the private members of a JSON Web Key
        r"[\"'](?:d|k|p|q|dp|dq|qi)\\{0,3}+[\"']\s{0,4}+:\s{0,4}+\\{0,3}+[\"'](?P<value>[a-z0-9_-]{16,4096}+)",
    ),
    (
        "Docker Token", 16, (".docker",),
        r"\.docker(?:configjson|cfg)[\"']?\s{0,4}+[:=]\s{0,4}+[\"']?(?P<value>[a-z0-9+/=]{16,})",
    ),
    (
        "Recovery Phrase", 20, ("mnemonic", "phrase"),
        r"(?:mnemonic|(?:seed|recovery|secret)[ _-]?phrase)[\w ]{0,20}?[\"']?\s{0,4}+[:=][\s\"']{0,8}+"
        r"(?P<value>(?:[a-z]{3,8}+[ ]){11,23}+[a-z]{3,8}+)",
    ),
    (
        "Recovery Codes", 8, ("recovery code", "backup code", "scratch code"),
        r"(?:recovery|backup|scratch)[ ]codes?[^\r\n]{0,100}+"
        r"(?P<value>(?:\r?\n[ \t>*-]{0,8}+(?:\d{1,2}[.)][ \t])?"
        r"(?=[a-z-]{0,16}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){0,3}+){2,24}+)",
    ),
    (
        "Password", 4, ("%",),
        r"\s(?:-u|--user)[ =]{0,4}+[\"']?[\w.\\-]{1,100}+%(?P<value>[^\s\"'`%]{4,200})",
    ),
    (
        "Password", 6, ("stdin", "sudo"),
        rf"(?:echo|printf)\s{{1,4}}+(?:-n\s{{1,4}}+)?{_VALUE}\s{{0,4}}+\|[^\r\n|]{{0,200}}?(?:--password-stdin|sudo\s{{1,4}}+-s)",
    ),
    (
        "Password", 4, ("curl",),
        r"curl\b[^\r\n|;&]{0,400}?\s(?:-u|--user)[ =]?(?:"
        r"(?P<quote>[\"'])[^\s:\"']{1,100}:(?P<quoted>[^\r\n]{4,200}?)(?P=quote)"
        r"|[^\s:\"']{1,100}:(?P<value>[^\s\"'`]{4,200}))",
    ),
    (
        "Password Hash", 20, ("$",),
        r"(?<![\w$])(?P<value>\$(?:apr1|[1567y]|gy|2[abxy]|md5|sha1|argon2[a-z]{0,2}|scrypt|pbkdf2[a-z0-9-]{0,20})"
        r"\$[./a-z0-9$=,+-]{20,400}+)",
    ),
    (
        "Password", 4, (":",),  # .pgpass
        r":(?:[0-9]{1,5}|\*):[a-z_*][\w*-]{0,80}+:[a-z_*][\w*.@-]{0,80}+:"
        r"(?P<value>(?:\\[:\\]|[^\s:\\]){4,200}+)(?=[\r\n]|$)",
    ),
    (
        "Cookie", 8, ("\t",),  # a file of cookies
        r"(?:true|false)\t/[^\t\r\n]{0,200}+\t(?:true|false)\t\d{1,12}+\t[^\t\r\n]{1,200}+\t(?P<value>[^\t\r\n]{8,4096}+)",
    ),
    (
        "Webhook", 20, ("hook",),
        r"hooks?[a-z0-9/._@%-]{0,200}?/(?P<value>[a-z0-9_-]{24,400}+)(?=[/\s\"'`<>)?\],;.]|$)",
    ),
)  # fmt: skip
"""For each rule: the kind of secret, its minimum length in characters, the hints, and the expression."""
_PATTERNS: Final = tuple(
    (gates, [(kind, least, hints, re.compile(pattern)) for kind, least, hints, pattern in rules])
    for gates, rules in (
        (("",), _RULES + COMMANDS + HASHES),
        ((" -", "\t-"), OPTIONS),
        (("pass",), PASSWORDS),
    )
)
"""The compiled rules, by a string that each text with a match of one of them contains."""


def by_context(text: str) -> list[Span]:
    """Return the secrets in a text that are recognized by the words around them."""
    lowered = text.lower()
    if len(lowered) != len(text):  # the lower case of some letters is more than one character
        lowered = "".join(character.lower() if character.isascii() else character for character in text)

    def matches(hints: tuple[str, ...], pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return pattern.finditer(lowered) if any(hint in lowered for hint in hints) else iter(())

    spans = [
        Span(*span, "Basic Auth Credentials")
        for found in matches(("://",), _ADDRESS)
        for span in (found.span("value" if found["user"] is None else "user"),)
        if (may_be_secret if found["user"] is None else _is_key)(text[slice(*span)])
    ]
    for gates, rules in _PATTERNS:
        if any(gate in lowered for gate in gates):
            for kind, least, hints, pattern in rules:
                for hint in hints:  # a loop, since `any` with a generator takes longer than the search
                    if hint in lowered:
                        spans += _found(text, lowered, kind, least, pattern)
                        break
    for found in matches(_COOKIES_HINTS, _COOKIES):
        spans += _in_cookies(text, *found.span("value"))
    return [
        *spans,
        *assigned(text, lowered),
        *in_members(text, lowered),
        *printed(text, lowered),
        *in_tables(text),
    ]


def _found(text: str, lowered: str, kind: str, least: int, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Yield the secrets that an expression finds."""
    for found in pattern.finditer(lowered):
        span = found.span("quoted" if found.groupdict().get("quoted") is not None else "value")
        if looks_secret(text[slice(*span)], least=least):
            yield Span(*span, kind)


def _is_key(value: str) -> bool:
    """Return whether the user of an address is a key."""
    return looks_secret(value, least=20) and any(character.isdigit() for character in value)


def _in_cookies(text: str, start: int, end: int) -> list[Span]:
    return [
        Span(*match.span("value"), "Cookie")
        for match in _COOKIE.finditer(text, start, end)
        if match["name"].lower() not in _COOKIE_ATTRIBUTES and looks_secret(match["value"], least=8)
    ]
