"""Finds the values of settings whose names say that they are secret: in files, code, commands, tables and prose.

A name such as `password` or `api_key` is not sufficient, because transcripts contain much code that uses such names.
The value must look like a secret, too; `likely_values` decides that.
"""

import re
from functools import lru_cache
from typing import Final

from sessiond.hub.redaction.likely_values import is_passphrase, is_strong, is_worth, looks_secret
from sessiond.hub.redaction.spans import Span


def _behind(words: str, word: str) -> str:
    """Return an expression that matches after one of these words, even if it is joined to another word."""
    return "|".join(f"(?<={before}{join}{word})" for before in words.split() for join in ("", "[_-]"))


_IN_OTHER_LANGUAGES: Final = (
    "contraseña", r"mot\ de\ passe", "senha", "wachtwoord", "hasło", "lösenord", "salasana", "adgangskode", "parola",
    "heslo", "jelszó", "şifre", "пароль", "密码", "密碼", "パスワード", "비밀번호", r"mật\ khẩu", "סיסמה",
)  # fmt: skip
"""The word password in other languages."""
_PASS_OF: Final = "db user smtp mail ftp root admin become sql redis login key store pg require"
_PASSWORD: Final = (
    r"passw(?:or)?d|passwort|kennwort|pass_?phrase|passcode|pwd|identified\ by|psk(?<![a-z]psk)|authtok"
    rf"|{'|'.join(_IN_OTHER_LANGUAGES)}"
    rf"|pass(?:(?<![a-z]pass)|{_behind(_PASS_OF, 'pass')})"
    rf"|pw(?:(?<![a-z]pw)|{_behind('bind root user db', 'pw')})"
)
_KEY_OF: Final = (
    "api access auth secret account private encryption signing shared master service client deploy license storage"
    " consumer session app decryption validation admin"
)
_KEY: Final = (
    rf"secret(?:[_-]key[_-]base|[_-]?id)?|token|credentials?|key(?:{_behind(_KEY_OF, 'key')}|\ content)|auth"
    rf"|pat(?<![a-z]pat)|salt(?:{_behind('auth key in', 'salt')})"
)
_SUFFIX: Final = (
    r"(?:[_-]?(?:v?\d{1,3}|base64|b64|prod|production|dev|test|staging|live|value|default|data|text|plain|string"
    r"|str|hex"
    r"|old|new|primary|secondary))?"
)
_NAME: Final = rf"(?:{_PASSWORD}|{_KEY}){_SUFFIX}"
"""The end of the name of a setting that holds a secret. Each choice begins with a letter, so that a search is fast."""
_IS_PASSWORD: Final = re.compile(_PASSWORD, re.IGNORECASE)
_QUOTE: Final = r"""\\{0,3}["'`]"""
_SPACE: Final = r"[ \t]"
_IS: Final = "is|was|to|ist|lautet|war|est|es|era|é|è|jest|är|er|on|je|bylo|было|is set to"

# The expressions below are applied to texts in lower case, which is faster than ignoring case. Repetitions are bounded
# or possessive, so the time of a search grows with the length of a text and no faster (`tests/test_patterns.py`).

