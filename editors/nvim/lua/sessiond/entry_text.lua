---The document of an entry, in the order in which it is read: heading, text, and then the facts with the ids.
local M = {}

local text = require('sessiond.text')

---Return the lines of a document.
---
---The daemon writes the facts, a list that begins with the session, before the text of the entry. The first such
---list is its own, since the text comes later.
---@param document string the `text` of a result of `view/entry`
---@return string[]
function M.lines(document)
  local lines = text.lines(document)
  while lines[#lines] == '' do
    lines[#lines] = nil
  end
  local first
  for number, line in ipairs(lines) do
    if lines[number - 1] == '' and vim.startswith(line, '- Session: ') then
      first = number
      break
    end
  end
  if not first then
    return lines
  end
  local last = first
  while lines[last + 1] and lines[last + 1] ~= '' do
    last = last + 1
  end
  if last == #lines then
    return lines
  end
  local ordered = vim.list_slice(lines, 1, first - 1)
  vim.list_extend(ordered, lines, last + 2)
  vim.list_extend(ordered, { '', '---', '' })
  return vim.list_extend(ordered, lines, first, last)
end

return M
