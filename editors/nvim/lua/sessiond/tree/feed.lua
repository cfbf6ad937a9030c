---Watches the tree of a session: the daemon sends the rows around the cursor, then all others, and then what changes.
---
---Rows of another filter or query are shown as soon as the first ones are there, and again when all are. Rows that are
---sent again, after a lost connection for example, replace the shown ones when all of them are there.
local M = {}

local client = require('sessiond.client')
local draw = require('sessiond.tree.draw')
local repeating = require('sessiond.repeating')
local rows = require('sessiond.tree.rows')

---@class sessiond.Feed: sessiond.ConnectionListener
---@field shows_rows boolean whether rows of the current filter and query are shown
---@field private tree sessiond.Tree
---@field private watch_id string? nil: there is no watch on this connection
---@field private attempts integer responses to earlier attempts are ignored
---@field private anchor string? the entry around which other rows come first
---@field private fresh sessiond.Rows? the rows of the watch until all are there
local Feed = {}
Feed.__index = Feed

---@param tree sessiond.Tree
---@return sessiond.Feed
function M.new(tree)
  local self = setmetatable({ tree = tree, shows_rows = false, attempts = 0 }, Feed)
  client.add_listener(self)
  return self
end

---End the watch.
function Feed:close()
  self.attempts = self.attempts + 1
  client.remove_listener(self)
  self:unwatch()
end

---@private
function Feed:unwatch()
  if self.watch_id then
    client.unwatch(self.watch_id)
    self.watch_id = nil
  end
end

---Watch the tree, unless it is watched.
function Feed:begin()
  if not self.watch_id then
    self:refresh()
  end
end

---Receive all rows again. The shown rows stay until all are there.
function Feed:refresh()
  self:unwatch()
  self.attempts, self.fresh = self.attempts + 1, nil
  local canvas = self.tree.canvas
  self:watch(self.attempts, not self.shows_rows and (canvas:target_id() or self.anchor) or nil)
end

---Receive other rows, first those around the cursor, or around the leaf if the cursor follows it.
function Feed:restart()
  self.anchor = self.tree.canvas:anchor()
  self.shows_rows = false
  self:refresh()
end

---@private
---@param attempt integer
---@param around string? the entry around which the first rows are; nil: the leaf
function Feed:watch(attempt, around)
  client.request('session/watchTree', self.tree:params(around), function(err, result)
    if self.attempts ~= attempt then
      if result then
        client.unwatch(result.watchId)
      end
    elseif not err then
      self.watch_id, self.anchor, self.fresh = result.watchId, nil, rows.new()
    elseif around and err.data and err.data.kind == 'entryNotFound' then
      self:watch(attempt, nil)
    elseif not repeating.is_draining(err) then -- after a reconnection, `begin` tries again
      self.tree:failed(err)
    end
  end, true)
end

---Receive a notification of the connection.
---@param method string
---@param note table
function Feed:notified(method, note)
  if note.watchId == nil or note.watchId ~= self.watch_id then
    return
  elseif method == 'session/treeLapsed' then
    self.watch_id = nil
    if note.reason == 'unreadable' then
      self.tree:failed({ code = 0, message = note.message })
    elseif note.reason ~= 'deleted' then -- `session/deleted` says that
      self:refresh()
    end
  elseif method == 'session/treeChanged' then
    self.tree.total = note.entryCount
    if not self.fresh and (note.more or note.precedingCount > 0) then
      self.fresh = self.tree.canvas.rows:copy() -- more rows follow: shown with them, so that cursors find their entries
    end
    if self.fresh then
      self:add(note)
    else
      self.tree.canvas:apply(note, self.tree:placeholder())
      self.tree:show_title()
    end
  end
end

---Add rows to those that are not all there yet.
---@private
---@param note sessiond.TreeChangedNote
function Feed:add(note)
  local fresh = self.fresh --[[@as sessiond.Rows]]
  fresh:apply(note)
  for _, change in ipairs(note.changes) do
    -- The lines are stored with the rows, so that showing all of them costs less.
    draw.lines(change.nodes --[=[@as sessiond.Row[]]=], 1, #change.nodes)
  end
  if note.more then
    return
  elseif #fresh.list == note.visibleCount then
    self.fresh, self.shows_rows = nil, true
    self.tree:show(fresh)
    self.tree.canvas:forget_target()
    self.tree:set_note(nil)
  elseif not self.shows_rows then
    self.shows_rows = true
    self.tree:show(fresh:copy())
  else
    self.tree:set_note(('loading, %d of %d rows'):format(#fresh.list, note.visibleCount))
  end
end

---Handle the loss of the connection (called by `sessiond.client`).
function Feed:connection_lost()
  self.attempts = self.attempts + 1
  self.watch_id, self.fresh = nil, nil
end

---Do nothing: the tree is watched when the session is open again (called by `sessiond.client`).
function Feed:connection_made() end

return M