_TELLING: Final = (
    rf"(?![a-z_])[\w ()'’-]{{0,40}}?(?:(?::|{_SPACE}(?:{_IS})(?:{_SPACE}(?:now|jetzt|still|again))?:?){_SPACE}"
    rf"|{_SPACE}?[是は는은]:?{_SPACE}?)"
)
_TOLD: Final = re.compile(_TELLING)
"""The words between a name and its value in prose."""
_WITH: Final = re.compile(r"\b(?:with|using|mit|avec|con|com)[ ](?:\w{1,12}[ ]){0,2}\Z")
_NAMED: Final = re.compile(
    rf"{_NAME}(?:"
    rf"(?:{_QUOTE})?[\])]{{0,2}}(?::{_SPACE}?[a-z&*][\w&*<>\[\].|?']{{0,40}}(?={_SPACE}))?{_SPACE}{{0,40}}+"
    rf"(?P<sign>=>|:=|=|:(?![:?]))(?P<gap>{_SPACE}{{0,40}}+)"
    rf"|(?P<call>\({_SPACE}{{0,4}}+|{_SPACE}{{1,8}}+)(?=[a-z@]?{_QUOTE})"  # password("value"), PASSWORD 'value'
    rf"|(?:{_QUOTE})?,?\s{{1,40}}+(?:{_QUOTE})?value(?:{_QUOTE})?{_SPACE}{{0,4}}+[:=](?P<field>{_SPACE}{{0,4}}+)"
    rf"|{_QUOTE},?\s{{0,40}}+(?:{_QUOTE})?value(?:{_QUOTE})?{_SPACE}{{0,4}}+[:=](?P<attribute>{_SPACE}{{0,4}}+)"
    rf"|{_QUOTE}{_SPACE}{{0,8}}+(?P<comma>,)\s{{0,20}}+(?=[a-z@]?{_QUOTE})"  # define('NAME', 'value')
    rf"|{_QUOTE}\s{{0,4}}+\{{[^{{}}]{{0,300}}?\bdefault{_SPACE}{{0,20}}+=(?P<default>{_SPACE}{{0,20}}+)"
    rf"|(?P<element>(?:{_QUOTE})?>)(?=[^<\s])"
    rf"|{_SPACE}{{0,20}}+(?P<cell>[|│┃║]){_SPACE}{{0,20}}+"
    rf"|(?P<word>{_SPACE}{{1,20}}+)(?=\S{{8}})"
    rf"|(?P<prose>{_TELLING})"
    rf"|(?P<prompt>(?![a-z])[^\r\n:=]{{0,100}}?:{_SPACE}{{0,4}}+\r?\n{_SPACE}{{0,8}}+)(?=\S{{6}})"
    rf")"
)
"""A name, and the sign that separates it from its value."""
_HINTS: Final = (
    "pass", "pwd", "secret", "token", "credential", "key", "auth", "pat", "identified by", "pw", "psk", "wort", "salt",
    *(language.replace("\\", "") for language in _IN_OTHER_LANGUAGES),
)  # fmt: skip
_FIELD: Final = re.compile(rf".{{0,200}}?(?P<name>{_NAME})", re.IGNORECASE)

