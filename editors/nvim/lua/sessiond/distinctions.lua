---The distinctions of rows that look the same, in a list from which a person chooses a session or an entry: the rule of
---protocol.md, "Rows that look the same". Lua has no normalization of Unicode: of other forms of the same letters, only
---those of full width are known here.
local M = {}

local text = require('sessiond.text')

---Limit of the characters that are shown of a fact.
local MAX_PART = 30
---Limit of the characters before a difference that are shown for the sake of a whole word.
local MAX_BACK = 12
local SHORTEST_ID = 8

local CHARACTER = '[%z\1-\127\194-\244][\128-\191]*'

---Blanks, characters without ink, and the styles and skin colors of emoji.
local UNSEEN = {
  { 0x80, 0xA0 }, { 0xAD, 0xAD }, { 0x34F, 0x34F }, { 0x61C, 0x61C }, { 0x115F, 0x1160 }, { 0x1680, 0x1680 },
  { 0x180E, 0x180E }, { 0x2000, 0x200F }, { 0x2028, 0x202F }, { 0x205F, 0x206F }, { 0x2800, 0x2800 },
  { 0x3000, 0x3000 }, { 0x3164, 0x3164 }, { 0xFE00, 0xFE0F }, { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 },
  { 0x1F3FB, 0x1F3FF }, { 0xE0000, 0xE01EF },
} -- stylua: ignore

---Characters and what replaces them when texts are compared; false keeps a character.
---@type table<string, string|false>
local compared = setmetatable({}, {
  __index = function(known, character)
    local code = vim.fn.char2nr(character)
    known[character] = code >= 0xFF01 and code <= 0xFF5E and string.char(code - 0xFEE0)
    for _, range in ipairs(UNSEEN) do
      if code >= range[1] and code <= range[2] then
        known[character] = ''
      end
    end
    return known[character]
  end,
})

---@class sessiond.ComparedRow
---@field shown string the row without an addition, as the list shows it
---@field facts string[] all rows have the same number of facts; one that a row lacks is empty
---@field id string

---Return the same text for texts that look the same.
---@param shown string
---@return string
local function look(shown)
  if shown:find('[\128-\255]') then
    shown = shown:gsub('[\194-\244][\128-\191]+', compared)
  end
  return (shown:gsub('%s+', ''))
end

