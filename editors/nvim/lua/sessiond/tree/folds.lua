---Folds of a tree: each branch beside the path to the leaf, and each branch beside a line of such a branch.
local M = {}

local MAX_DEPTH = 20 -- the limit of Vim

---Return the value of 'foldexpr' for the line `v:lnum`.
---@return string|integer
function M.level()
  local view = require('sessiond.tree.view').of(0)
  local row = view and view.canvas.rows.list[vim.v.lnum]
  if not row then
    return 0
  end
  local level = math.min(row.indent, MAX_DEPTH)
  return require('sessiond.tree.rows').begins_branch(row) and '>' .. level or level
end

---Return the value of 'foldtext'.
---@return string
function M.text()
  local line, hidden = vim.fn.getline(vim.v.foldstart), vim.v.foldend - vim.v.foldstart
  local count = ('  (%d more)'):format(hidden)
  local cells = vim.api.nvim_win_get_width(0) - #count
  return require('sessiond.text').fit(line, math.max(cells, 20)) .. count
end

return M
