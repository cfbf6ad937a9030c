"""The snippets of editors/README.md, extracted without changes."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "editors/README.md"
_TESTED = re.compile(r"^<!-- tested: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def snippets() -> dict[str, str]:
    """Every snippet that is marked as tested, by its name."""
    return {found["name"]: found["text"] for found in _TESTED.finditer(README.read_text(encoding="utf-8"))}
