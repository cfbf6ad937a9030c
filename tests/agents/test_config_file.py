"""The list of followed agents is changed in the configuration file, and nothing else in it."""

from pathlib import Path

import pytest

from sessiond import config
from sessiond.hub.following.config_file import write_followed
from sessiond.toml_edit import UneditableTomlError

BOTH = ["claude-code", "codex"]

CHANGES = {
    "": '[agents]\nfollow = ["claude-code", "codex"]\n',
    "# mine\n[keep]\nmax_sessions = 3": (
        '# mine\n[keep]\nmax_sessions = 3\n\n[agents]\nfollow = ["claude-code", "codex"]\n'
    ),
    "[agents]  # here\nfollow = []  # none yet\n\n[keep]\ntags = []\n": (
        '[agents]  # here\nfollow = ["claude-code", "codex"]  # none yet\n\n[keep]\ntags = []\n'
    ),
    "[agents]\r\n": '[agents]\r\nfollow = ["claude-code", "codex"]\r\n',
    "[agents]\nfollow = [\n  'gemini', # mine\n]\n[keep]\n": (
        '[agents]\nfollow = [ # mine\n  "claude-code",\n  "codex",\n]\n[keep]\n'
    ),
}


@pytest.mark.parametrize("before", CHANGES)
def test_only_the_list_changes(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(before.encode())
    write_followed(str(file), BOTH)
    assert file.read_bytes() == CHANGES[before].encode()
    status = file.stat()
    write_followed(str(file), BOTH)
    assert file.stat() == status


@pytest.mark.parametrize("before", ["agents.follow = []\n", "agents = {follow = []}\n", "not toml"])
def test_a_form_that_cannot_be_changed_safely_is_refused(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before, encoding="utf-8")
    with pytest.raises(UneditableTomlError):
        write_followed(str(file), BOTH)
    assert file.read_text(encoding="utf-8") == before


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