_OPENED: Final = re.compile(
    r"[a-zA-Z@$]{0,2}(?P<backslashes>\\{0,3})(?:\"\"(?=\")|''(?='))?(?P<quote>[\"'`])"
)
_QUOTED: Final = {
    (quote, count): re.compile(
        rf"(?:[^{quote}\\\r\n]|{quote}{quote}(?=[\w$#!%^*+~])|\\{{1,16}}+(?!{quote})"
        rf"|(?<!\\)\\{{{count + 1},16}}+{quote}){{4,4096}}+"
        rf"(?=\\{{{count}}}{quote}|\Z)"
    ).match
    for quote in "\"'`"
    for count in range(4)
}
"""The value after a quote with a number of backslashes, up to the same quote: a quote in a value has more of them.

A text that is cut off has no second quote.
"""
_BLOCK: Final = re.compile(
    r"[|>][+-]?\d?[ \t]{0,8}+\r?\n(?P<indent>[ \t]{1,40}+)"
    r"(?P<value>\S[^\r\n]{3,4096}+(?:\r?\n(?P=indent)\S[^\r\n]{0,4096}+){0,64}+)"
)
_BARE: Final = re.compile(r"(?:[^\s\"'`,;)\]}\\&]|&(?![\w.-]+=)){4,4096}+")
_WHOLE_LINE: Final = re.compile(r"(?P<value>\S{4,4096}+)(?=[ \t]{0,8}+(?:#[^\r\n]{0,200}+)?(?:[\r\n]|\Z))")
_CHANGED: Final = re.compile(
    r"(?:[ \t]{0,8}+(?:\([^()\r\n]{0,40}+\)|\"[^\"\r\n]{0,400}+\"|'[^'\r\n]{0,400}+'|[^\s\"'()]{1,200}+)|[\"'])?"
    r"[ \t]{0,8}+(?:->|=>|→)[ \t]{0,8}+"
    r"(?:[\"'](?P<quoted>[^\"'\r\n]{4,400}+)[\"']|(?P<bare>[^\s\"'`,;]{6,400}+))"
)
"""The old value of a setting, if it is present, and the new value, as plans and reports of changes show them."""
_ADDRESS: Final = re.compile(r"\barn:[\w:-]{1,80}+\Z")
"""The beginning of the name of a secret in a cloud, which is not a secret itself."""
_TEST_PASSED: Final = re.compile(r"PASS:[ ](?:[^\s/:]{0,80}[Tt]est|[^\s/:]{1,80}(?:/|::))")
"""The result of a test, such as `pass`. A password can follow the same word."""
_WORD: Final = re.compile(r"[^\s\"'`]{4,4096}+")
_METHOD: Final = re.compile(
    r"(?:sha|md|aes|rsa|des|utf|base|bcrypt|argon|pbkdf|scrypt|hmac|oauth|http|v|n?tlm|ed|ecdsa|rfc|step|line"
    r"|page|test|user)"
    r"[-_]?\d|[\w-]{1,60}+\(\)|\d[\d.:-]*\Z|\d{1,4}[- ]?[a-z]{1,20}\Z",
    re.IGNORECASE,
)
"""The name of a method, a number or a date, which a sentence about passwords may end with."""
_IN_BRACES: Final = re.compile(r"\{([^{}\r\n]{4,200}+)\}[;\"']|\[\[([^\[\]\r\n]{4,400}+)\]\]")
_UNTIL: Final = {
    ";": re.compile(r"[^;\s\"]{4,4096}+").match,
    "&": re.compile(r"[^&#\s\"'`]{4,4096}+").match,
    "<": re.compile(r"[^<\r\n]{4,4096}+").match,
    "|": re.compile(r"`?(?P<value>[^\s`|│┃║]{8,4096}+)`?[ \t]{0,200}+[|│┃║]").match,
}
_OF_NAMES: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$")
_LONGEST_NAME: Final = 64
_STARTS: Final = re.compile(
    r"(?:\A|[\r\n])[^\r\na-z]{0,40}+(?:[a-z]{2,10}[ \t](?=config|secret))?"
    r"(?:(?:export|env|arg|set|setx|setenv|declare|typeset|local|readonly|const|let|var|val|my|final|static"
    r"|private|public"
    r"|protected|config|configure|secrets?|string|-[a-z]{1,3})[ \t]{1,8}+){0,4}\Z"
)
"""The text of a line before a name that begins it, perhaps after `export`, a prompt or the sign of a diff."""


def assigned(text: str, lowered: str) -> list[Span]:
    """Return the values in a text that are assigned to names of secrets.

    Args:
        text: The text.
        lowered: The text in lower case, with the same length.
    """
    if not any(hint in lowered for hint in _HINTS):
        return []
    spans: list[Span] = []
    at = 0
    while (found := _NAMED.search(lowered, at)) is not None:
        span = _value(text, found)
        changed = (
            _CHANGED.match(text, found.end("sign") if span is None else span[1]) if found["sign"] else None
        )
        new = None if changed is None else _new_value(changed, is_password=_is_password(found))
        if new is not None:
            spans.append(Span(*new, "Password" if _is_password(found) else "Secret"))
        if span is None:
            at = max(found.end() - 1, found.start() + 1) if found["prose"] is None else found.start() + 3
        else:
            spans.append(Span(*span, "Password" if _is_password(found) else "Secret"))
            at = span[1] if new is None else new[1]
    return spans


def _new_value(changed: re.Match[str], *, is_password: bool) -> tuple[int, int] | None:
    """Return the value that replaces another one, if it is a secret."""
    group = "quoted" if changed["quoted"] is not None else "bare"
    value, is_quoted = changed[group], group == "quoted"
    if not is_quoted and not any(character.isdigit() for character in value):
        return None  # the type of a result, as in `def login(password: str) -> Session`
    return changed.span(group) if is_worth(value, is_password=is_password, is_quoted=is_quoted) else None


