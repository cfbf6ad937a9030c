---Prepares text of transcripts for buffers: without control characters, split into lines, measured in cells.
---
---Transcripts are not trusted: neither this module nor its callers run any part of them.
local M = {}

local api = vim.api

---Characters that control a terminal or the order of text and are not visible: C0, DEL, C1, Arabic letter mark, byte
---order marks, interlinear annotations, tags. The general punctuation among them is in `hidden_punctuation`.
local HIDDEN = {
  '[%z\1-\8\11-\31\127]',
  '\194[\128-\159]',
  '\216\156',
  '\239\187\191',
  '\239\191[\185-\187]',
  '\243\160[\128\129][\128-\191]',
}

---Characters U+2000 to U+207F and what replaces them: nothing for zero-width characters and bidirectional controls, a
---blank for line and paragraph separators. False keeps a character. One table for all of them is faster than patterns.
---@type table<string, string|false>
local hidden_punctuation = setmetatable({}, {
  __index = function(known, character)
    if character:find('^\226\128[\168\169]') then
      known[character] = ' '
    elseif character:find('^\226\128[\139\142\143\170-\174]') or character:find('^\226\129[\160-\175]') then
      known[character] = ''
    else
      known[character] = false
    end
    return known[character]
  end,
})

---@param text string
---@return string text without hidden characters
local function harmless(text)
  -- Whole escape sequences are removed, so that no `[31m` is left of them.
  if text:find('\27', 1, true) then
    text =
      text:gsub('\27%[[0-?]*[ -/]*[@-~]', ''):gsub('\27[%]PX^_][^\7\27]*[\7]?', ''):gsub('\27[ -/]*[0-~]', '')
  end
  if text:find('[%z\1-\8\11-\31\127\194\216\239\243]') then
    for _, hidden in ipairs(HIDDEN) do
      text = text:gsub(hidden, '')
    end
  end
  return (text:gsub('\226[\128\129][\128-\191]', hidden_punctuation))
end

---Return the text as one line. A sequence of white space becomes one blank.
---@param text any anything but a string becomes an empty line
---@return string
function M.one_line(text)
  if type(text) ~= 'string' then
    return ''
  end
  if text:find('[%c\127-\255]') then
    if text:find('[\r\n\t\11\12]') then
      text = text:gsub('[\r\n\t\11\12]', ' ')
    end
    text = harmless(text)
  end
  if text:find('  ', 1, true) or text:find('^%s') or text:find(' ', -1, true) then
    text = vim.trim((text:gsub('%s+', ' ')))
  end
  return text
end

---Return the text as lines for a buffer. Of the invisible characters, only tabs stay.
---@param text any anything but a string becomes no lines
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

---Return the lines of a document, without empty ones at its end.
---@param document string
---@return string[]
function M.document_lines(document)
  local lines = M.lines(document)
  while lines[#lines] == '' do
    lines[#lines] = nil
  end
  return lines
end

---Return the title of a session, a hit or a passage as one line; without a title, the first prompt.
---@param titled {title: string?, firstPrompt: string?}
---@return string
function M.title(titled)
  return M.one_line(titled.title or titled.firstPrompt or 'untitled')
end

---Return the text, shortened with an ellipsis if it is too wide.
---@param text string
---@param cells integer maximum width
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

---Return the text, followed by blanks if it is too narrow.
---@param text string
---@param cells integer minimum width
---@return string
function M.pad(text, cells)
  return text .. (' '):rep(cells - api.nvim_strwidth(text))
end

---Return the seconds since 1970 of a timestamp.
---@param timestamp any ISO 8601, UTC
---@return integer? seconds nil for any other value
function M.seconds(timestamp)
  if type(timestamp) ~= 'string' then
    return nil
  end
  local year, month, day, hour, minute, second = timestamp:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return nil
  end
  -- Days since 1970 in the Gregorian calendar; os.time would read the fields as local time.
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

---Return bytes with a decimal unit, such as `1.4 MB`.
---@param bytes integer
---@return string
function M.size(bytes)
  if bytes < 1000 then
    return ('%d B'):format(bytes)
  end
  local amount = bytes
  for _, unit in ipairs({ 'kB', 'MB', 'GB' }) do
    amount = amount / 1000
    if amount < 999.5 then
      return (amount < 9.95 and '%.1f %s' or '%.0f %s'):format(amount, unit)
    end
  end
  return ('%.1f TB'):format(amount / 1000)
end

local STEPS = { { 60, 's' }, { 60, 'm' }, { 24, 'h' }, { 30, 'd' }, { 12, 'mo' }, { math.huge, 'y' } }

---Return the age of a timestamp, such as `5m`.
---@param timestamp any ISO 8601, UTC
---@param now? integer seconds since 1970
---@return string age empty for a value that is not a timestamp
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
