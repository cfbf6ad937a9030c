---Text of transcripts made fit for a buffer: without control characters, in lines, measured by cells.
---
---What a transcript says is never trusted: nothing here, and nobody who calls it, runs any of it.
local M = {}

local api = vim.api

---Characters that order a terminal or a reader about without being seen: C0, DEL, C1, bidirectional
---controls, zero-width and interlinear ones, line and paragraph separators, byte order marks, tags.
local HIDDEN = {
  '[%z\1-\8\11-\31\127]',
  '\194[\128-\159]',
  '\216\156',
  '\226\128[\139\142\143\168-\174]',
  '\226\129[\160-\175]',
  '\239\187\191',
  '\239\191[\185-\187]',
  '\243\160[\128\129][\128-\191]',
}

---@param text string
---@return string text without hidden characters
local function harmless(text)
  -- Escape sequences go as a whole, so that no `[31m` is left of them.
  if text:find('\27', 1, true) then
    text =
      text:gsub('\27%[[0-?]*[ -/]*[@-~]', ''):gsub('\27[%]PX^_][^\7\27]*[\7]?', ''):gsub('\27[ -/]*[0-~]', '')
  end
  for _, hidden in ipairs(HIDDEN) do
    text = text:gsub(hidden, '')
  end
  return text
end

---The text as one line: all space folded to single blanks.
---@param text any anything but a string is an empty line
---@return string
function M.one_line(text)
  if type(text) ~= 'string' then
    return ''
  end
  if text:find('[%c\127-\255]') then
    text = harmless((text:gsub('[\r\n\t\11\12]', ' '):gsub('\226\128[\168\169]', ' ')))
  end
  return vim.trim((text:gsub('%s+', ' ')))
end

---The text as lines for a buffer: tabs stay, nothing else that is not seen.
---@param text any
---@return string[]
function M.lines(text)
  if type(text) ~= 'string' then
    return {}
  end
  text = text:gsub('\r\n', '\n'):gsub('\226\128[\168\169]', '\n')
  local lines = vim.split(text, '\n', { plain = true })
  for number, line in ipairs(lines) do
    lines[number] = harmless(line)
  end
  return lines
end

---The text, cut to so many cells with an ellipsis when it is longer.
---@param text string
---@param cells integer
---@return string
function M.fit(text, cells)
  if #text <= cells or api.nvim_strwidth(text) <= cells then
    return text
  end
  local cut = vim.fn.strcharpart(text, 0, math.max(cells - 1, 0))
  while cut ~= '' and api.nvim_strwidth(cut) > cells - 1 do
    cut = vim.fn.strcharpart(cut, 0, vim.fn.strchars(cut) - 1)
  end
  return cut .. '…'
end

---The text with blanks behind it, up to so many cells.
---@param text string
---@param cells integer
---@return string
function M.pad(text, cells)
  return text .. (' '):rep(cells - api.nvim_strwidth(text))
end

---Seconds since 1970 of an ISO 8601 timestamp in UTC, or nil.
---@param timestamp any
---@return integer?
function M.seconds(timestamp)
  if type(timestamp) ~= 'string' then
    return nil
  end
  local year, month, day, hour, minute, second = timestamp:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return nil
  end
  -- Days since 1970 by the civil calendar; os.time would take the parts for local time.
  local y, m =
    tonumber(year), --[[@as integer]]
    tonumber(month) --[[@as integer]]
  if m <= 2 then
    y, m = y - 1, m + 12
  end
  local days = 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
  days = days + math.floor((153 * (m - 3) + 2) / 5) + tonumber(day) - 719469
  return ((days * 24 + tonumber(hour)) * 60 + tonumber(minute)) * 60 + tonumber(second)
end

local STEPS = { { 60, 's' }, { 60, 'm' }, { 24, 'h' }, { 30, 'd' }, { 12, 'mo' }, { math.huge, 'y' } }

---How long ago a timestamp is, as `5m`; empty when it says nothing.
---@param timestamp any ISO 8601, UTC
---@param now? integer seconds since 1970
---@return string
function M.ago(timestamp, now)
  local seconds = M.seconds(timestamp)
  if not seconds then
    return ''
  end
  local amount = (now or os.time()) - seconds
  if amount < 60 then
    return 'now'
  end
  for _, step in ipairs(STEPS) do
    if amount < step[1] then
      return ('%d%s'):format(amount, step[2])
    end
    amount = math.floor(amount / step[1])
  end
  return ''
end

return M
