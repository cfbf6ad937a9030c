---A list of sessions that stays current: read once, and then updated by a watch of the daemon.
---
---After a lost connection, the watch continues after the last known position: the daemon sends the rows that changed
---meanwhile, or reports that the list has to be read again. The list never starts a daemon that somebody stopped.
local M = {}

local client = require('sessiond.client')
local repeating = require('sessiond.repeating')

---Rows in one page of `session/list`.
local PAGE_ROWS = 1000

---@class sessiond.ListObserver
---@field changed fun(sessions: sessiond.ListedSession[]) the list was read or changed; the newest session is first
---@field failed? fun(err: sessiond.RpcError) the list cannot be read, and is closed
---@field away? fun() the connection was lost
---@field back? fun() the watch continues

---@class sessiond.WatchedList: sessiond.ConnectionListener
---@field private filter sessiond.ListFilter
---@field private observer sessiond.ListObserver
---@field private rows table<string, sessiond.ListedSession[]> by session id; several files may have the same id
---@field private position sessiond.ListPosition? nil: the list has to be read
---@field private watch_id string? nil: there is no watch on this connection
---@field private queued sessiond.SessionsChangedNote[]? notifications that arrived while the list is read
---@field private attempts integer responses to earlier attempts are ignored
---@field private is_closed boolean
local WatchedList = {}
WatchedList.__index = WatchedList

---Read a list and watch it until `close` is called. Starts the daemon if it does not run.
---@param filter sessiond.ListFilter
---@param observer sessiond.ListObserver
---@return sessiond.WatchedList
function M.open(filter, observer)
  local self = setmetatable({
    filter = filter,
    observer = observer,
    rows = {},
    attempts = 0,
    is_closed = false,
  }, WatchedList)
  client.add_listener(self)
  self:watch(false)
  return self
end

---End the watch. The observer is not called any more.
function WatchedList:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  client.remove_listener(self)
  if self.watch_id then
    client.unwatch(self.watch_id)
  end
end

---Return the sessions, the newest first, as `session/list` does.
---@return sessiond.ListedSession[]
function WatchedList:sessions()
  local sessions = {}
  for _, rows in pairs(self.rows) do
    vim.list_extend(sessions, rows)
  end
  table.sort(sessions, function(one, other)
    if one.updatedAt ~= other.updatedAt then
      return (one.updatedAt or '') > (other.updatedAt or '')
    end
    return (one.path or one.sessionId) > (other.path or other.sessionId)
  end)
  return sessions
end

---Watch after the known position.
---@private
---@param automatic boolean whether the plugin sends the request by itself, after a reconnection
function WatchedList:watch(automatic)
  self.attempts = self.attempts + 1
  local attempt = self.attempts
  self.watch_id, self.queued = nil, nil
  client.request('server/watch', { filter = self.filter, after = self.position }, function(err, result)
    if self.is_closed and result then
      client.unwatch(result.watchId)
    end
    if self.is_closed or self.attempts ~= attempt then
      return
    end
    if err then
      self:failed(err)
      return
    end
    self.watch_id = result.watchId
    if automatic and self.observer.back then
      self.observer.back()
    end
    if result.mode ~= 'replay' then
      self:read(attempt)
    end
  end, automatic)
end

---Read the whole list. Notifications that arrive meanwhile are applied afterwards.
---@private
---@param attempt integer
function WatchedList:read(attempt)
  local rows = {}
  ---@type sessiond.ListPosition?
  local first
  self.position, self.queued = nil, {}
  local function page(cursor)
    local params = vim.tbl_extend('force', self.filter, { limit = PAGE_ROWS, cursor = cursor })
    client.request('session/list', params, function(err, result)
      if self.is_closed or self.attempts ~= attempt then
        return
      end
      if err then
        self:failed(err)
        return
      end
      first = first or { epoch = result.epoch, position = result.position }
      for _, session in ipairs(result.sessions) do
        rows[session.sessionId] = rows[session.sessionId] or {}
        table.insert(rows[session.sessionId], session)
      end
      if result.nextCursor then
        page(result.nextCursor)
        return
      end
      local queued = self.queued or {}
      self.rows, self.position, self.queued = rows, first, nil
      for _, note in ipairs(queued) do
        if note.position > first.position then -- the first page contains earlier changes
          self:apply(note)
        end
      end
      self.observer.changed(self:sessions())
    end, true)
  end
  page(nil)
end

---@private
---@param err sessiond.RpcError
function WatchedList:failed(err)
  if self.attempts > 1 and (repeating.is_disconnected(err) or repeating.is_draining(err)) then
    return -- `connection_made` tries again
  end
  self:close()
  if self.observer.failed then
    self.observer.failed(err)
  end
end

---@private
---@param note sessiond.SessionsChangedNote
function WatchedList:apply(note)
  self.position = { epoch = note.epoch, position = note.position }
  for _, id in ipairs(note.removed) do
    self.rows[id] = nil
  end
  for _, session in ipairs(note.changed) do
    self.rows[session.sessionId] = nil
  end
  for _, session in ipairs(note.changed) do
    self.rows[session.sessionId] = self.rows[session.sessionId] or {}
    table.insert(self.rows[session.sessionId], session)
  end
end

---Receive a notification of the connection.
---@param method string
---@param note table
function WatchedList:notified(method, note)
  if note.watchId == nil or note.watchId ~= self.watch_id then
    return
  end
  if method == 'server/watchLapsed' then
    self.position = nil
    self:watch(true)
  elseif method == 'server/sessionsChanged' and self.queued then
    table.insert(self.queued, note)
  elseif method == 'server/sessionsChanged' then
    self:apply(note)
    self.observer.changed(self:sessions())
  end
end

---Handle the loss of the connection (called by `sessiond.client`).
function WatchedList:connection_lost()
  self.attempts = self.attempts + 1
  self.watch_id, self.queued = nil, nil
  if self.observer.away then
    self.observer.away()
  end
end

---Watch again after a reconnection (called by `sessiond.client`).
function WatchedList:connection_made()
  if not self.watch_id and self.attempts > 1 then
    self:watch(true)
  end
end

return M
