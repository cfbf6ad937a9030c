"""Finds secrets that a command printed: alone on the line below `… | base64 -d`, `pass show` or `openssl rand`."""

import re
from typing import Final

from sessiond.hub.redaction.likely_values import looks_secret
from sessiond.hub.redaction.spans import Span

_ALONE: Final = re.compile(
    r"\n(?P<value>[^\s:=]\S{5,400}+(?:[ ]\w{6,64}+){0,20}+)"
    r"(?=[ \t]{0,4}+(?:[\r\n]|\Z)|(?<=[$#%])[ ])"  # the next prompt may follow
)
"""A line of one or several words that may be secrets, and the end of the previous line."""
_PROMPT: Final = re.compile(
    r"[\w.-]{1,64}+@[\w.-]{1,64}+[:~]\S{0,200}+\Z|[\w.-]{1,100}+:(?:\d{1,5}+|\*):|[A-Za-z_][\w.]{0,64}+=(?!=|\s|\Z)"
)
"""A prompt, a line of `.pgpass`, or a setting: lines of one word that are not the output of a command."""
_NAME: Final = r"(?:pass(?:w|[^a-z]|\Z)|pwd|secret|token|key|credential|auth)"
_COMMAND: Final = re.compile(
    r"\bbase64[ ][^\r\n|]{0,100}?(?:-d|--decode)|\bopenssl[ ](?:rand[ ]|(?:base64|enc)[ ][^\r\n|]{0,100}?-d)"
    r"|/dev/u?random\b"
    r"|\bvault[ ](?:kv[ ]get|read|token[ ]create|login)[ ][^\r\n|]{0,200}?-field|\bvault[ ]print[ ]token"
    r"|\b(?:go)?pass[ ](?:show[ ]|generate[ ]|[\w-]{1,40}+/)|\bop[ ](?:read[ ]|item[ ]get[ ])|\b[br]bw[ ]get[ ]"
    r"|\blpass[ ]show[ ]|\bkeepassxc-cli[ ]|\bkeyring[ ]get[ ]|\bsecret-tool[ ]lookup|\bpwgen\b|\bapg[ ]-|\bmkpasswd\b"
    r"|\bsecurity[ ]find-(?:generic|internet)-password|\bget-(?:secret-value|login-password|authorization-token)\b"
    r"|--with-decryption\b|\bgenerate-db-auth-token\b|\bsecrets[ ](?:versions[ ]access|get[ ])|\bprint-(?:access"
    r"|identity)-token"
    r"|\bkeyvault[ ]secret[ ]show|\bget-access-token\b|\bauth[ ]token\b|\bwhoami[ ]-t\b|\bcreate[ ]token[ ]"
    r"|\bjwt[ ]encode"
    r"|\bsecrets?[/ ][^\r\n|]{1,200}?(?:jsonpath|template|custom-columns)|\bwg[ ]gen(?:key|psk)|\bsecrets\.token_"
    r"|\brandombytes\("
    r"|\b(?:rails|rake|flask|auth)[ ]secret\b|\bkey:generate[ ]--show|get_random_secret_key|\bhtpasswd[ ]-\w{0,4}n"
    r"|\b(?:sops|gpg|age|ansible-vault|systemd-creds)[ ][^\r\n|]{0,100}?(?:-d\b|decrypt|view[ ])"
    rf"|\b(?:output|config:get|config[ ]get|configure[ ]get|consul[ ]kv[ ]get|etcdctl[ ]get|chamber[ ]read|jq"
    rf"|yq)[ ][^\r\n|]{{0,120}}?{_NAME}"
    rf"|\b(?:echo|printf|printenv|get-content|cat)[ ][^\r\n|]{{0,120}}?{_NAME}|\$env:\w{{0,60}}?{_NAME}"
)
"""Matches a command, in lower case, that prints one secret or a few."""
_MAX_LINE: Final = 500
_MAX_LINES: Final = 5
"""Limits of the line of a command, and of its continuation lines."""


def printed(text: str, lowered: str) -> list[Span]:
    """Return the secrets in a text that are the output of a command.

    Args:
        text: The text.
        lowered: The text in lower case, with the same length.
    """
    spans: list[Span] = []
    last = -1
    for found in _ALONE.finditer(text):
        start, end = found.span("value")
        is_next = last >= 0 and not text[last : found.start()].strip()
        if not is_next and not _is_command(lowered, found.start()):
            continue
        words = text[start:end].split()  # several secrets if pwgen prints columns
        if all(looks_secret(word, least=6) for word in words) and _PROMPT.match(text, start, end) is None:
            spans.append(Span(start, end, "Printed Secret"))
            last = end
    return spans


def _is_command(lowered: str, end: int) -> bool:
    """Return whether the line that ends at an offset, with the lines that it continues, is such a command."""
    start = end
    for _ in range(_MAX_LINES):
        start = max(lowered.rfind("\n", max(0, start - _MAX_LINE), start), start - _MAX_LINE, 0)
        if not lowered[max(0, start - 2) : start].rstrip("\r").endswith("\\"):
            break
    command = lowered[start:end]
    return " " in command and _COMMAND.search(command) is not None
