---Setting the lines of a buffer that the user cannot change.
local M = {}

local api = vim.api

---Replace lines of a buffer.
---@param buffer integer
---@param first integer from 1
---@param last integer the last old line; -1 is the end
---@param lines string[]
function M.set(buffer, first, last, lines)
  if not api.nvim_buf_is_valid(buffer) then
    return
  end
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, first - 1, last, false, lines)
  vim.bo[buffer].modifiable = false
end

---Replace all lines of a buffer. Only the lines between the equal ones at both ends are set.
---@param buffer integer
---@param lines string[]
function M.update(buffer, lines)
  if not api.nvim_buf_is_valid(buffer) then
    return
  end
  local old = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local first = 1
  while first <= #lines and first <= #old and lines[first] == old[first] do
    first = first + 1
  end
  local last_old, last = #old, #lines
  while last_old >= first and last >= first and old[last_old] == lines[last] do
    last_old, last = last_old - 1, last - 1
  end
  if first <= last or first <= last_old then
    M.set(buffer, first, last_old, vim.list_slice(lines, first, last))
  end
end

return M
