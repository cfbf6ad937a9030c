---Folds of a tree: each branch of a fork is a fold. Chains are not.
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
  local level = math.min(#row.below, MAX_DEPTH)
  local starts = #row.gutter > 0 and row.gutter:find("[+']$") ~= nil
  return starts and '>' .. level or level
end

---Return the value of 'foldtext'.
---@return string
function M.text()
  local first = vim.fn.getline(vim.v.foldstart)
  return ('%s  (%d more)'):format(first, vim.v.foldend - vim.v.foldstart)
end

return M
