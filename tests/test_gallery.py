"""The pictures of the large session, and the page that shows them."""

import re
from collections import Counter
from pathlib import Path

from scripts.screenshots.large_story import BRANCH_POINTS, ENTRIES, large_story

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "scripts/screenshots/pictures/gallery"


def test_every_picture_is_on_the_page_and_small() -> None:
    page = (ROOT / "daemon/SCREENS.md").read_text(encoding="utf-8")
    shown = re.findall(r"gallery/([\w.-]+)\)", page)
    drawn = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert sorted(shown) == sorted(drawn)
    assert max(drawn.values()) < 200_000


def test_the_session_is_as_large_as_the_page_says() -> None:
    entries = large_story().entries
    children = Counter(entry["parentId"] for entry in entries if entry["type"] != "label")
    assert len(entries) == ENTRIES
    assert sum(count > 1 for count in children.values()) == BRANCH_POINTS
    page = (ROOT / "daemon/SCREENS.md").read_text(encoding="utf-8")
    assert f"{ENTRIES:,} entries with {BRANCH_POINTS} branch points" in page
