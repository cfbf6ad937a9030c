---The rows of a tree as the lines of a buffer. When lines change, every cursor stays on its entry.
---
---Only two things move a cursor to another entry: `reveal`, unless the user has moved it since, and the leaf, which a
---cursor on it follows.
local M = {}

local api = vim.api
local buffer_lines = require('sessiond.buffer_lines')
local draw = require('sessiond.tree.draw')
local new_rows = require('sessiond.tree.rows').new
local text = require('sessiond.text')

---@class sessiond.Canvas
---@field buffer integer
---@field rows sessiond.Rows
---@field follows boolean whether a cursor on the tip moves with it
---@field private target {id: string, cursors: table<integer, string|false>}? the entry to move cursors to when it is
---shown, and for each window the entry that its cursor was on; false: on none
local Canvas = {}
Canvas.__index = Canvas

---@param buffer integer
---@param follows boolean
---@return sessiond.Canvas
function M.new(buffer, follows)
  return setmetatable({ buffer = buffer, rows = new_rows(), follows = follows }, Canvas)
end

---@class sessiond.Cursor
---@field window integer
---@field row sessiond.Row? the row that it is on; nil: the buffer had no rows
---@field was_tip boolean
---@field column integer
---@field screen_line integer the line of the window that it is on
---@field empty_lines integer of the window, below the end of the buffer
---@field is_in_fold boolean whether it is in a closed fold

---Return the number of lines of the current window below the end of the buffer.
---@return integer
local function empty_lines()
  local line, used = vim.fn.line('w0'), 0
  while line <= vim.fn.line('$') and used < vim.fn.winheight(0) do
    local fold = vim.fn.foldclosedend(line)
    line, used = (fold < 0 and line or fold) + 1, used + 1
  end
  return vim.fn.winheight(0) - used
end

---@private
---@return sessiond.Cursor[]
function Canvas:cursors()
  local cursors = {}
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    cursors[#cursors + 1] = api.nvim_win_call(window, function()
      local place, column = unpack(api.nvim_win_get_cursor(0))
      local row = self.rows.list[place]
      return {
        window = window,
        row = row,
        was_tip = row ~= nil and row == self.rows.tip,
        column = column,
        screen_line = vim.fn.winline(),
        empty_lines = empty_lines(),
        is_in_fold = vim.fn.foldclosed('.') >= 0,
      }
    end)
  end
  return cursors
end

---@private
---@param cursor sessiond.Cursor
---@param before sessiond.Rows the rows when the cursor was read
---@return integer? place
---@return boolean stays whether the cursor stays on its entry
function Canvas:place_of(cursor, before)
  local target, tip = self.target, self.rows.tip
  local id = cursor.row and cursor.row.id or false
  if target and target.cursors[cursor.window] == id and self.rows.places[target.id] then
    return self.rows.places[target.id], false
  end
  if not cursor.row or cursor.was_tip and self.follows and tip and tip.id ~= cursor.row.id then
    return tip and self.rows.places[tip.id], false
  end
  return before:nearest_in(cursor.row, self.rows), true
end

---Scroll the current window, without its cursor.
---@param lines integer negative: towards the start of the buffer
local function scroll(lines)
  if lines ~= 0 then
    local key = api.nvim_replace_termcodes(lines < 0 and '<C-y>' or '<C-e>', true, false, true)
    vim.cmd(('normal! %d%s'):format(math.abs(lines), key))
  end
end

---Place a cursor on a line of the buffer.
---@param cursor sessiond.Cursor
---@param place integer
---@param stays boolean whether it stays on its entry, and so on its line of the window
local function place_cursor(cursor, place, stays)
  api.nvim_win_call(cursor.window, function()
    api.nvim_win_set_cursor(0, { place, cursor.column })
    if not stays or not cursor.is_in_fold then
      vim.cmd('normal! zv')
    end
    if stays then
      scroll(vim.fn.winline() - cursor.screen_line)
    end
    scroll(-math.max(0, empty_lines() - cursor.empty_lines))
    api.nvim_win_set_cursor(0, { place, cursor.column }) -- scrolling keeps it within 'scrolloff'
  end)
end

---@private
---@param cursors sessiond.Cursor[]
---@param before sessiond.Rows
function Canvas:put_back(cursors, before)
  for _, cursor in ipairs(cursors) do
    local place, stays = self:place_of(cursor, before)
    if place and place <= api.nvim_buf_line_count(self.buffer) and api.nvim_win_is_valid(cursor.window) then
      place_cursor(cursor, place, stays)
      if self.target and not stays then
        self.target.cursors[cursor.window] = self.rows.list[place].id
      end
    end
  end
  if self.target and self.rows.places[self.target.id] then
    self.target = nil
  end
end

---@private
function Canvas:redraw_marks()
  pcall(api.nvim__redraw, { buf = self.buffer, valid = false })
end

---Show rows instead of those that are shown.
---@param rows sessiond.Rows
---@param placeholder string shown if there are no rows
function Canvas:show(rows, placeholder)
  local cursors, before = self:cursors(), self.rows
  self.rows = rows
  local lines = draw.lines(rows.list, 1, #rows.list, rows.tip)
  buffer_lines.update(self.buffer, #lines > 0 and lines or { placeholder })
  self:put_back(cursors, before)
  self:redraw_marks()
end

---Show a message, as long as there are no rows.
---@param message string
function Canvas:show_message(message)
  if #self.rows.list == 0 then
    buffer_lines.update(self.buffer, { text.one_line(message) })
  end
end

---Apply what has changed.
---@param note sessiond.TreeChangedNote
---@param placeholder string shown if there are no rows
function Canvas:apply(note, placeholder)
  local rows, cursors = self.rows, self:cursors()
  local count = #rows.list
  local first, last = rows:apply(note)
  for _, change in ipairs(note.changes) do
    local last_old = count > 0 and change.place + change.removed or -1 -- without rows, the line is the placeholder
    count = count + #change.nodes - change.removed
    local lines = draw.lines(change.nodes, 1, #change.nodes, rows.tip)
    buffer_lines.set(self.buffer, change.place + 1, last_old, count > 0 and lines or { placeholder })
  end
  if first and last then
    buffer_lines.set(self.buffer, first, last, draw.lines(rows.list, first, last, rows.tip))
  end
  self:put_back(cursors, rows)
  self:redraw_marks()
end

---Move the cursors to an entry: now, or when it is shown, unless the user has moved them by then.
---@param id string
function Canvas:reveal(id)
  local cursors = self:cursors()
  self.target = { id = id, cursors = {} }
  for _, cursor in ipairs(cursors) do
    self.target.cursors[cursor.window] = cursor.row and cursor.row.id or false
  end
  if #self.rows.list > 0 then
    self:put_back(cursors, self.rows)
  end
end

---Return the entry of a cursor, unless that follows the leaf.
---@return string? id
function Canvas:anchor()
  local cursor = self:cursors()[1]
  if cursor and cursor.row and not (cursor.was_tip and self.follows) then
    return cursor.row.id
  end
end

---Return the entry that `reveal` waits for.
---@return string? id
function Canvas:target_id()
  return self.target and self.target.id
end

---Do not wait for an entry any more, because all rows are shown.
function Canvas:forget_target()
  self.target = nil
end

return M
