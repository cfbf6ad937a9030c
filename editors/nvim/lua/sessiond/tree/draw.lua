---A row of a tree as a line of text, and which part of it is highlighted how.
---
---    ● user       Fix the flaky test
---    ● assistant  The race is between the timer and the queue
---    ├─○ user       [first try] Try it with a lock
---    └─◉ user       Try it without one                         ◀ leaf
local M = {}

local text = require('sessiond.text')

---@class sessiond.Signs
---@field on string lies on the path to the leaf
---@field off string
---@field leaf string
---@field deep string more columns to the left
---@field tip string
---@field columns table<string, string>

---@type sessiond.Signs
local BOXES = {
  on = '●',
  off = '○',
  leaf = '◉',
  deep = '…',
  tip = '◀ leaf',
  columns = { ['|'] = '│ ', [' '] = '  ', ['+'] = '├─', ["'"] = '└─' },
}
---@type sessiond.Signs
local ASCII = {
  on = '*',
  off = 'o',
  leaf = '@',
  deep = '..',
  tip = '<- leaf',
  columns = { ['|'] = '| ', [' '] = '  ', ['+'] = '|-', ["'"] = '`-' },
}

---Columns of the gutter (two cells each) that are shown at most; beyond, its left is cut.
local WIDEST = 8
local ROLE_CELLS = 9

---@type table<string, string> what the wire says -> what a row says
local ROLES = {
  toolResult = 'tool',
  bashExecution = 'shell',
  compaction = 'compacted',
  branch_summary = 'summary',
  custom_message = 'custom',
}
local GROUPS =
  { user = 'SessiondUser', assistant = 'SessiondAssistant', tool = 'SessiondTool', shell = 'SessiondTool' }

---@return sessiond.Signs
function M.signs()
  return require('sessiond.config').get().tree.ascii and ASCII or BOXES
end

---@param row sessiond.Row
---@return string
function M.role(row)
  local role = row.role or row.type
  return text.one_line(ROLES[role] or role)
end

---@param row sessiond.Row
---@param is_tip boolean the path to the leaf ends here
---@return string line
---@return {[1]: integer, [2]: integer, [3]: string}[] spans of bytes and their highlight groups
function M.line(row, is_tip)
  local signs = M.signs()
  local gutter = row.gutter
  local before = ''
  if #gutter > WIDEST then
    before, gutter = signs.deep .. ' ', gutter:sub(-WIDEST)
  end
  gutter = before .. gutter:gsub('.', signs.columns)
  local sign = is_tip and signs.leaf or row.onPath and signs.on or signs.off
  local role = M.role(row)
  local label = row.label and text.one_line(row.label) or ''
  local preview = text.one_line(row.preview)
  local parts = {
    { gutter, 'SessiondGutter' },
    { sign .. ' ', is_tip and 'SessiondLeaf' or row.onPath and 'SessiondPath' or 'SessiondOffPath' },
    { text.pad(text.fit(role, 14), ROLE_CELLS) .. '  ', GROUPS[role] or 'SessiondOther' },
    { label ~= '' and ('[' .. label .. '] ') or '', 'SessiondLabel' },
    { preview, not row.onPath and 'SessiondOffPath' or nil },
  }
  local line, spans = {}, {}
  local start = 0
  for _, part in ipairs(parts) do
    line[#line + 1] = part[1]
    if part[2] and part[1] ~= '' then
      spans[#spans + 1] = { start, start + #part[1], part[2] }
    end
    start = start + #part[1]
  end
  return (table.concat(line):gsub('%s+$', '')), spans
end

---@param list sessiond.Row[]
---@param first integer
---@param last integer
---@param tip sessiond.Row?
---@return string[]
function M.lines(list, first, last, tip)
  local lines = {}
  for place = first, last do
    lines[#lines + 1] = (M.line(list[place], list[place] == tip))
  end
  return lines
end

return M