---@param shown string
---@return string[]
local function characters(shown)
  local found = {}
  for character in shown:gmatch(CHARACTER) do
    found[#found + 1] = character
  end
  return found
end

---Return the part of each text that is shown: all of short texts, else from the word in which they differ.
---@param texts string[]
---@return string[]
local function parts(texts)
  local split = vim.tbl_map(characters, texts)
  local longest = 0
  for _, each in ipairs(split) do
    longest = math.max(longest, #each)
  end
  if longest <= MAX_PART then
    return texts
  end
  local same, word = 0, 0
  local function is_common(place)
    for _, each in ipairs(split) do
      if each[place] ~= split[1][place] then
        return false
      end
    end
    return split[1][place] ~= nil
  end
  while is_common(same + 1) do
    same = same + 1
    if split[1][same] == ' ' or split[1][same] == '/' then
      word = same
    end
  end
  local begin = same - word > MAX_BACK and same or word
  return vim.tbl_map(function(each)
    local rest = table.concat(each, '', begin + 1)
    if #each - begin > MAX_PART then
      rest = table.concat(each, '', begin + 1, begin + MAX_PART - 1):gsub('%s+$', '') .. '…'
    end
    return rest ~= '' and begin > 0 and '…' .. rest or rest
  end, split)
end

---Return the prefixes of ids: all as long as it takes to distinguish them.
---@param ids string[]
---@return string[]
local function short_ids(ids)
  local function count(length)
    local found = {}
    for _, id in ipairs(ids) do
      found[id:sub(1, length)] = true
    end
    return vim.tbl_count(found)
  end
  local length = SHORTEST_ID
  while count(length) < count(-1) do
    length = length + 1
  end
  return vim.tbl_map(function(id)
    return text.one_line(id:sub(1, length))
  end, ids)
end

---Return the rows that look like others, together with these.
---@param rows integer[]
---@param looks string[]
---@return integer[][]
local function groups(rows, looks)
  local by_look, found = {}, {}
  for place, row in ipairs(rows) do
    local group = by_look[looks[place]] or {}
    by_look[looks[place]] = group
    group[#group + 1] = row
    if #group == 2 then
      found[#found + 1] = group
    end
  end
  return found
end

---Add to the rows of a group what differs, beginning with a fact.
---@param group integer[]
---@param rows sessiond.ComparedRow[]
---@param added string[][]
---@param first integer
local function distinguish(group, rows, added, first)
  local count = #rows[group[1]].facts
  for at = first, count + 1 do
    local texts = vim.tbl_map(function(row)
      return at <= count and rows[row].facts[at] or rows[row].id
    end, group)
    texts = at <= count and parts(texts) or short_ids(texts)
    local looks, differs = vim.tbl_map(look, texts), false
    for _, each in ipairs(looks) do
      differs = differs or each ~= looks[1]
    end
    if differs then
      for place, row in ipairs(group) do
        added[row][#added[row] + 1] = texts[place] ~= '' and texts[place] or nil
      end
      for _, smaller in ipairs(groups(group, looks)) do
        distinguish(smaller, rows, added, at) -- the fact may differ further on
      end
      return
    end
  end
end

---Return the texts that each row shows in addition: none for a row that looks like no other one.
---@param rows sessiond.ComparedRow[]
---@return string[][]
function M.of(rows)
  local added, places, looks = {}, {}, {}
  for place, row in ipairs(rows) do
    added[place], places[place], looks[place] = {}, place, look(row.shown)
  end
  for _, group in ipairs(groups(places, looks)) do
    distinguish(group, rows, added, 1)
    local shown = vim.tbl_map(function(row)
      return look(table.concat(added[row]))
    end, group)
    for _, same in ipairs(groups(group, shown)) do -- by different facts
      local ids = short_ids(vim.tbl_map(function(row)
        return rows[row].id
      end, same))
      for place, row in ipairs(same) do
        added[row][#added[row] + 1] = #groups(same, ids) == 0 and ids[place] or nil
      end
    end
  end
  return added
end

---Draw items, with what distinguishes those that look the same.
---@generic T
---@param items T[]
---@param draw fun(item: T, addition: string): string
---@param facts fun(item: T): string[]
---@param id fun(item: T): string
---@return string[]
function M.lines(items, draw, facts, id)
  local rows = vim.tbl_map(function(item)
    return { shown = draw(item, ''), facts = facts(item), id = id(item) }
  end, items)
  local lines = {}
  for place, added in ipairs(M.of(rows)) do
    lines[place] = #added == 0 and rows[place].shown or draw(items[place], ' · ' .. table.concat(added, ', '))
  end
  return lines
end

---@param timestamp string?
---@return string day
---@return string minute of the local time; empty for a value that is not a timestamp
local function day_and_minute(timestamp)
  local seconds = text.seconds(timestamp)
  if not seconds then
    return '', ''
  end
  return vim.fn.strftime('%Y-%m-%d', seconds), vim.fn.strftime('%H:%M', seconds)
end

---Return the facts of a session in the order in which they distinguish rows.
---@param session sessiond.ListedSession
---@return string[]
function M.session_facts(session)
  local prompt, title = text.one_line(session.firstPrompt), text.one_line(session.title)
  local folder = text.one_line(vim.fn.fnamemodify(session.cwd, ':~'))
  local day, minute = day_and_minute(session.updatedAt)
  return {
    title ~= '' and title or prompt,
    text.one_line(session.origin and session.origin.agent),
    folder:gsub('/+$', ''):match('[^/]*$'),
    folder,
    day,
    minute,
    prompt,
  }
end

---Return the facts of an entry that was found in a session. Copies of one entry, in forks, differ in their sessions
---only.
---@param found sessiond.Hit|sessiond.RecallPassage
---@return string[]
function M.entry_facts(found)
  local facts = M.session_facts(vim.tbl_extend('force', found, { updatedAt = found.timestamp }))
  facts[#facts] = text.one_line(found.sessionId)
  return vim.list_extend({ text.one_line(found.snippet or found.text) }, facts)
end

---Return the id of an entry that was found in a session; that of the session if the entry has none.
---@param found sessiond.Hit|sessiond.RecallPassage
---@return string
function M.entry_id(found)
  return found.entryId or found.sessionId
end

---Return the facts of a labeled entry.
---@param entry sessiond.LabeledEntry
---@return string[]
function M.label_facts(entry)
  local day, minute = day_and_minute(entry.labeledAt)
  return { text.one_line(entry.label), text.one_line(entry.preview), day, minute }
end

return M
