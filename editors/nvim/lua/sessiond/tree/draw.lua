---Draws a row of a tree as a line of text with highlight groups.
---
---    ● user       Fix the flaky test
---    ● assistant  The race is between the timer and the queue
---    └─○ user       [first try] Try it with a lock
---    ◉ user       Try it without one                           ◀ leaf
local M = {}

local text = require('sessiond.text')

---@class sessiond.Signs
---@field on string a row on the path to the leaf
---@field off string any other row
---@field leaf string the row where the path ends
---@field deep string columns are omitted
---@field tip string shown at the right of the row where the path ends
---@field columns table<string, string> column of a gutter -> two cells

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

---Maximum columns of the gutter, two cells each. Of a wider gutter, the right columns are shown.
local MAX_COLUMNS = 8
local ROLE_CELLS = 9
---A longer label would take the row. The preview of an entry shows all of it.
local MAX_LABEL_CELLS = 24

---@type table<string, string> role or type in the protocol -> role in a row
local ROLES = {
  toolResult = 'tool',
  bashExecution = 'shell',
  compaction = 'compacted',
  branch_summary = 'summary',
  custom_message = 'custom',
}
local GROUPS =
  { user = 'SessiondUser', assistant = 'SessiondAssistant', tool = 'SessiondTool', shell = 'SessiondTool' }

---Return the configured signs.
---@return sessiond.Signs
function M.signs()
  return require('sessiond.config').get().tree.ascii and ASCII or BOXES
end

---Return the role that a row shows.
---@param row sessiond.Row
---@return string
function M.role(row)
  local role = row.role or row.type
  return text.one_line(ROLES[role] or role)
end

---@param gutter string
---@param signs sessiond.Signs
---@return string
local function drawn_gutter(gutter, signs)
  if gutter == '' then
    return ''
  elseif #gutter > MAX_COLUMNS then
    return signs.deep .. ' ' .. gutter:sub(-MAX_COLUMNS):gsub('.', signs.columns)
  end
  return (gutter:gsub('.', signs.columns))
end

---@param row sessiond.Row
---@return string
local function label_of(row)
  local label = row.label and text.fit(text.one_line(row.label), MAX_LABEL_CELLS) or ''
  return label ~= '' and ('[' .. label .. '] ') or ''
end

---@param role string
---@return string
local function role_column(role)
  return text.pad(text.fit(role, 14), ROLE_CELLS) .. '  '
end

---@param line string
---@return string line without blanks at its end
local function trimmed(line)
  return line:find(' ', -1, true) and line:gsub(' +$', '') or line
end

---@param row sessiond.Row
---@param is_tip boolean
---@param signs sessiond.Signs
---@return string
local function line_of(row, is_tip, signs)
  local sign = is_tip and signs.leaf or row.onPath and signs.on or signs.off
  return trimmed(
    drawn_gutter(row.gutter, signs)
      .. sign
      .. ' '
      .. role_column(M.role(row))
      .. label_of(row)
      .. text.one_line(row.preview)
  )
end

---Draw a row with its highlights.
---@param row sessiond.Row
---@param is_tip boolean whether the visible path to the leaf ends here
---@return string line
---@return {[1]: integer, [2]: integer, [3]: string}[] spans first and last byte, and the highlight group
function M.line(row, is_tip)
  local signs = M.signs()
  local role = M.role(row)
  local parts = {
    { drawn_gutter(row.gutter, signs), 'SessiondGutter' },
    {
      (is_tip and signs.leaf or row.onPath and signs.on or signs.off) .. ' ',
      is_tip and 'SessiondLeaf' or row.onPath and 'SessiondPath' or 'SessiondOffPath',
    },
    { role_column(role), GROUPS[role] or 'SessiondOther' },
    { label_of(row), 'SessiondLabel' },
    { text.one_line(row.preview), not row.onPath and 'SessiondOffPath' or nil },
  }
  local spans, start = {}, 0
  for _, part in ipairs(parts) do
    if part[2] and part[1] ~= '' then
      spans[#spans + 1] = { start, start + #part[1], part[2] }
    end
    start = start + #part[1]
  end
  return line_of(row, is_tip, signs), spans
end

---Draw rows. The line of a row is stored with it, because the rows of a large tree are drawn as they arrive and
---shown when all are there.
---@param list sessiond.Row[]
---@param first integer
---@param last integer
---@param tip sessiond.Row? where the visible path to the leaf ends
---@return string[]
function M.lines(list, first, last, tip)
  local signs = M.signs()
  local lines = {}
  for place = first, last do
    local row = list[place]
    if row == tip then
      lines[#lines + 1] = line_of(row, true, signs)
    else
      row.drawn = row.drawn or line_of(row, false, signs)
      lines[#lines + 1] = row.drawn
    end
  end
  return lines
end

return M
