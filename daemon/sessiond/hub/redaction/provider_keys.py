"""Finds keys with a known format, such as `ghp_…`, by the rules of Kingfisher and by additional ones.

Kingfisher (https://github.com/mongodb/kingfisher) knows the keys of some 400 providers and is maintained. It runs in
this process, uses no network, and does not hold Python's interpreter lock. Compiling its rules takes seconds, so they
are compiled once on each machine and loaded from `cache_folder` afterwards, in 0.4 s.
"""

import logging
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.hub.redaction.spans import Span

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

log = logging.getLogger(__name__)

CACHE_VARIABLE: Final = "KF_RULE_CACHE_DIR"
"""Kingfisher's own environment variable for the folder of its compiled rules. It takes precedence."""

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
    ("JSON Web Token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("Telegram Bot Token", (":AA",), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),
    ("SendGrid API Key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("Twilio API Key", ("SK",), r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Sentry Token", ("sntry",), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("npm Token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("Docker Token", ("dckr_",), r"dckr_[a-z]{3,4}_[A-Za-z0-9_-]{20,}"),
    ("Vault Token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("age Key", ("AGE-SECRET",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
)  # fmt: skip
"""The formats of the keys that agents meet most. Kingfisher rejects some that look invented, and may not be installed.

For each format: the kind, hints, and the expression, which is only applied to a text that contains one of the hints.
"""

_ANY_HINT: Final = re.compile("|".join(re.escape(hint) for _, hints, _ in _OURS for hint in hints))
_HINTED: Final = tuple(
    (hint, (kind, re.compile(pattern))) for kind, hints, pattern in _OURS for hint in hints
)
"""A hint, and the rule to which it belongs."""
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)", re.DOTALL
)

_TERMINATORS: Final = b",;()<>[]{}*|&\\!?"
_AS_SPACES: Final = bytes.maketrans(_TERMINATORS, b" " * len(_TERMINATORS))
_LAST_TERMINATORS: Final = re.compile(r"[.:](?=\s|$)")
"""Characters that may follow a key in prose, Markdown and code.

Many rules of Kingfisher find a key only if a quote, a space or the end of the text follows it.
"""

_QUOTES: Final = "\\\"'`"
"""Characters after a key that a rule of Kingfisher may include in it, as in JSON within JSON."""


def private_keys(text: str) -> list[Span]:
    """Return the private keys in a text, from `BEGIN` to `END`. A truncated key extends to the end of the text."""
    if "PRIVATE KEY" not in text:
        return []
    return [Span(*found.span(), "Private Key") for found in _PRIVATE_KEY.finditer(text)]


def by_pattern(text: str) -> list[Span]:
    """Return the keys in a text that match the formats of this module. A key never starts inside a word."""
    if _ANY_HINT.search(text) is None:  # true of most texts, and faster than a search for each hint
        return []
    return [
        Span(*found.span(), kind)
        for kind, pattern in dict.fromkeys(rule for hint, rule in _HINTED if hint in text)
        for found in pattern.finditer(text)
        if not text[found.start() - 1 : found.start()].isalnum()
    ]


class ProviderKeys:
    """Finds provider keys by the rules of Kingfisher. Thread-safe.

    Args:
        cache_folder: The folder of the compiled rules. None: they are compiled in each process.
    """

    def __init__(self, cache_folder: str | None) -> None:
        self._cache_folder = cache_folder
        self._loading = threading.Lock()
        self._scanner: Scanner | None = None
        self._is_missing = False

    def __reduce__(self) -> tuple[type["ProviderKeys"], tuple[str | None]]:
        """Pickle only the cache folder. The other process loads the rules from there."""
        return ProviderKeys, (self._cache_folder,)

    def load(self) -> bool:
        """Load the rules, which may take seconds. Returns False if Kingfisher is not installed."""
        with self._loading:
            if self._scanner is None and not self._is_missing:
                self._scanner = self._load()
                self._is_missing = self._scanner is None
        return not self._is_missing

    def find(self, text: str) -> list[Span]:
        """Return the keys in a text; empty if Kingfisher is not installed."""
        if len(text) < _SHORTEST or not self.load():
            return []
        assert self._scanner is not None
        # All terminators are ASCII, so both versions have the same length, and offsets in them are the same.
        data = text.encode("utf-8", "replace")
        spaced = _LAST_TERMINATORS.sub(" ", text).encode("utf-8", "replace").translate(_AS_SPACES)
        found: list[Span] = []
        for version in dict.fromkeys((data, spaced)):
            for finding in self._scanner.scan(version):
                place = finding.location
                start, end = place["start_offset"], place["end_offset"]
                if len(data) != len(text):  # the offsets count bytes
                    start, end = (len(data[:it].decode("utf-8", "replace")) for it in (start, end))
                while end > start and text[end - 1] in _QUOTES:
                    end -= 1
                found.append(Span(start, end, _kind(finding.rule_id)))
        return found

    def _load(self) -> "Scanner | None":
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError:
            log.warning("Kingfisher is not installed: exports look for fewer kinds of keys")
            return None
        folder = os.environ.get(CACHE_VARIABLE) or self._cache_folder
        if folder is not None:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        return Scanner(Rules(confidence="low", cache=folder is not None, cache_dir=folder))


def _kind(rule_id: str) -> str:
    """Return the last part of the name of a rule, without its collection."""
    return re.split(r"[./]", rule_id)[-1]
