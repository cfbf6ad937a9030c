---A list of sessions in a buffer that stays current: `sessiond://sessions/all` and `sessiond://sessions/project/…`.
local M = {}

local api = vim.api
local buffer_lines = require('sessiond.buffer_lines')
local sessions = require('sessiond.sessions')
local text = require('sessiond.text')

local WINDOW = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  wrap = false,
  list = false,
  spell = false,
  cursorline = true,
  winbar = "%#SessiondTitle#%{get(b:,'sessiond_title','')}%<",
}

---@class sessiond.SessionsBuffer
---@field filter sessiond.ListFilter
---@field all sessiond.ListedSession[]? nil: not read yet
---@field sessions sessiond.ListedSession[]? those of the lines, without hidden ones
---@field list sessiond.WatchedList
---@field note string? what is shown beside the title

---@type table<integer, sessiond.SessionsBuffer>
local shown = {}

---@param words string
---@return string
local function encoded(words)
  return (words:gsub('[^%w._~-]', function(byte)
    return ('%%%02X'):format(byte:byte())
  end))
end

---@param question sessiond.SessionsQuestion
---@return string
local function name_of(question)
  local project = sessions.filter(question).project
  return 'sessiond://sessions/'
    .. (project and 'project/' .. encoded(project) or 'all')
    .. (question.query and '/matching/' .. encoded(question.query) or '')
end

---@param rest string the name of the buffer after `sessiond://sessions/`
---@return sessiond.ListFilter
local function filter_of(rest)
  local function value(field)
    local found = ('/' .. rest):match('/' .. field .. '/([^/]+)')
    return found and vim.uri_decode(found)
  end
  return { project = value('project'), query = value('matching'), includeDrafts = true }
end

---@param buffer integer
local function show_title(buffer)
  local list = shown[buffer]
  local parts = { list.filter.project and text.one_line(vim.fn.fnamemodify(list.filter.project, ':~')) or 'All sessions' }
  if list.filter.query then
    parts[#parts + 1] = '/' .. text.one_line(list.filter.query)
  end
  parts[#parts + 1] = list.sessions and tostring(#list.sessions)
  parts[#parts + 1] = list.note
  vim.b[buffer].sessiond_title = table.concat(parts, ' · ')
  pcall(vim.cmd.redrawstatus, { bang = true })
end

---Draw the sessions. The cursor of each window stays on its session.
---@param buffer integer
---@param all sessiond.ListedSession[]
local function draw(buffer, all)
  local list = shown[buffer]
  local at = {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local session = (list.sessions or {})[api.nvim_win_get_cursor(window)[1]]
    at[window] = session and session.sessionId
  end
  local fresh, hidden_count = all, 0
  if not sessions.shows_automated() then
    fresh, hidden_count = sessions.without_automated(all)
  end
  list.all, list.sessions = all, fresh
  local lines, places = sessions.lines(fresh, list.filter.project), {}
  for place, session in ipairs(fresh) do
    places[session.sessionId] = places[session.sessionId] or place
  end
  if hidden_count > 0 then
    lines[#lines + 1] = ('%s; `a` shows %s'):format(sessions.hidden_line(hidden_count), hidden_count == 1 and 'it' or 'them')
  end
  buffer_lines.update(buffer, #lines > 0 and lines or { 'There are no sessions.' })
  for window, id in pairs(at) do
    if places[id] then
      api.nvim_win_set_cursor(window, { places[id], api.nvim_win_get_cursor(window)[2] })
    end
  end
  show_title(buffer)
end

---Draw all lists again.
function M.redraw()
  for buffer, list in pairs(shown) do
    if list.all then
      draw(buffer, list.all)
    end
  end
end

---@param buffer integer
---@param note string?
local function set_note(buffer, note)
  shown[buffer].note = note
  show_title(buffer)
end

---@param buffer integer
---@return sessiond.WatchedList
local function watch(buffer)
  return require('sessiond.sessions.watched_list').open(shown[buffer].filter, {
    changed = function(fresh)
      shown[buffer].note = nil
      draw(buffer, fresh)
    end,
    away = function()
      set_note(buffer, 'away')
    end,
    back = function()
      set_note(buffer, nil)
    end,
    failed = function(err)
      set_note(buffer, text.one_line(err.message))
      if not shown[buffer].sessions then
        buffer_lines.update(buffer, { text.one_line(err.message) })
      end
    end,
  })
end

---@param buffer integer
---@param key string
---@param description string
---@param run fun(session: sessiond.ListedSession?)
local function map(buffer, key, description, run)
  vim.keymap.set('n', key, function()
    run((shown[buffer].sessions or {})[api.nvim_win_get_cursor(0)[1]])
  end, { buffer = buffer, nowait = true, desc = 'sessiond: ' .. description })
end

---Make a buffer a list of sessions.
---@param buffer integer
---@param rest string the name of the buffer after `sessiond://sessions/`
function M.attach(buffer, rest)
  if shown[buffer] then
    shown[buffer].list:close()
  end
  for name, value in pairs({
    buftype = 'nofile',
    swapfile = false,
    modeline = false,
    bufhidden = 'hide',
    undolevels = -1,
    modifiable = false,
    buflisted = false,
  }) do
    vim.bo[buffer][name] = value
  end
  shown[buffer] = { filter = filter_of(rest) }
  set_note(buffer, 'loading …')
  shown[buffer].list = watch(buffer)
  api.nvim_create_autocmd('BufUnload', {
    group = 'sessiond',
    buffer = buffer,
    once = true,
    callback = function()
      shown[buffer].list:close()
      shown[buffer] = nil
    end,
  })
  map(buffer, '<CR>', 'show the tree', function(session)
    local list = shown[buffer]
    if session then
      require('sessiond.tree.window').open(session.sessionId)
    elseif list.all and #list.all > #list.sessions then
      sessions.toggle_automated() -- the cursor is on the line about hidden sessions
    end
  end)
  map(buffer, 'a', 'show or hide automated sessions', sessions.toggle_automated)
  map(buffer, 'R', 'read the list again', function()
    shown[buffer].list:close()
    shown[buffer].list = watch(buffer)
  end)
  map(buffer, 'q', 'close', function()
    if not pcall(vim.cmd.close) then
      vim.cmd.enew()
    end
  end)
  require('sessiond.tree.marks').define_groups()
  vim.bo[buffer].filetype = 'sessiond-sessions'
end

---Show a list of sessions in the current window.
---@param question sessiond.SessionsQuestion
---@param modifiers? string such as `vertical` or `tab`: show it in a split
function M.open(question, modifiers)
  if modifiers and modifiers ~= '' then
    vim.cmd(modifiers .. ' split')
  end
  vim.cmd('edit ' .. vim.fn.fnameescape(name_of(question)))
  for name, value in pairs(WINDOW) do
    api.nvim_set_option_value(name, value, { win = 0, scope = 'local' })
  end
end

return M
