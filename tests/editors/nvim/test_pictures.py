"""The pictures of the README can be drawn at any time."""

from pathlib import Path

import pytest
from scripts.screenshots.neovim import draw_all

from support.installed_editors import installed
from support.neovim import PLUGIN

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def test_the_pictures_are_drawn_from_a_real_neovim(tmp_path: Path) -> None:
    installed("nvim-0.11")
    draw_all(tmp_path)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    readme = (PLUGIN / "README.md").read_text(encoding="utf-8")
    assert all(f"(doc/{name})" in readme for name in drawn)
    assert "The checkout test fails about once in" in drawn["tree.svg"]
    assert all((PLUGIN / "doc" / name).stat().st_size < 20_000 for name in drawn)
