"""Editors that can be driven by a program of their own language, with the settings that editors/README.md gives."""

import json  # noqa: TID251 - what the editors wrote
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.editor_desks import ANSWER, NEXT, QUESTION, Desk, a_desk
from support.installed_editors import installed
from support.snippets import snippets

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]
DRIVERS = Path(__file__).parent / "drivers"
EMACS = ["emacs", "emacs-30"]


def driven(desk: Desk, tmp_path: Path, *command: str, **more: str) -> Any:
    """The findings of an editor on its way through the desk."""
    seen = tmp_path / "seen.json"
    environment = desk.environment(FILE=str(desk.file), DAMAGED=str(desk.damaged), SEEN=str(seen), **more)
    done = subprocess.run(
        command, env=environment, cwd=desk.home, stdin=subprocess.DEVNULL, capture_output=True, timeout=250
    )
    assert seen.exists(), (done.stdout + done.stderr).decode()[-2000:]
    found = json.loads(seen.read_text(encoding="utf-8"))
    assert "error" not in found, f"{found['error']}\n{found}"
    return found


def emacs(desk: Desk, tmp_path: Path, name: str, client: str) -> Any:
    settings = desk.write(".emacs.d/init.el", snippets()[f"emacs-{client}"])
    # Without a terminal Emacs reads no settings and sets up no packages by itself.
    starting = ["--batch", "-f", "package-activate-all", "-l", str(settings)]
    return driven(
        desk,
        tmp_path,
        installed(name),
        *starting,
        "-l",
        str(DRIVERS / "emacs.el"),
        "-f",
        "driver-run-and-end",
        CLIENT=f"{client}.el",
    )


def check(desk: Desk, seen: Any) -> None:
    """A person got what the README promises."""
    for outline in (seen["outline"], seen["outline_again"]):
        for text in (QUESTION, ANSWER, NEXT):
            assert any(text in name for name in outline)
    assert ANSWER in seen["hover"]
    assert seen["parent"] == 2
    assert seen["problems"] == [3]
    assert [line["targetId"] for line in desk.lines() if line["type"] == "leaf"] == [desk.ids[1]]
    assert desk.labels() == {desk.ids[1]: ANSWER}
    (fork,) = desk.forks()
    assert fork["messageCount"] == 2


def test_neovim_without_the_plugin(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        settings = desk.write("config/nvim/init.lua", snippets()["neovim"])
        seen = driven(
            desk, tmp_path, installed("nvim-0.11"), "--headless", "-n", "-u", str(settings), str(desk.file),
            "-c", f"luafile {DRIVERS / 'neovim.lua'}",
        )  # fmt: skip
        check(desk, seen)
        assert seen["clients"] == 1


@pytest.mark.parametrize("name", EMACS)
def test_emacs_with_eglot(name: str, tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        check(desk, emacs(desk, tmp_path, name, "eglot"))


def test_emacs_with_lsp_mode(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        check(desk, emacs(desk, tmp_path, "emacs", "lsp-mode"))
