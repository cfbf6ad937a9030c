---Requests to the daemon, and subscriptions to sessions. A subscription resumes after the seq of the last known line, so
---that exactly the missed lines arrive after an outage.
local M = {}

local connect = require('sessiond.connect')
local repeating = require('sessiond.repeating')

---@class sessiond.Follower callbacks for the changes of a session
---@field appended? fun(note: sessiond.AppendedNote)
---@field moved? fun(note: sessiond.LeafMovedNote)
---@field changed? fun(session: sessiond.SessionInfo)
---@field reload? fun() the session must be read again
---@field gone? fun(why: string) the session was deleted, or lost with the daemon
---@field away? fun() the connection was lost
---@field back? fun(session: sessiond.SessionInfo) the subscription begins or resumes

---@class sessiond.Subscription
---@field seq integer? of the last known line
---@field logId string? the log that `seq` is in
---@field followers table<sessiond.Follower, true>

---@type table<string, sessiond.Subscription>
local subscriptions = {}

---Sessions that this Neovim has open, and the params that open them. They are opened again after a reconnection, because
---a draft session that no client has open moves to the trash. A session outside the daemon's folder is found by its path.
---@type table<string, {sessionId: string?, path: string?}>
local open_sessions = {}

---@class sessiond.ConnectionListener
---@field connection_made fun(self: sessiond.ConnectionListener)
---@field connection_lost fun(self: sessiond.ConnectionListener)
---@field notified fun(self: sessiond.ConnectionListener, method: string, note: table) for every notification

---@type table<sessiond.ConnectionListener, true>
local listeners = {}

---Methods that open a session for the client.
local OPENING_METHODS = {
  ['session/create'] = true,
  ['session/open'] = true,
  ['session/continue'] = true,
  ['session/fork'] = true,
}

---@param value any
---@return any params encoded as an object
local function object(value)
  return value == nil and vim.empty_dict() or next(value) == nil and vim.empty_dict() or value
end

---@param method string
---@param params? table
---@param result any
local function remember(method, params, result)
  if OPENING_METHODS[method] and result then
    local id = result.session.sessionId
    local by_path = method == 'session/open' and params and params.path
    open_sessions[id] = by_path and { path = by_path } or { sessionId = id }
  end
end

---Send a request to the daemon, which is found or started first.
---
---A request that writes is sent once more if the connection ends before the response, and takes effect once. Any other
---request then fails: `err.data.kind` is `disconnected`. A request that a daemon refuses because it is about to stop is
---sent to the next daemon, which is started for it, unless the request is `automatic`.
---@param method string
---@param params? table
---@param callback? fun(err: sessiond.RpcError?, result: any)
---@param automatic? boolean whether the plugin sends it by itself, and again after each reconnection
function M.request(method, params, callback, automatic)
  local sent_params, is_repeatable = repeating.repeatable_params(method, params)
  local function finish(err, result)
    if not err then
      remember(method, params, result)
    end
    if callback then
      callback(err, result)
    end
  end
  connect.ensure(function(err, connection)
    if not connection then
      finish(err or repeating.disconnected('no connection'))
      return
    end
    local function first(refused, result)
      local is_for_the_next = repeating.is_draining(refused) and not automatic
      local is_lost = is_repeatable and repeating.is_disconnected(refused)
      if (is_for_the_next or is_lost) and vim.v.exiting == vim.NIL then
        repeating.send_again(method, object(sent_params), is_repeatable and not is_lost, finish)
      else
        finish(refused, result)
      end
    end
    if not connection:request(method, object(sent_params), first) then
      first(repeating.disconnected('The connection to sessiond has just ended.'))
    end
  end)
end

---Send a request and wait for the response. Events are handled meanwhile.
---@param method string
---@param params? table
---@param timeout? integer milliseconds; default: the option `timeout`
---@return any result nil after an error
---@return sessiond.RpcError? err
function M.call(method, params, timeout)
  local done, err, result = false, nil, nil
  M.request(method, params, function(...)
    done, err, result = true, ...
  end)
  timeout = timeout or require('sessiond.config').get().timeout
  if not vim.wait(timeout, function()
    return done
  end, 5) then
    return nil,
      {
        code = -32000,
        message = ('no response to %s within %d ms'):format(method, timeout),
        data = { kind = 'timeout' },
      }
  end
  return result, err
end

---End a watch of a list or of a tree, unless it has ended with the connection.
---@param watch_id string
function M.unwatch(watch_id)
  if connect.state().status == 'online' then
    M.request('server/unwatch', { watchId = watch_id }, nil, true)
  end
end

---@param id string
---@param event 'appended'|'moved'|'changed'|'reload'|'gone'|'away'|'back'
---@param ... any
local function notify_followers(id, event, ...)
  local session = subscriptions[id]
  for _, follower in ipairs(session and vim.tbl_keys(session.followers) or {}) do
    if follower[event] then
      follower[event](...)
    end
  end
end

---Whether an automatic request failed only because the daemon stopped or is about to stop.
---@param err sessiond.RpcError
---@return boolean
local function is_sent_again_later(err)
  return not err.data or err.data.kind == 'disconnected' or repeating.is_draining(err)
end

