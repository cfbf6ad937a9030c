"""Removes secrets from entries, texts and tags before they are exported, and counts them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sessiond.hub.redaction.assignments import assigned_secret
from sessiond.hub.redaction.credentials import by_context
from sessiond.hub.redaction.members import VALUES, names_in
from sessiond.hub.redaction.provider_keys import ProviderKeys, by_name, by_pattern, private_keys
from sessiond.hub.redaction.shown_text import shown_text
from sessiond.hub.redaction.spans import Span, without_overlaps
from sessiond.hub.redaction.wrapped_lines import unwrapped

_KEPT_FIELDS: Final = frozenset(
    ("type", "id", "parentId", "timestamp", "role", "targetId", "fromId", "firstKeptEntryId")
)
_IMAGE_DATA: Final = frozenset(("data",))
_MAX_HARMLESS: Final = 10_000
"""The maximum number of short texts that are known to have no secret."""
_MAX_HARMLESS_CHARACTERS: Final = 64
"""The maximum number of characters of a text that is kept in this cache."""
_PART: Final = 16_384
"""Limit of characters in one search by Python's regular expressions, which holds the interpreter lock."""
_OVERLAP: Final = 8_192
"""Characters that are searched twice if a line is longer than a part, because a secret may cross the end of a part."""


class Redactor:
    """Removes secrets from values. `found` counts them by entry id and by kind.

    Args:
        keys: Finds the keys of providers by the rules of Kingfisher. If None, only the other finders are used.
    """

    def __init__(self, keys: ProviderKeys | None = None) -> None:
        by_rule = () if keys is None else (keys.find,)
        self._finders = (by_pattern, *by_rule, by_name, by_context)
        self._harmless: set[str] = set()
        """Short texts without secrets, such as the keys of objects, which occur in nearly every entry."""
        self.found: Counter[tuple[str | None, str]] = Counter()

    def entry(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return an entry without secrets. Ids, types and timestamps are unchanged.

        If the entry is nested too deeply, only these fields are returned.
        """
        name = value.get("id")
        entry_id = name if isinstance(name, str) else None
        try:
            return self._fields(value, entry_id, _KEPT_FIELDS)
        except RecursionError:
            self.found[entry_id, "values that are nested too deeply"] += 1
            return {key: field for key, field in value.items() if key in _KEPT_FIELDS}

    def value(self, value: Any, entry_id: str | None) -> Any:
        """Return a JSON value without the secrets in its strings, its keys, and fields such as `password`.

        Args:
            value: The value.
            entry_id: The id of the entry that it belongs to, for `found`.
        """
        if isinstance(value, str):
            return self.text(value, entry_id)
        if isinstance(value, list):
            return [self.value(item, entry_id) for item in value]
        if not isinstance(value, dict):
            return value
        return self._fields(value, entry_id, _IMAGE_DATA if value.get("type") == "image" else frozenset())

    def text(self, text: str, entry_id: str | None) -> str:
        """Return a text in which each secret is replaced by `[redacted: KIND]`."""
        if text in self._harmless:
            return text
        spans = without_overlaps(self._spans(text))
        if not spans:
            if len(text) <= _MAX_HARMLESS_CHARACTERS and len(self._harmless) < _MAX_HARMLESS:
                self._harmless.add(text)
            return text
        parts: list[str] = []
        end = 0
        for span in spans:
            self.found[entry_id, span.kind] += 1
            parts += (text[end : span.start], f"[redacted: {span.kind}]")
            end = span.end
        return "".join((*parts, text[end:]))

    def texts(self, texts: Iterable[str], entry_id: str | None) -> tuple[str, ...]:
        """Return several texts, such as tags, without secrets."""
        return tuple(self.text(text, entry_id) for text in texts)

    def _fields(
        self, value: dict[str, Any], entry_id: str | None, untouched: frozenset[str]
    ) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        names = names_in(value)
        for key, field in value.items():
            if key in untouched:
                clean[key] = field
                continue
            name = self.text(key, entry_id)
            while name != key and (name in clean or name in value):
                name += "+"  # two keys of one object were redacted to the same name
            kind = None
            if isinstance(field, str):  # as in {"password": …} or {"name": "DB_PASSWORD", "value": …}
                is_value = bool(names) and key.lower() in VALUES
                kinds = (assigned_secret(name, field) for name in ((*names, key) if is_value else (key,)))
                kind = next((kind for kind in kinds if kind is not None), None)
            if kind is None:
                clean[name] = self.value(field, entry_id)
            else:
                self.found[entry_id, kind] += 1
                clean[name] = f"[redacted: {kind}]"
        return clean

    def _spans(self, text: str) -> Iterator[Span]:
        yield from private_keys(text)
        parts = [(0, text)] if len(text) <= _PART else list(_parts(text))
        shown = [
            (start, view)
            for start, part in parts
            for see in (shown_text, unwrapped)
            if (view := see(part)) is not None
        ]
        for find in self._finders:
            for start, part in parts:
                yield from (Span(start + span.start, start + span.end, span.kind) for span in find(part))
            for start, seen in shown:
                for span in find(seen.text):
                    first, end = seen.original(span.start, span.end)
                    yield Span(start + first, start + end, span.kind)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield a long text in parts, each with its offset: of whole lines, where no line is longer than a part.

    Only a private key spans several lines.
    """
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + _PART) + 1 if len(text) - start > _PART else len(text)
        if end:
            yield start, text[start:end]
            start = end
        else:
            yield start, text[start : start + _PART]
            start += _PART - _OVERLAP
