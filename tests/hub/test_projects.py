"""The project of a folder: the repository of git that it is in, read from its files, or the folder itself."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sessiond.hub.index.git_projects import MAX_LINK_BYTES, ProjectFinder

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=os.environ | GIT)


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def project_of(folder: Path) -> str:
    return ProjectFinder().project_of(str(folder)).folder


def below(folder: Path, *names: str) -> Path:
    path = folder.joinpath(*names)
    path.mkdir(parents=True, exist_ok=True)
    return path


def linked(folder: Path, content: bytes) -> Path:
    """A folder with a `.git` file."""
    folder.mkdir(parents=True)
    (folder / ".git").write_bytes(content)
    return folder


@needs_git
def test_every_folder_of_a_repository_belongs_to_its_root(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    assert project_of(root) == str(root)
    assert project_of(below(root, "src", "deep")) == str(root)


@needs_git
def test_worktrees_belong_to_their_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    git(root, "worktree", "add", "-q", str(tmp_path / "elsewhere/feature"))
    assert project_of(below(tmp_path / "elsewhere/feature", "src")) == str(root)


@needs_git
def test_worktrees_of_a_bare_repository_belong_to_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    git(tmp_path, "clone", "-q", "--bare", str(root), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "tree"))
    assert project_of(tmp_path / "tree") == str(tmp_path / "bare.git")


@needs_git
def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    assert project_of(outer / "sub") == str(outer / "sub")


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    assert project_of(below(tmp_path, "notes")) == str(tmp_path / "notes")


@needs_git
def test_a_folder_that_does_not_exist_belongs_to_the_repository_above_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    assert project_of(root / "removed" / "long-ago") == str(root)
    assert project_of(tmp_path / "never") == str(tmp_path / "never")


@needs_git
def test_a_symbolic_link_leads_to_the_project_of_its_target(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    (tmp_path / "link").symlink_to(below(root, "src"))
    assert project_of(tmp_path / "link") == str(root)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"gitdir:", b"gitdir: /nowhere/at/all", b"gitdir: .git", b"gitdir: \0", b"\xff\xfe\0",
        b"nothing of git", b"gitdir: " + b"x" * 2 * MAX_LINK_BYTES, b"gitdir: " + b"../" * 1_000,
    ],
)  # fmt: skip
def test_a_file_of_git_that_leads_nowhere_makes_its_folder_no_part_of_another_project(
    tmp_path: Path, content: bytes
) -> None:
    folder = linked(tmp_path / "broken", content)
    assert project_of(folder) == str(folder)


def test_links_that_form_a_loop_end(tmp_path: Path) -> None:
    folder = below(tmp_path, "loop")
    (folder / ".git").symlink_to(folder / ".git")
    assert project_of(folder) == str(folder)
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert project_of(tmp_path / "one/src").startswith(str(tmp_path))


def test_a_fifo_in_place_of_a_file_of_git_does_not_block(tmp_path: Path) -> None:
    folder = below(tmp_path, "fifo")
    os.mkfifo(folder / ".git")
    assert project_of(folder) == str(folder)
    shared = below(tmp_path, "shared")
    os.mkfifo(shared / "commondir")
    other = linked(tmp_path / "other", f"gitdir: {shared}".encode())
    assert project_of(other) == str(other)


def test_an_empty_folder_named_dot_git_is_no_repository(tmp_path: Path) -> None:
    folder = below(tmp_path, "plain", ".git").parent
    assert project_of(below(folder, "src")) == str(folder / "src")


@pytest.mark.parametrize("folder", ["", "relative", "/a\0b"])
def test_a_path_that_is_no_folder_is_its_own_project(folder: str) -> None:
    assert ProjectFinder().project_of(folder).folder == folder


@needs_git
def test_a_repository_keeps_its_identity_when_it_is_moved_and_a_clone_has_another(tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    identity = ProjectFinder().project_of(str(root)).identity
    moved = root.rename(tmp_path / "renamed")
    assert identity
    assert ProjectFinder().project_of(str(moved)).identity == identity
    git(tmp_path, "clone", "-q", str(moved), str(root))
    assert ProjectFinder().project_of(str(root)).identity not in ("", identity)
