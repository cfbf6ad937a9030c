---The tree of a session in a buffer that stays right: rows come in pages, changes as they happen.
---
---An append redraws what hangs on the entry that it was attached to, and nothing else; where the leaf moves to a
---row that is shown, only the marks of its path change. What cannot be told apart so (a hidden leaf, a hidden
---parent) is read again, page by page, and only lines that differ are set.
local M = {}

local api = vim.api
local client = require('sessiond.client')
local draw = require('sessiond.tree.draw')
local new_rows = require('sessiond.tree.rows').new
local text = require('sessiond.text')

---Milliseconds in which changes are gathered before they are drawn.
local GATHERING = 20

---@class sessiond.Tree
---@field id string of the session
---@field buffer integer
---@field rows sessiond.Rows
---@field tip sessiond.Row? where the path to the leaf ends, as far as it is shown
---@field leaf_id string?
---@field total integer entries in the session, shown or not
---@field filter sessiond.Filter
---@field query string?
---@field session sessiond.SessionInfo?
---@field shows_time boolean
---@field follows boolean
---@field note string? what stands beside the title: loading, offline, gone
---@field private unfollow fun()
---@field private stale table<string, true> rows whose subtree has to be read again
---@field private all_stale boolean
---@field private waiting boolean
---@field private loading integer? number of the load that is under way
---@field private loads integer
---@field private moves integer how often the leaf moved: an answer from before says nothing of its path
---@field private loaded boolean something was shown already
---@field private began boolean the cursor was put on the leaf once
---@field private wanted_id string? the entry that the cursor shall be on once it is there
local Tree = {}
Tree.__index = Tree

---@type table<integer, sessiond.Tree>
local trees = {}

---@param buffer integer 0 is the current one
---@return sessiond.Tree?
function M.of(buffer)
  return trees[buffer == 0 and api.nvim_get_current_buf() or buffer]
end

---Make a buffer the tree of a session.
---@param buffer integer
---@param id string
function M.attach(buffer, id)
  if trees[buffer] then
    trees[buffer]:refresh()
    return
  end
  local chosen = require('sessiond.config').get().tree
  local self = setmetatable({
    id = id,
    buffer = buffer,
    rows = new_rows(),
    total = 0,
    filter = chosen.filter,
    shows_time = chosen.time,
    follows = chosen.follow,
    stale = {},
    all_stale = false,
    waiting = false,
    loads = 0,
    moves = 0,
    loaded = false,
    began = false,
  }, Tree)
  trees[buffer] = self
  require('sessiond.tree.marks').provide()
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
  vim.b[buffer].sessiond_session = id
  require('sessiond.tree.keys').map(self)
  api.nvim_create_autocmd('BufUnload', {
    group = 'sessiond',
    buffer = buffer,
    once = true,
    callback = function()
      trees[buffer] = nil
      self.unfollow()
    end,
  })
  self:say('loading …')
  self.unfollow = client.follow(id, {
    back = function(session)
      self.session, self.note = session, nil
      self:title()
      if not self.loaded or self.all_stale then
        self:refresh()
      end
    end,
    reload = function()
      self:refresh()
    end,
    appended = function(note)
      self:appended(note)
    end,
    moved = function(note)
      if note.leafId ~= self.leaf_id then -- otherwise what was appended has told it
        self.leaf_id = note.leafId
        self:refresh()
      end
    end,
    changed = function(session)
      self.session = session
      self:title()
    end,
    away = function()
      self:say('away')
    end,
    gone = function(why)
      self:say(why)
      if not self.loaded then
        self:set_lines(1, -1, { text.one_line(why) })
      end
    end,
  })
  vim.bo[buffer].filetype = 'sessiond-tree'
  require('sessiond.actions.lsp').attach(buffer)
end

-- What is shown beside the rows -------------------------------------------------------------------------------

---@param note string?
function Tree:say(note)
  self.note = note
  self:title()
end