def assigned_secret(name: str, value: str) -> str | None:
    """Return the kind of secret if a field called `name` with this value holds one, or None."""
    kind = _kind_of_field(name) if len(name) > _LONGEST_NAME else _cached_kind_of_field(name)
    if kind is None or not is_worth(value, is_password=kind == "Password", is_quoted=True):
        return None
    return kind


def _kind_of_field(name: str) -> str | None:
    """Return the kind of secret that a field with this name may hold, or None."""
    found = _FIELD.fullmatch(name)
    if found is None:
        return None
    return "Password" if _IS_PASSWORD.match(name, found.start("name")) else "Secret"


_cached_kind_of_field = lru_cache(1_000)(_kind_of_field)


def _is_password(found: re.Match[str]) -> bool:
    return _IS_PASSWORD.match(found.string, found.start()) is not None


def _value(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Return the start and the end of the value of a name, if it is a secret."""
    at = found.end()
    is_password = _is_password(found)
    form = found.lastgroup
    if _ADDRESS.search(text, max(0, found.start() - 80), found.start()) is not None:
        return None
    if _TEST_PASSED.match(text, found.start()) is not None:
        return None
    if form in ("word", "cell", "prose", "prompt", "element"):
        return _unquoted(text, found, at, form)
    opened = _OPENED.match(text, at)
    if opened is not None:
        quoted = _QUOTED[opened["quote"], len(opened["backslashes"])](text, opened.end())
        if quoted is None:
            return None
        is_secret = (
            is_strong(quoted[0], least=6)
            if form == "call" and found["call"].isspace() and not is_password
            else is_worth(quoted[0], is_password=is_password, is_quoted=True)
        )
        return quoted.span() if is_secret else None
    block = _BLOCK.match(text, at)
    if block is not None:
        lines = block["value"].split()
        is_secret = any(is_worth(line, is_password=is_password, is_quoted=True) for line in lines)
        return block.span("value") if is_secret and len(lines) <= block["value"].count("\n") + 1 else None
    braced = _IN_BRACES.match(text, at)
    if braced is not None and braced.lastindex is not None:
        return _if_worth(text, *braced.span(braced.lastindex), is_password=is_password, is_quoted=True)
    return _bare(text, found, at, is_password=is_password)


def _bare(text: str, found: re.Match[str], at: int, *, is_password: bool) -> tuple[int, int] | None:
    """Return a value without quotes. The text before the name determines its end."""
    while text[at : at + 1] == "=":
        at += 1
    whole = _whole(text, found, at)
    if whole is not None:
        end = whole.end() if whole.re is not _WHOLE_LINE else whole.end("value")
        kept = len(text[at:end].rstrip(",;"))
        span = _if_worth(text, at, at + kept, is_password=is_password, is_quoted=False)
        if span is not None:
            return span
    bare = _BARE.match(text, at)
    if bare is not None:
        return _if_worth(text, *bare.span(), is_password=is_password, is_quoted=False)
    word = _WORD.match(text, at) if found["sign"] == "=" and not found["gap"] else None
    if word is None or word[0][-1] in ")]}>" or not is_strong(word[0]):
        return None
    return word.span()


def _whole(text: str, found: re.Match[str], at: int) -> re.Match[str] | None:
    """Return the longest value that the text before a name allows: a line, a word, or up to a separator."""
    name = _start_of_name(text, found.start())
    before = text[name - 1 : name]
    if found["sign"] == "=" and not found["gap"]:
        if before == ";":
            return _UNTIL[";"](text, at)
        if before in ("&", "?"):
            return _UNTIL["&"](text, at)
        if before in ('"', "'"):
            return _QUOTED[before, 0](text, at)
        if text[name : found.start("sign")].isupper():
            return _WORD.match(text, at)
    if _STARTS.search(text[max(0, name - 60) : name].lower()) is None:
        return None
    return _WHOLE_LINE.match(text, at)


def _unquoted(text: str, found: re.Match[str], at: int, form: str) -> tuple[int, int] | None:
    """Return a value after a space, in a table, in prose, or in an element of XML."""
    if form == "element":
        element = _UNTIL["<"](text, at)
        if element is None or not text.startswith("</", element.end()):
            return None
        return _if_worth(text, *element.span(), is_password=_is_password(found), is_quoted=True)
    if form == "cell":
        cell = _UNTIL["|"](text, at)
        if cell is None or not any(character.isdigit() for character in cell["value"]):
            return None
        is_box = found["cell"] != "|"  # outside of tables, this sign is rare
        is_secret = is_strong(cell["value"]) or (is_box and looks_secret(cell["value"], least=8))
        return cell.span("value") if is_secret else None
    if form == "word":
        span = _behind_spaces(text, found, at)
        told = _TOLD.match(found.string, found.start("word")) if span is None else None
        if told is None:
            return span
        at = told.end()
    if form == "prompt":
        return _below(text, at)
    return _told(text, found, at)


def _told(text: str, found: re.Match[str], at: int) -> tuple[int, int] | None:
    """Return the word that a sentence says is a password."""
    opened = _OPENED.match(text, at)
    if opened is not None:
        quoted = _QUOTED[opened["quote"], len(opened["backslashes"])](text, opened.end())
        if quoted is not None and is_passphrase(quoted[0]):
            return quoted.span()
    word = _WORD.match(text, at + (text[at : at + 1] in ("'", '"', "`")))
    if word is None:
        return None
    value = word[0].rstrip(".,;:?)")
    is_secret = is_strong(value) or (_is_password(found) and _is_told(text, word, value))
    return (word.start(), word.start() + len(value)) if is_secret else None


def _behind_spaces(text: str, found: re.Match[str], at: int) -> tuple[int, int] | None:
    """Return the value of an option, or of a setting that begins its line and is followed by spaces."""
    name = _start_of_name(text, found.start())
    before = text[max(0, name - 60) : name].lower()
    is_option = text.startswith("-", name)
    if not is_option and _WITH.search(before) is not None:
        return _told(text, found, at)
    if not is_option and _STARTS.search(before) is None:
        return None
    word = _WORD.match(text, at)
    rest = "" if word is None else text[word.end() : word.end() + 12].partition("\n")[0].strip()
    if word is None or (not is_option and rest and not rest.startswith(("/", "#", "\\"))):
        return None
    value = word[0].rstrip(",;")
    is_column = found.end() - found.start("word") >= 3 and any(character.isdigit() for character in value)
    is_secret = is_strong(value) or (is_column and looks_secret(value, least=8))
    return (at, at + len(value)) if is_secret else None


def _is_told(text: str, word: re.Match[str], value: str) -> bool:
    """Return whether a word ends its sentence and is a password rather than the name of a method."""
    behind = text[word.start() + len(value) : word.end() + 2]
    return (
        (
            not behind.strip()
            or behind[0] in "\r\n"
            or (behind[0] in ".,;:?)" and behind[1:2] in ("", " ", "\r", "\n"))
        )
        and any(character.isdigit() for character in value)
        and _METHOD.match(value) is None
        and looks_secret(value, least=8)
    )


def _below(text: str, at: int) -> tuple[int, int] | None:
    """Return the only word of the line below a prompt."""
    line = _WHOLE_LINE.match(text, at)
    if (
        line is None
        or line["value"][-1] in ":,;{[("
        or not any(character.isdigit() for character in line["value"])
    ):
        return None
    return _if_worth(text, *line.span("value"), is_password=False, is_quoted=False)


def _start_of_name(text: str, start: int) -> int:
    """Return the offset of the beginning of a name, for the offset `start` of its last part."""
    least = max(0, start - _LONGEST_NAME)
    while start > least and text[start - 1] in _OF_NAMES:
        start -= 1
    return start


def _if_worth(
    text: str, start: int, end: int, *, is_password: bool, is_quoted: bool
) -> tuple[int, int] | None:
    return (start, end) if is_worth(text[start:end], is_password=is_password, is_quoted=is_quoted) else None