---@param id string
local function subscribe(id)
  local session = subscriptions[id]
  if not session then
    return
  end
  M.request(
    'session/subscribe',
    { sessionId = id, after = session.seq and { logId = session.logId, seq = session.seq } },
    function(err, result)
      if subscriptions[id] ~= session then
        return
      end
      if err then
        if not is_sent_again_later(err) then
          notify_followers(id, 'gone', err.message)
        end
        return
      end
      session.logId = result.logId
      if not session.seq then
        session.seq = result.toSeq
      elseif result.mode == 'snapshot' then
        session.seq = result.toSeq
        notify_followers(id, 'reload')
      end
      notify_followers(id, 'back', result.session)
    end,
    true
  )
end

---Subscribe to a session, across outages of the daemon.
---@param id string whole id of the session
---@param follower sessiond.Follower
---@return fun() unfollow ends the subscription
function M.follow(id, follower)
  local session = subscriptions[id]
  if session then
    session.followers[follower] = true
    if session.seq and follower.back then
      M.request('session/info', { sessionId = id }, function(err, result)
        if not err and session.followers[follower] then
          follower.back(result.session)
        end
      end)
    end
  else
    subscriptions[id] = { followers = { [follower] = true } }
    subscribe(id)
  end
  return function()
    M.unfollow(id, follower)
  end
end

---End the subscription of a follower.
---@param id string whole id of the session
---@param follower sessiond.Follower
function M.unfollow(id, follower)
  local session = subscriptions[id]
  if not session then
    return
  end
  session.followers[follower] = nil
  if next(session.followers) then
    return
  end
  subscriptions[id] = nil
  if connect.state().status == 'online' and not open_sessions[id] then
    M.request('session/unsubscribe', { sessionId = id })
  end
end

---Call a listener when the connection is made or lost, and for every notification. While there is one, the plugin
---reconnects after an outage.
---@param listener sessiond.ConnectionListener
function M.add_listener(listener)
  listeners[listener] = true
end

---Do not call a listener any more.
---@param listener sessiond.ConnectionListener
function M.remove_listener(listener)
  listeners[listener] = nil
end

---@param event 'connection_made'|'connection_lost'|'notified'
---@param ... any
local function call_listeners(event, ...)
  for _, listener in ipairs(vim.tbl_keys(listeners)) do
    if listeners[listener] then
      listener[event](listener, ...)
    end
  end
end

---Return whether anything in this Neovim needs a reconnection.
---@return boolean
function M.is_wanted()
  return next(subscriptions) ~= nil or next(open_sessions) ~= nil or next(listeners) ~= nil
end

---Return the seq of the last known line of a session.
---@param id string whole id of the session
---@return integer? seq nil: there is no subscription
function M.seq(id)
  return subscriptions[id] and subscriptions[id].seq
end

---Handle the loss of the connection (called by `sessiond.connect`).
function M.connection_lost()
  for id in pairs(subscriptions) do
    notify_followers(id, 'away')
  end
  call_listeners('connection_lost')
end

---Open and subscribe to the sessions again (called by `sessiond.connect`).
function M.connection_made()
  for id, how in pairs(open_sessions) do
    M.request('session/open', how, function(err)
      if err and not is_sent_again_later(err) then
        open_sessions[id] = nil
      end
    end, true)
  end
  for id in pairs(subscriptions) do
    subscribe(id)
  end
  call_listeners('connection_made')
end

---@type table<string, fun(note: table)>
local NOTES = {
  ['session/appended'] = function(note)
    local session = subscriptions[note.sessionId]
    if session then
      if session.seq and session.logId == note.logId and note.toSeq <= session.seq then
        return
      end
      -- Lines that the opening of the session sent may be sent again by a subscription that began meanwhile.
      session.logId, session.seq = note.logId, note.toSeq
      notify_followers(note.sessionId, 'appended', note)
    end
  end,
  ['session/leafMoved'] = function(note)
    notify_followers(note.sessionId, 'moved', note)
  end,
  ['session/changed'] = function(note)
    notify_followers(note.session.sessionId, 'changed', note.session)
  end,
  ['session/deleted'] = function(note)
    open_sessions[note.sessionId] = nil
    notify_followers(note.sessionId, 'gone', 'The session is in the trash.')
  end,
  ['session/restored'] = function(note)
    subscribe(note.session.sessionId)
  end,
  ['session/lagged'] = function(note)
    local session = subscriptions[note.sessionId]
    if session then
      session.logId, session.seq = note.logId, note.lastSeq
      subscribe(note.sessionId)
    end
  end,
}

---Notifications and their User autocommands.
---@type table<string, string>
M.EVENTS = {
  ['session/created'] = 'SessiondCreated',
  ['session/appended'] = 'SessiondAppended',
  ['session/leafMoved'] = 'SessiondLeafMoved',
  ['session/changed'] = 'SessiondChanged',
  ['session/deleted'] = 'SessiondDeleted',
  ['session/restored'] = 'SessiondRestored',
  ['session/contextFilled'] = 'SessiondContextFilled',
}

---Call a function; an error in it is logged, so that other receivers of the notification are called, too.
---@param method string
---@param call function
---@param ... any
local function call_guarded(method, call, ...)
  local ok, err = pcall(call, ...)
  if not ok then
    require('sessiond.log').warn(method .. ': ' .. tostring(err))
  end
end

---Handle a notification (called by `sessiond.connect`).
---@param method string
---@param note table
function M.notified(method, note)
  if NOTES[method] then
    call_guarded(method, NOTES[method], note)
  end
  call_guarded(method, call_listeners, 'notified', method, note)
  if M.EVENTS[method] then
    vim.api.nvim_exec_autocmds('User', { pattern = M.EVENTS[method], data = note, modeline = false })
  end
end

return M