---The title over the rows. It is a variable of the buffer, so that nothing in it is taken for a format.
function Tree:title()
  if not api.nvim_buf_is_valid(self.buffer) then
    return
  end
  local session = self.session
  local name = session and (session.title or session.firstPrompt) or self.id
  local parts = { text.fit(text.one_line(name), 60) }
  if self.filter ~= 'default' then
    parts[#parts + 1] = self.filter
  end
  if self.query then
    parts[#parts + 1] = '/' .. text.one_line(self.query)
  end
  parts[#parts + 1] = #self.rows.list == self.total and tostring(self.total)
    or ('%d of %d'):format(#self.rows.list, self.total)
  if self.note then
    parts[#parts + 1] = text.one_line(self.note)
  end
  vim.b[self.buffer].sessiond_title = table.concat(parts, ' · ')
  pcall(vim.cmd.redrawstatus, { bang = true })
end

---Set lines of the buffer; cursors stay on their entries.
---@private
---@param first integer from 1
---@param last integer the last old line; -1 is the end
---@param lines string[]
function Tree:set_lines(first, last, lines)
  if not api.nvim_buf_is_valid(self.buffer) then
    return
  end
  vim.bo[self.buffer].modifiable = true
  api.nvim_buf_set_lines(self.buffer, first - 1, last, false, lines)
  vim.bo[self.buffer].modifiable = false
end

---@class sessiond.Cursor
---@field window integer
---@field id string?
---@field was_tip boolean
---@field column integer

---@private
---@return sessiond.Cursor[]
function Tree:cursors()
  local cursors = {}
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    local at = api.nvim_win_get_cursor(window)
    local row = self.rows.list[at[1]]
    cursors[#cursors + 1] =
      { window = window, id = row and row.id, was_tip = row ~= nil and row == self.tip, column = at[2] }
  end
  return cursors
end

---@private
---@param cursors sessiond.Cursor[]
function Tree:put_back(cursors)
  local tip, tip_place = self.rows:tip()
  for _, cursor in ipairs(cursors) do
    local place = self.rows.places[self.wanted_id or cursor.id]
    if cursor.was_tip and self.follows and tip and tip.id ~= cursor.id and not self.wanted_id then
      place = tip_place
    elseif not cursor.id and not self.wanted_id then
      place = tip_place
    end
    if place and place <= api.nvim_buf_line_count(self.buffer) then
      if api.nvim_win_get_cursor(cursor.window)[1] ~= place then
        api.nvim_win_set_cursor(cursor.window, { place, cursor.column })
      end
    end
  end
  if self.wanted_id and self.rows.places[self.wanted_id] then
    self.wanted_id = nil
  end
end

---Show the path to a row.
---@private
---@param cursors sessiond.Cursor[]
---@param tip sessiond.Row? nil: the leaf is before the first entry
function Tree:show_path(cursors, tip)
  local before = self.tip
  local first, last = self.rows:mark_path(tip)
  self.tip = tip
  if first and last then
    self:set_lines(first, last, draw.lines(self.rows.list, first, last, tip))
  end
  self:redraw_tip(before)
  self:put_back(cursors)
  pcall(api.nvim__redraw, { buf = self.buffer, valid = false })
end

---Draw the row again that was the tip, and the one that is.
---@private
---@param before sessiond.Row?
function Tree:redraw_tip(before)
  for _, row in pairs({ before, self.tip }) do -- either may be nil
    local place = self.rows.places[row.id]
    if place and self.rows.list[place] == row then
      self:set_lines(place, place, { (draw.line(row, row == self.tip)) })
    end
  end
end

-- Reading -----------------------------------------------------------------------------------------------------

---Reload the tree at the user's request. Starts the daemon if it does not run.
function Tree:ask_again()
  self:refresh()
  require('sessiond.connect').ensure(function() end)
end

---Reload the tree, at the latest after a reconnect.
function Tree:refresh()
  self.all_stale = true
  self:soon()
end

---@private
function Tree:soon()
  if self.waiting then
    return
  end
  self.waiting = true
  vim.defer_fn(function()
    self.waiting = false
    self:catch_up()
  end, GATHERING)
end

---@private
function Tree:catch_up()
  if trees[self.buffer] ~= self then
    return
  end
  if require('sessiond.connect').state().status ~= 'online' then
    self.all_stale = true -- what is shown is read again when the daemon is back
    return
  end
  if self.all_stale then
    self.all_stale, self.stale = false, {}
    self:load()
  elseif self.loading then
    return -- the end of the load will come back here
  else
    local stale = self.stale
    self.stale = {}
    for id in pairs(stale) do
      self:load_below(id)
    end
  end
end

---@private
---@param more table
---@return sessiond.TreeParams
function Tree:question(more)
  return vim.tbl_extend('force', {
    sessionId = self.id,
    filter = self.filter,
    query = self.query,
    limit = require('sessiond.config').get().tree.page,
  }, more)
end

---@private
---@param err sessiond.RpcError
function Tree:failed(err)
  if err.data and err.data.kind == 'disconnected' then
    self.all_stale = true
    self:say('away')
  else
    self:say(err.message)
    if not self.loaded then
      self:set_lines(1, -1, { text.one_line(err.message) })
    end
  end
end

---Read all pages. The first time they are shown as they come; later, what is shown stays until all are there.
---@private
function Tree:load()
  self.loads = self.loads + 1
  local number = self.loads
  self.loading = number
  local fresh = new_rows()
  local as_they_come = not self.loaded
  if as_they_come then
    self.rows = fresh
  end
  local function page(cursor)
    client.request('session/tree', self:question({ cursor = cursor }), function(err, result)
      if trees[self.buffer] ~= self or self.loading ~= number then
        return
      end
      if err then
        self.loading = nil
        if err.data and err.data.kind == 'cursorExpired' then
          self:refresh()
        else
          self:failed(err)
        end
        return
      end
      local first = #fresh.list + 1
      fresh:add(result.nodes)
      self.total, self.leaf_id = result.entryCount, result.leafId
      if as_they_come then
        self:show_page(first)
      end
      if result.nextCursor then
        self:say(('loading, %d so far'):format(#fresh.list))
        page(result.nextCursor)
      else
        self:begin_at_leaf(fresh)
        self.loading, self.loaded = nil, true
        self:show_all(fresh)
        self:say(nil)
        if self.all_stale or next(self.stale) then
          self:soon()
        end
      end
    end)
  end
  page(nil)
end

---A tree that is shown for the first time begins at its leaf, unless somebody has moved meanwhile.
---@private
---@param fresh sessiond.Rows
function Tree:begin_at_leaf(fresh)
  local tip = fresh:tip()
  if self.began or self.wanted_id or not tip then
    return
  end
  self.began = true
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    if api.nvim_win_get_cursor(window)[1] > 1 then
      return
    end
  end
  self.wanted_id = tip.id
end

---@private
---@param first integer
function Tree:show_page(first)
  local cursors = self:cursors()
  local before = self.tip
  self.tip = self.rows:tip()
  self:set_lines(first, -1, draw.lines(self.rows.list, first, #self.rows.list, self.tip))
  if before and before ~= self.tip then
    self:redraw_tip(before)
  end
  if first > 1 then
    self:put_back(cursors)
  end
end

---Show other rows: only the lines between what is the same at both ends are set.
---@private
---@param fresh sessiond.Rows
function Tree:show_all(fresh)
  local cursors = self:cursors()
  self.rows = fresh
  self.tip = fresh:tip()
  local lines = draw.lines(fresh.list, 1, #fresh.list, self.tip)
  if #lines == 0 then
    lines = {
      self.query and 'No entry contains all of these words.'
        or self.filter == 'default' and 'There are no messages yet.'
        or 'The filter ' .. self.filter .. ' lets nothing through.',
    }
  end
  local old = api.nvim_buf_get_lines(self.buffer, 0, -1, false)
  local first = 1
  while first <= #lines and first <= #old and lines[first] == old[first] do
    first = first + 1
  end
  local last_old, last = #old, #lines
  while last_old >= first and last >= first and old[last_old] == lines[last] do
    last_old, last = last_old - 1, last - 1
  end
  if first <= last or first <= last_old then
    self:set_lines(first, last_old, vim.list_slice(lines, first, last))
  end
  self:put_back(cursors)
  pcall(api.nvim__redraw, { buf = self.buffer, valid = false })
end

---@private
---@param note sessiond.AppendedNote
function Tree:appended(note)
  local before = self.leaf_id
  self.leaf_id = note.leafId
  if #note.items == 1 and note.items[1].entry.type == 'leaf' then
    self:move_leaf(before)
    return
  end
  for _, item in ipairs(note.items) do
    local entry = item.entry
    if entry.type == 'leaf' then
      self:refresh()
    elseif entry.type == 'label' then
      self:labeled(entry)
    end
  end
  local tip = self.tip
  for _, item in ipairs(note.items) do
    local entry = item.entry
    if self.rows.places[entry.parentId] then
      self.stale[entry.parentId] = true
    elseif tip and entry.parentId == before then
      self.stale[tip.id] = true
    elseif entry.parentId == nil or not tip then
      self:refresh()
    elseif not self:is_among(note, entry.parentId) then
      self:refresh()
    end
  end
  self:soon()
end

---Whether a row may be a turn without words, which these filters show only while it is the leaf.
---@private
---@param row sessiond.Row
---@return boolean
function Tree:may_hide(row)
  return (self.filter == 'default' or self.filter == 'noTools')
    and row.role == 'assistant'
    and (row.preview == '' or vim.startswith(row.preview, '['))
end

---Show where the leaf is now.
---@private
---@param before string? id of the leaf until now
function Tree:move_leaf(before)
  local tip = self.rows:get(self.leaf_id)
  if not self.loaded or self.loading or self.all_stale or (self.leaf_id and not tip) then
    self:refresh()
    return
  end
  self.moves = self.moves + 1
  self:show_path(self:cursors(), tip)
  local left = self.rows:get(before)
  if left and left ~= tip and self:may_hide(left) then
    self.stale[left.id] = true
    self:soon()
  end
  client.request('session/info', { sessionId = self.id }, function(err, result)
    if not err then
      self.session, self.total = result.session, result.session.entryCount
      self:title()
    end
  end)
end

---@private
---@param note sessiond.AppendedNote
---@param id string
---@return boolean whether the entry came with the same note, so that its parent is looked after
function Tree:is_among(note, id)
  for _, item in ipairs(note.items) do
    local entry = item.entry
    if entry.id == id then
      return true
    end
  end
  return false
end

---@private
---@param entry table
function Tree:labeled(entry)
  if self.filter == 'labeledOnly' or self.query then
    self:refresh()
    return
  end
  local row, place = self.rows:get(entry.targetId)
  if row and place then
    local label = type(entry.label) == 'string' and entry.label ~= '' and entry.label or nil
    row.label = label
    self:set_lines(place, place, { (draw.line(row, row == self.tip)) })
  end
end

---Reload the subtree of a row.
---@private
---@param id string
function Tree:load_below(id)
  local moves = self.moves
  client.request('session/tree', self:question({ rootId = id }), function(err, result)
    if trees[self.buffer] ~= self or self.loading then
      return
    end
    if self.moves ~= moves then
      self.stale[id] = true
      self:soon()
      return
    end
    local row, place = self.rows:get(id)
    if err or not row or not place or result.nextCursor then
      self:refresh()
      return
    end
    self.total = result.entryCount
    if not result.nodes[1] or result.nodes[1].id ~= id then
      -- The row itself is hidden now (a turn without words is shown only while it is the leaf).
      if row.parentId then
        self.stale[row.parentId] = true
        self:soon()
      else
        self:refresh()
      end
      return
    end
    local cursors, before = self:cursors(), self.tip
    local last = self.rows:replace(place, result.nodes)
    local new_last = place + #result.nodes - 1
    if result.nodes[1].onPath and not row.onPath then -- so the path left the rest of the tree
      self:set_lines(place, last, draw.lines(self.rows.list, place, new_last))
      self:show_path(cursors, (self.rows:tip(place, new_last)))
    else
      self.tip = self.rows:tip()
      self:set_lines(place, last, draw.lines(self.rows.list, place, new_last, self.tip))
      if before and before ~= self.tip then
        self:redraw_tip(before)
      end
      self:put_back(cursors)
    end
    self:title()
  end)
end

-- What a person does ------------------------------------------------------------------------------------------

---@return sessiond.Row? row that the cursor is on
---@return integer place
function Tree:row()
  local place = api.nvim_win_get_cursor(0)[1]
  return self.rows.list[place], place
end

---@param filter sessiond.Filter
function Tree:set_filter(filter)
  local row = self:row()
  self.wanted_id = row and row.id
  self.filter = filter
  self:ask_again()
end

---@param query string? words that all must be there; nil shows everything
function Tree:set_query(query)
  self.query = query ~= '' and query or nil
  self:ask_again()
end

---Put the cursor on an entry, now or when it is there.
---@param id string
function Tree:reveal(id)
  self.wanted_id = id
  self:put_back(self:cursors())
end

return M
