---Folds of a tree: a branch folds at the fork it begins at; a chain does not, however long it is.
local M = {}

local DEEPEST = 20 -- Vim nests no more folds

---@return string|integer level of the line `v:lnum`, for 'foldexpr'
function M.level()
  local view = require('sessiond.tree.view').of(0)
  local row = view and view.canvas.rows.list[vim.v.lnum]
  if not row then
    return 0
  end
  local level = math.min(#row.below, DEEPEST)
  local starts = #row.gutter > 0 and row.gutter:find("[+']$") ~= nil
  return starts and '>' .. level or level
end

---@return string line of a closed fold, for 'foldtext'
function M.text()
  local first = vim.fn.getline(vim.v.foldstart)
  return ('%s  (%d more)'):format(first, vim.v.foldend - vim.v.foldstart)
end

return M
