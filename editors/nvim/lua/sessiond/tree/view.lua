---The tree of a session in a buffer: the rows, the title over them, and the changes of the session.
---
---`canvas` draws the rows, and `feed` receives them.
local M = {}

local api = vim.api
local client = require('sessiond.client')
local text = require('sessiond.text')

---@class sessiond.Tree
---@field id string of the session
---@field buffer integer
---@field canvas sessiond.Canvas
---@field feed sessiond.Feed
---@field total integer entries in the session, shown or not
---@field filter sessiond.Filter
---@field query string?
---@field session sessiond.SessionInfo?
---@field shows_time boolean
---@field note string? shown beside the title: loading, away, an error
---@field private unfollow fun()
local Tree = {}
Tree.__index = Tree

---@type table<integer, sessiond.Tree>
local trees = {}

local OPTIONS = {
  buftype = 'nofile',
  swapfile = false,
  modeline = false,
  bufhidden = 'hide',
  undolevels = -1,
  modifiable = false,
  buflisted = false,
}

---Return the tree in a buffer.
---@param buffer integer 0 is the current one
---@return sessiond.Tree? tree nil: the buffer is not a tree
function M.of(buffer)
  return trees[buffer == 0 and api.nvim_get_current_buf() or buffer]
end

---Make a buffer the tree of a session. If it is that already, read the tree again.
---@param buffer integer
---@param id string whole id of the session
function M.attach(buffer, id)
  if trees[buffer] then
    trees[buffer].feed:refresh()
    return
  end
  local chosen = require('sessiond.config').get().tree
  local self = setmetatable({
    id = id,
    buffer = buffer,
    canvas = require('sessiond.tree.canvas').new(buffer, chosen.follow),
    total = 0,
    filter = chosen.filter,
    shows_time = chosen.time,
  }, Tree)
  self.feed = require('sessiond.tree.feed').new(self)
  trees[buffer] = self
  require('sessiond.tree.marks').enable()
  for name, value in pairs(OPTIONS) do
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
      self.feed:close()
      self.unfollow()
    end,
  })
  self:set_note('loading …')
  self.unfollow = client.follow(id, self:follower())
  vim.bo[buffer].filetype = 'sessiond-tree'
  require('sessiond.actions.lsp').attach(buffer)
end

---@private
---@return sessiond.Follower
function Tree:follower()
  return {
    back = function(session)
      self.note = nil
      self:set_session(session)
      self.total = session.entryCount
      self.feed:begin()
    end,
    changed = function(session)
      self:set_session(session)
    end,
    away = function()
      self:set_note('away')
    end,
    gone = function(why)
      self:set_note(why)
      self.canvas:show_message(why)
    end,
  }
end

-- The title ---------------------------------------------------------------------------------------------------

---Show a note beside the title.
---@param note string?
function Tree:set_note(note)
  self.note = note
  self:show_title()
end

---Show the title of the session.
---@param session sessiond.SessionInfo
function Tree:set_session(session)
  self.session = session
  self:show_title()
end

---Show the title over the rows. It is a variable of the buffer, so that no part of it is read as a format.
function Tree:show_title()
  if not api.nvim_buf_is_valid(self.buffer) then
    return
  end
  local session, count = self.session, #self.canvas.rows.list
  local name = session and (session.title or session.firstPrompt) or self.id
  local parts = { text.fit(text.one_line(name), 60) }
  if self.filter ~= 'default' then
    parts[#parts + 1] = self.filter
  end
  if self.query then
    parts[#parts + 1] = '/' .. text.one_line(self.query)
  end
  parts[#parts + 1] = count == self.total and tostring(count) or ('%d of %d'):format(count, self.total)
  if self.note then
    parts[#parts + 1] = text.one_line(self.note)
  end
  vim.b[self.buffer].sessiond_title = table.concat(parts, ' · ')
  pcall(vim.cmd.redrawstatus, { bang = true })
end

-- Questions and reports of the feed -----------------------------------------------------------------------

---Return the params of `session/watchTree`. All branches are open, because the editor folds them.
---@param around string? the entry around which the first rows are; nil: the leaf
---@return sessiond.WatchTreeParams
function Tree:params(around)
  return { sessionId = self.id, filter = self.filter, query = self.query, openAll = true, aroundId = around }
end

---Return the text that is shown if there are no rows.
---@return string
function Tree:placeholder()
  return self.query and 'No entry contains all of these words.'
    or self.filter == 'default' and 'There are no messages yet.'
    or ('The filter %s shows no entry of this session.'):format(self.filter)
end

---Show rows (called by the feed).
---@param rows sessiond.Rows
function Tree:show(rows)
  self.canvas:show(rows, self:placeholder())
  self:show_title()
end

---Show why rows cannot be read (called by the feed).
---@param err sessiond.RpcError
function Tree:failed(err)
  if err.data and err.data.kind == 'disconnected' then
    self:set_note('away')
  else
    self:set_note(err.message)
    self.canvas:show_message(err.message)
  end
end

-- Actions of the user -----------------------------------------------------------------------------------------

---Return the row under the cursor of the current window.
---@return sessiond.Row? row
---@return integer place
function Tree:row()
  local place = api.nvim_win_get_cursor(0)[1]
  return self.canvas.rows.list[place], place
end

---Read the tree again. Starts the daemon if it does not run.
function Tree:reload()
  self.feed:refresh()
end

---Show the rows that another filter selects. The cursor stays on its entry, or goes to the nearest shown ancestor.
---@param filter sessiond.Filter
function Tree:set_filter(filter)
  self.filter = filter
  self.feed:restart()
end

---Show only entries that contain all of these words.
---@param query string? empty or nil: all entries
function Tree:set_query(query)
  self.query = query ~= '' and query or nil
  self.feed:restart()
end

---Move the cursor to an entry: now, or when the entry is shown, unless the user has moved the cursor by then.
---@param id string
function Tree:reveal(id)
  self.canvas:reveal(id)
end

return M
