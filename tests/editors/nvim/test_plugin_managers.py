"""The plugin as plugin managers install it: a repository of its own, and Neovim's own manager."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed_editors import installed

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/build-nvim-plugin"), str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8")


def git(folder: Path, *words: str) -> list[str]:
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin") / "sessiond.nvim"
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_repository_has_the_plugin_at_its_root_and_one_commit_for_each_change(plugin: Path) -> None:
    files = git(plugin, "ls-files")
    assert {"LICENSE", "README.md", "plugin/sessiond.lua", "doc/sessiond.txt"} <= set(files)
    assert build(plugin).returncode == 0
    assert len(git(plugin, "log", "--format=%s")) == 1
    assert len(git(plugin, "tag")) == 1
    (plugin / "README.md").unlink()
    assert build(plugin).returncode == 0
    assert git(plugin, "status", "--porcelain") == []


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    built = build(tmp_path)
    assert built.returncode == 1
    assert "is not empty" in built.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_vim_pack_installs_it(plugin: Path, tmp_path: Path) -> None:
    homes = {name: str(tmp_path / name) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    script = f"""
      vim.pack.add({{ {{ src = 'file://{plugin}', version = 'main' }} }}, {{ confirm = false }})
      assert(vim.fn.exists(':Sessiond') == 2, 'no command')
      vim.cmd('helptags ALL')
      vim.cmd('help sessiond')
      io.stdout:write(vim.api.nvim_buf_get_name(0))
      vim.cmd('qall!')
    """
    done = subprocess.run(
        [installed("nvim-newest"), "--headless", "-n", "-i", "NONE", "-c", f"lua {' '.join(script.split())}"],
        env={**os.environ, **homes}, capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("sessiond.nvim/doc/sessiond.txt"), done.stdout + done.stderr
