"""The pictures of the page in the README can be drawn at any time."""

from pathlib import Path

import pytest
from scripts.screenshots.page import draw_all

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "scripts/screenshots/pictures"

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]


def test_screenshots_are_made_from_a_real_page(tmp_path: Path) -> None:
    draw_all(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = list(tmp_path.iterdir())
    assert {path.name for path in drawn} == {path.name for path in PICTURES.glob("page-*.png")}
    for picture in drawn:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert f"({PICTURES.relative_to(ROOT)}/{picture.name})" in readme
        assert (PICTURES / picture.name).stat().st_size < 150_000
