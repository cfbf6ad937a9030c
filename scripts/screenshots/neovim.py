"""The Neovim plugin at work on a session that is told for the picture."""

import tempfile
from pathlib import Path
from typing import Any

from scripts.screenshots.svg import Cell, picture

from support.commands import a_shell
from support.daemons import assistant, user
from support.neovim import Neovim, a_neovim
from support.stories import Teller

_CELLS = """
vim.api.nvim__inspect_cell(1, 0, 0) -- the first call makes Neovim number its highlights anew
vim.cmd.redraw({ bang = true })
local normal = vim.api.nvim_get_hl(0, { name = 'Normal' })
local rows = {}
for row = 0, vim.o.lines - 1 do
  rows[row + 1] = {}
  for column = 0, vim.o.columns - 1 do
    local cell = vim.api.nvim__inspect_cell(1, row, column)
    local look = cell[2] or {}
    local fg, bg = look.foreground or normal.fg, look.background or normal.bg
    if look.reverse then fg, bg = bg, fg end
    rows[row + 1][column + 1] = { cell[1], fg, bg, look.bold or false, look.italic or false }
  end
end
return { rows, normal.bg }
"""

ID = "atlas-parser"


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, a_shell(Path(work)) as shell:
        tell(Teller(shell.locations, Path("/home/ada/atlas")))
        with a_neovim(shell.locations, shell.folder, columns=110, lines=18) as nvim:
            nvim.command(
                "set termguicolors background=dark noruler noshowcmd laststatus=0 fillchars+=eob:\\ "
            )
            nvim.command(f"Sessiond tree {ID}")
            nvim.see("◀ leaf")
            nvim.keys("6G<CR>")
            nvim.see("# Assistant", "fails, as it should")
            nvim.command("wincmd p")
            nvim.keys(":<Esc>")
            _write(nvim, folder / "tree.svg")
            nvim.keys("sparser<CR>")
            nvim.see("/parser")
            nvim.keys(":<Esc>")
            _write(nvim, folder / "search.svg")


def _write(nvim: Neovim, path: Path) -> None:
    rows, ground = nvim.lua(_CELLS)
    cells = [[Cell(text, fg, bg, bold, italic) for text, fg, bg, bold, italic in row] for row in rows]
    path.write_text(picture(cells, ground), encoding="utf-8")


def tell(teller: Teller) -> None:
    """A session with a question, two ways to answer it, and labels."""

    def at(minute: int, draft: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {**draft, "id": f"a{minute:02}", "timestamp": f"2026-02-16T10:{minute:02}:00.000Z", **more}

    teller.create(
        ID,
        at(1, user("Why does the parser drop the last line of a file?")),
        at(2, assistant("It stops at the last newline, and the last line has none.")),
        at(3, user("Fix it in the reader.")),
        at(4, assistant("Done: the reader of the parser yields what is left at the end.")),
        at(5, user("Write a failing test first."), parentId="a02"),
        at(
            6,
            assistant("tests/test_parser.py fails, as it should:\n\n    assert lines('a\\nb') == ['a', 'b']"),
        ),
        at(7, user("Now make it pass.")),
        at(8, assistant("The parser keeps the rest, and the test passes.")),
        at(9, user("Or end the file with a newline when writing."), parentId="a06"),
        title="The parser drops the last line",
    )
    teller.branch(ID, "a08")
    teller.label(ID, "a02", "the cause")
    teller.label(ID, "a04", "quick fix")
