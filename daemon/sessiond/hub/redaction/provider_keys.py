"""Finds keys with a known format, such as `ghp_…`, by the rules of Kingfisher and by additional ones.

Kingfisher (https://github.com/mongodb/kingfisher) knows the keys of some 400 providers, is maintained, and uses no
network. Compiling its rules takes seconds, so they are compiled once on each machine and loaded from `cache_folder`
afterwards, in 0.4 s. They take 50 MB, so they are in a process that ends after some time without a search.
"""

import logging
import os
import re
import threading
import time
from importlib.util import find_spec
from typing import Final

from sessiond.hub.redaction.scanning_process import CACHE_VARIABLE, OwnScanner, ScanningProcess
from sessiond.hub.redaction.spans import Span

log = logging.getLogger(__name__)

_KEPT_SECONDS: Final = 30.0
"""Seconds after the last search until the process with the rules ends."""
_SHORTEST: Final = 12
"""The minimum length of a provider key in characters."""

_OURS: Final = (
    ("Anthropic API Key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("OpenRouter API Key", ("sk-or-",), r"sk-or-(?:v\d-)?[A-Za-z0-9]{32,}"),
    ("OpenAI API Key", ("sk-",), r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
    ("API Key", ("sk-",), r"sk-[A-Za-z0-9]{32,}"),
    ("Google API Key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    ("GitHub Token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{40,}"),
    ("GitHub Token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("GitLab Token", ("gl",), r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,}"),
    ("Hugging Face Token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("Slack Token", ("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Slack Token", ("xapp-",), r"xapp-\d-[A-Za-z0-9-]{20,}"),
    ("Slack Webhook", ("hooks.slack",), r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}"),
    ("Stripe Access Key", ("k_live_", "k_test_"), r"[rs]k_(?:live|test)_[0-9A-Za-z]{20,}"),
    ("AWS Access Key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    (
        "JSON Web Token", ("eyJ",),
        r"(?:(?<![\w-])eyJ[A-Za-z0-9_-]{8,}+|(?<=[_-])eyJ[A-Za-z0-9_-]{8,1024}+)"
        r"\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ),
    ("Telegram Bot Token", (":AA",), r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),
    (
        "Discord Bot Token", ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "ODA"),
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])",
    ),
    ("NuGet API Key", ("oy2",), r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("RubyGems API Key", ("rubygems_",), r"rubygems_[0-9a-f]{48}(?![A-Za-z0-9])"),
    ("HubSpot Token", ("pat-",), r"pat-(?:na|eu|ap)\d{1,2}-[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,30}"),
    ("crates.io Token", ("cio",), r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("Backblaze Key", ("K00",), r"K00[0-9][A-Za-z0-9+/_-]{27,30}(?![A-Za-z0-9])"),
    ("Mailchimp API Key", ("-us",), r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])"),
    ("Dropbox Token", ("sl.",), r"sl\.[A-Za-z0-9_.-]{100,}"),
    ("Firebase Server Key", (":APA91b",), r"[A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,}"),
    ("Infisical Token", ("st.",), r"st\.[0-9a-f-]{20,40}\.[0-9a-f]{20,64}\.[0-9a-f]{20,64}"),
    ("SendGrid API Key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("Twilio API Key", ("SK",), r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Sentry Token", ("sntry",), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("npm Token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("Docker Token", ("dckr_",), r"dckr_[a-z]{3,4}_[A-Za-z0-9_-]{20,}"),
    ("Vault Token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("ngrok Token", ("_",), r"[12][A-Za-z0-9]{26}_[A-Za-z0-9]{20,22}(?![A-Za-z0-9])"),
    ("age Key", ("AGE-SECRET",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
)  # fmt: skip
"""The formats of the most frequent keys. Kingfisher rejects some that look invented, and may not be installed.

For each format: the kind, hints, and the expression, which is only applied to a text that contains one of the hints.
"""

_ANY_HINT: Final = re.compile("|".join(re.escape(hint) for _, hints, _ in _OURS for hint in hints))
_HINTED: Final = tuple(
    (hint, (kind, re.compile(pattern))) for kind, hints, pattern in _OURS for hint in hints
)
"""A hint, and the rule to which it belongs."""
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Za-z0-9 ]{0,40}(?:PRIVATE KEY|Static key)[A-Za-z0-9 ]{0,20}-----"
    r".*?(?:-----END [A-Za-z0-9 ]*-----|\Z)",
    re.DOTALL,
)

_PUTTY_KEY: Final = re.compile(r"(?<=Private-Lines: )\d{1,4}(?:\s|\\[rn]){1,8}+[A-Za-z0-9+/=\s\\]{16,16384}+")
"""The private lines of a key of PuTTY."""

_WRAPPED_TOKEN: Final = re.compile(
    r"(?<![\w-])eyJ[A-Za-z0-9_.-]{30,4096}+"
    r"(?:\r?\n[ \t]{0,8}+(?=[a-z_.-]{0,40}[A-Z0-9])[A-Za-z0-9_.-]{8,4096}+(?![ \t=:(])){1,60}+"
)
"""A JSON Web Token that was broken into lines, as a terminal prints it."""
_BREAK: Final = re.compile(r"\s+")
_JOINED: Final = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")

_NAMED_KEY: Final = re.compile(r"[_-](?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{20,300}+(?!\.?[A-Za-z0-9+/=])")
_PROVIDER: Final = re.compile(r"(?:\A|[^A-Za-z0-9+/=_.-])(?P<name>[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9})\Z")
"""A key that begins with the name of its provider, as most new formats do: `tskey-auth-…`, `pscale_tkn_…`."""
_SECRET_WORDS: Final = re.compile(
    r"(?:(?:[a-z0-9]{1,10}[_-]){0,2}(?:key|sk|rk|tkn|tok|token|secret|pat|api|auth|live|pk)|[a-z0-9]{1,8}(?:key|api))[_-]",
    re.IGNORECASE,
)
"""A name that says that it is a secret, perhaps after another name."""
_NAMES_OF_IDS: Final = re.compile(
    r"(?:sha\d*|md5|toolu|srvtoolu|msg|call|chatcmpl|resp|req|run|rs|fc|ws|item|file|thread|asst|step|evt|event|session|ses"
    r"|prt|part|task|job|build|chunk|index|cus|sub|prod|price|nonce|hash|commit|id|uuid|trace|span|node|pod|vpc|subnet"
    r"|gen|batch|cmpl|conv|org|proj|user|h1|tooluse|ctc|pnpm)[_-]",
    re.IGNORECASE,
)
"""The beginnings of ids and hashes, which are no secrets."""

_TERMINATORS: Final = b",;()<>[]{}*|&\\!?"
_AS_SPACES: Final = bytes.maketrans(_TERMINATORS, b" " * len(_TERMINATORS))
_LAST_TERMINATORS: Final = re.compile(r"[.:](?=\s|$)")
"""Characters that may follow a key in prose, Markdown and code.

Many rules of Kingfisher find a key only if a quote, a space or the end of the text follows it.
"""

_QUOTES: Final = "\\\"'`"
"""Characters around a key that a rule of Kingfisher may include in it, as in JSON within JSON."""


def private_keys(text: str) -> list[Span]:
    """Return the private keys in a text, from `BEGIN` to `END`. A truncated key extends to the end of the text."""
    keys = _PRIVATE_KEY.finditer(text) if "PRIVATE KEY" in text or "Static key" in text else ()
    putty = _PUTTY_KEY.finditer(text) if "Private-Lines:" in text else ()
    spans = [Span(found.start(), found.end(), "Private Key") for found in (*keys, *putty)]
    wrapped = _WRAPPED_TOKEN.finditer(text) if "eyJ" in text else ()
    spans += [
        Span(*match.span(), "JSON Web Token")
        for match in wrapped
        if _JOINED.fullmatch(_BREAK.sub("", match[0]))
    ]
    return spans


def by_pattern(text: str) -> list[Span]:
    """Return the keys in a text that match the formats of this module. A key never starts inside a word."""
    if _ANY_HINT.search(text) is None:  # true for most texts, and faster than a search for each hint
        return []
    return [
        Span(*found.span(), kind)
        for kind, pattern in dict.fromkeys(rule for hint, rule in _HINTED if hint in text)
        for found in pattern.finditer(text)
        if not text[found.start() - 1 : found.start()].isalnum()
    ]


def by_name(text: str) -> list[Span]:
    """Return the keys in a text that begin with the name of a provider that this module may not know."""
    spans: list[Span] = []
    for found in _NAMED_KEY.finditer(text):
        least = max(0, found.start() - 11)
        provider = _PROVIDER.search(text[least : found.start()])
        if provider is not None:
            key = text[least + provider.start("name") : found.end()]
            if _NAMES_OF_IDS.match(key) is None and _is_key(provider["name"], key):
                spans.append(Span(least + provider.start("name"), found.end(), "API Key"))
    return spans


def _is_key(name: str, key: str) -> bool:
    """Return whether a text that begins with a name is a key: its characters are mixed, or its name says so."""
    body = key[len(name) + 1 :]
    named = _SECRET_WORDS.match(key)
    digits = sum(character.isdigit() for character in body)
    if digits * 20 < len(body) or "--" in body or "__" in body:
        return False
    if any(character.islower() for character in body) and any(character.isupper() for character in body):
        return len(body) >= (20 if named else 24 if name.isupper() else 28)
    if named and set(key[named.end() :].lower()) <= set("abcdef-_0123456789"):
        return len(body) >= 32
    return body.isupper() and digits >= 3 and len(body) >= 24


class ProviderKeys:
    """Finds provider keys by the rules of Kingfisher. Thread-safe.

    Args:
        cache_folder: The folder of the compiled rules. If None, they are compiled in each process.
        kept_seconds: Seconds after the last search until the process with the rules ends.
        is_own_process: Whether the rules are loaded here, in a process that soon ends, and not in another one.
    """

    def __init__(
        self, cache_folder: str | None, kept_seconds: float = _KEPT_SECONDS, *, is_own_process: bool = False
    ) -> None:
        self._folder = os.environ.get(CACHE_VARIABLE) or cache_folder
        self._kept_seconds = kept_seconds
        self._is_own_process = is_own_process
        self._used_at = 0.0
        self._loading = threading.Lock()
        self._scanner: OwnScanner | ScanningProcess | None = None
        self._is_watched = False
        self._is_missing = False

    def __reduce__(self) -> tuple[object, tuple[str | None]]:
        """Pickle only the folder. A process that is given work loads the rules from there."""
        return _in_own_process, (self._folder,)

    def load(self) -> bool:
        """Load the rules, which may take seconds. Returns False if Kingfisher is not installed."""
        if (scanner := self._loaded()) is not None:
            scanner.scan(b"")
        return scanner is not None

    def _loaded(self) -> OwnScanner | ScanningProcess | None:
        with self._loading:
            self._used_at = time.monotonic()
            if self._scanner is None and not self._is_missing:
                self._scanner = self._load()
            if self._scanner is not None and not self._is_watched and not self._is_own_process:
                self._is_watched = True
                threading.Thread(target=self._unload_unused, name="provider keys", daemon=True).start()
            return self._scanner

    def _unload_unused(self) -> None:
        while (rest := self._used_at + self._kept_seconds - time.monotonic()) > 0:
            time.sleep(rest)
        with self._loading:
            self._is_watched = False
            scanner = self._scanner
        if isinstance(scanner, ScanningProcess):
            scanner.close()

    def find(self, text: str) -> list[Span]:
        """Return the keys in a text; empty if Kingfisher is not installed."""
        if len(text) < _SHORTEST or (scanner := self._loaded()) is None:
            return []
        # All terminators are ASCII, so both versions have the same length, and offsets in them are the same.
        data = text.encode("utf-8", "replace")
        spaced = _LAST_TERMINATORS.sub(" ", text).encode("utf-8", "replace").translate(_AS_SPACES)
        found: list[Span] = []
        for version in dict.fromkeys((data, spaced)):
            for start, end, rule in scanner.scan(version):
                if len(data) != len(text):  # the offsets are in bytes
                    start, end = (len(data[:offset].decode("utf-8", "replace")) for offset in (start, end))
                while end > start and text[end - 1] in _QUOTES:
                    end -= 1
                while start < end and text[start] in _QUOTES:
                    start += 1
                kind, value = _kind(rule), text[start:end]
                if kind.startswith("generic") and value.isalpha() and value.islower():
                    continue  # a word in place of a password, as in documentation
                found.append(Span(start, end, kind))
        return found

    def _load(self) -> OwnScanner | ScanningProcess | None:
        if find_spec("kingfisher_sdk") is None:
            log.warning("Kingfisher is not installed: exports look for fewer kinds of keys")
            self._is_missing = True
            return None
        return OwnScanner(self._folder) if self._is_own_process else ScanningProcess(self._folder)


def _in_own_process(folder: str | None) -> ProviderKeys:
    return ProviderKeys(folder, is_own_process=True)


def _kind(rule_id: str) -> str:
    """Return the last part of the name of a rule, without its collection."""
    return re.split(r"[./]", rule_id)[-1]
