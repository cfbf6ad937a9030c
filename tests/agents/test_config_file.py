"""The list of followed agents is changed in the configuration file, and nothing else in it."""

from pathlib import Path

import pytest

from sessiond import config
from sessiond.hub.following.config_file import with_followed, write_followed

BOTH = ["claude-code", "codex"]

CHANGES = {
    "": '[agents]\nfollow = ["claude-code", "codex"]\n',
    "# mine\n[keep]\nmax_sessions = 3": (
        '# mine\n[keep]\nmax_sessions = 3\n\n[agents]\nfollow = ["claude-code", "codex"]\n'
    ),
    "[agents]  # here\nfollow = []  # none yet\n\n[keep]\ntags = []\n": (
        '[agents]  # here\nfollow = ["claude-code", "codex"]  # none yet\n\n[keep]\ntags = []\n'
    ),
    "[agents]\n": '[agents]\nfollow = ["claude-code", "codex"]\n',
    "[agents]\nfollow = [\n  'gemini',\n]\n[keep]\n": (
        '[agents]\nfollow = ["claude-code", "codex"]\n[keep]\n'
    ),
}


@pytest.mark.parametrize("before", CHANGES)
def test_only_the_list_changes(before: str) -> None:
    assert with_followed(before, BOTH) == CHANGES[before]


def test_the_same_list_changes_nothing() -> None:
    for after in CHANGES.values():
        assert with_followed(after, BOTH) == after


@pytest.mark.parametrize(
    "before",
    ["agents.follow = []\n", "agents = {follow = []}\n", "[agents]\nfollow = [ # ]\n]\n", "not toml"],
)
def test_a_form_that_cannot_be_changed_safely_is_refused(before: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_followed(before, BOTH)


def test_a_link_to_the_configuration_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("[keep]\n", encoding="utf-8")
    real.chmod(0o600)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    write_followed(str(link), BOTH)
    assert link.is_symlink()
    assert config.read(str(real)).agents.follow == tuple(BOTH)
    assert real.stat().st_mode & 0o777 == 0o600
