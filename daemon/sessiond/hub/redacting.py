"""Taking secrets out of what leaves: the detectors of detect-secrets, and what they are given to read.

Kept are those that know the shape of a key. Left out are guesses by entropy, which take every hash and id for a
secret; by words such as `password`, which prose and code are full of; IP addresses; and three clouds whose
detectors look for assignments at three quarters of the whole time. Nothing is ever verified over the network.

The import costs 0.3 s, so it happens with the first export that wants it, in that export's thread.
"""

import functools
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

_LEFT_OUT: Final = frozenset((
    "Public IP (ipv4)", "Cloudant Credentials", "IBM Cloud IAM Key", "IBM COS HMAC Credentials",
    "SoftLayer Credentials", "Private Key",
))  # fmt: skip
_PEM: Final = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
_OURS: Final = (
    ("Private Key", re.compile(_PEM, re.DOTALL)),
    ("Anthropic API Key", re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,}")),
    ("OpenAI API Key", re.compile(r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}")),
    ("Google API Key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("GitHub Token", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{40,}")),
    ("Hugging Face Token", re.compile(r"\bhf_[A-Za-z0-9]{30,}")),
)
"""What the library lacks, or of which it would leave the best part: of a private key it knows the first line."""
_WHOLE_MATCH: Final = frozenset(("GitHub Token", "GitLab Token", "NPM tokens"))
"""Detectors whose groups are no secrets but parts of a pattern."""
_KEPT_FIELDS: Final = frozenset(
    ("type", "id", "parentId", "timestamp", "role", "targetId", "fromId", "firstKeptEntryId")
)
_CHUNK: Final = 16_384
"""Characters that one expression reads at once: a thread that searches holds up everybody else."""


@dataclass(slots=True)
class Redactor:
    """Takes secrets out of values; `found` counts them by the entry they were in and by kind."""

    found: Counter[tuple[str | None, str]] = field(default_factory=Counter)

    def entry(self, value: dict[str, Any]) -> dict[str, Any]:
        """An entry without its secrets; what makes it an entry stays."""
        name = value.get("id")
        where = name if isinstance(name, str) else None
        try:
            return {key: it if key in _KEPT_FIELDS else self.value(it, where) for key, it in value.items()}
        except RecursionError:
            self.found[where, "what is nested too deeply"] += 1
            return {key: it for key, it in value.items() if key in _KEPT_FIELDS}

    def value(self, value: Any, where: str | None) -> Any:
        """Any value without the secrets in its texts."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.value(it, where) for it in value]
        if not isinstance(value, dict):
            return value
        is_image = value.get("type") == "image"
        return {key: it if is_image and key == "data" else self.value(it, where) for key, it in value.items()}

    def text(self, text: str, where: str | None) -> str:
        """A text in which every secret is replaced by its kind."""
        for kind, pattern in _OURS:
            text = self._without(text, kind, pattern, where)
        if len(text) <= _CHUNK:
            return self._line(text, where)
        return "".join(self._line(part, where) for part in _parts(text))

    def _line(self, text: str, where: str | None) -> str:
        for kind, pattern in _patterns():
            text = self._without(text, kind, pattern, where)
        return text

    def _without(self, text: str, kind: str, pattern: re.Pattern[str], where: str | None) -> str:
        def replaced(match: re.Match[str]) -> str:
            self.found[where, kind] += 1
            whole, group = match[0], 1 if pattern.groups == 1 and kind not in _WHOLE_MATCH else 0
            start, end = match.start(group) - match.start(), match.end(group) - match.start()
            return f"{whole[:start]}[redacted: {kind}]{whole[end:]}"

        return pattern.sub(replaced, text)


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The expressions of the detectors, by the kind of secret that each finds."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    found: list[tuple[str, re.Pattern[str]]] = []
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in detectors.items():
        if kind not in _LEFT_OUT and issubclass(detector, RegexBasedDetector):
            found += ((kind, pattern) for pattern in detector().denylist)
    return tuple(found)


def _parts(text: str) -> list[str]:
    """A long text in parts of whole lines; no secret but a private key has more than one."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + _CHUNK) + 1 if len(text) - start > _CHUNK else len(text)
        if not end:
            end = text.find("\n", start) + 1 or len(text)
        parts.append(text[start:end])
        start = end
    return parts
