"""The Neovim plugin at work: a tree beside an entry, and the rows of a search."""

import tempfile
from pathlib import Path

from scripts.screenshots.story import ID, tell
from scripts.screenshots.svg import Cell, picture

from support.commands import a_shell
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


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, a_shell(Path(work)) as shell:
        tell(Teller(shell.locations, Path("/home/ada/shop")), Path(work))
        with a_neovim(shell.locations, shell.folder, columns=120, lines=25) as nvim:
            prepare(nvim, "dark")
            nvim.command(f"Sessiond tree {ID}")
            nvim.see("◀ leaf")
            nvim.keys("gg><CR>")
            nvim.see("# Assistant", "never half made")
            nvim.command("wincmd p")
            nvim.keys(":<Esc>")
            write(nvim, folder / "tree.svg")
            nvim.keys("slock<CR>")
            nvim.see("/lock")
            nvim.keys(":<Esc>")
            write(nvim, folder / "search.svg")


def prepare(nvim: Neovim, background: str) -> None:
    """Choose the background, and hide what does not belong in a picture."""
    nvim.command(
        f"set termguicolors background={background} noruler noshowcmd laststatus=0 fillchars+=eob:\\ "
    )


def write(nvim: Neovim, path: Path) -> None:
    """Draw the screen into an SVG file."""
    rows, ground = nvim.lua(_CELLS)
    cells = [[Cell(text, fg, bg, bold, italic) for text, fg, bg, bold, italic in row] for row in rows]
    path.write_text(picture(cells, ground), encoding="utf-8")
