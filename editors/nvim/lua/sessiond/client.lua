---Asking the daemon, and following sessions: each by the seq of the last line that is known here, so that
---after an outage exactly what was missed comes in.
local M = {}

local connect = require('sessiond.connect')
local repeating = require('sessiond.repeating')

---@class sessiond.Follower callbacks for the changes of a session
---@field appended? fun(note: sessiond.AppendedNote)
---@field moved? fun(note: sessiond.LeafMovedNote)
---@field changed? fun(session: sessiond.SessionInfo)
---@field reload? fun() the session must be read again
---@field gone? fun(why: string) the session is no more: deleted, or lost with the daemon
---@field away? fun() the connection was lost
---@field back? fun(session: sessiond.SessionInfo) following (again)

---@class sessiond.Followed
---@field seq integer? of the last line that is known
---@field logId string? the log that `seq` is in
---@field followers table<sessiond.Follower, true>

---@type table<string, sessiond.Followed>
local followed = {}

---Sessions that this Neovim has open: a draft would go to the trash without it, so they are opened again.
---How each is opened: one that lies elsewhere is found by its path only.
---@type table<string, {sessionId: string?, path: string?}>
local keeps_open = {}

---@class sessiond.ConnectionListener
---@field connection_made fun(self: sessiond.ConnectionListener)
---@field connection_lost fun(self: sessiond.ConnectionListener)
---@field notified fun(self: sessiond.ConnectionListener, method: string, note: table) for every notification

---@type table<sessiond.ConnectionListener, true>
local listeners = {}

---Methods after which the session is open for us.
local OPENING = {
  ['session/create'] = true,
  ['session/open'] = true,
  ['session/continue'] = true,
  ['session/fork'] = true,
}

---@param value any
---@return any params as the wire wants them: an object
local function object(value)
  return value == nil and vim.empty_dict() or next(value) == nil and vim.empty_dict() or value
end

---@param method string
---@param params? table
---@param result any what the daemon answered
local function remember(method, params, result)
  if OPENING[method] and result then
    local id = result.session.sessionId
    local by_path = method == 'session/open' and params and params.path
    keeps_open[id] = by_path and { path = by_path } or { sessionId = id }
  end
end

---Send a request to the daemon, which is found or started first.
---
---A request that writes is sent once more if the connection ends before the response, and takes effect once. Any other
---request then fails: `err.data.kind` is `disconnected`. A request that a daemon refuses because it is about to end is
---sent to the next daemon, which is started for it, unless the request is `automatic`.
---@param method string
---@param params? table
---@param callback? fun(err: sessiond.RpcError?, result: any)
---@param automatic? boolean whether the plugin sends it by itself, and again after each reconnection
function M.request(method, params, callback, automatic)
  local named, is_repeatable = repeating.named(method, params)
  local function answered(err, result)
    if not err then
      remember(method, params, result)
    end
    if callback then
      callback(err, result)
    end
  end
  connect.ensure(function(err, connection)
    if not connection then
      answered(err or repeating.lost('no connection'))
      return
    end
    local function first(refused, result)
      local is_for_the_next = repeating.is_draining(refused) and not automatic
      local is_worth_repeating = is_for_the_next or (is_repeatable and repeating.is_loss(refused))
      if is_worth_repeating and vim.v.exiting == vim.NIL then
        repeating.again(method, object(named), answered)
      else
        answered(refused, result)
      end
    end
    if not connection:request(method, object(named), first) then
      first(repeating.lost('The connection to sessiond has just ended.'))
    end
  end)
end

---Ask the daemon and wait for the answer; events are handled meanwhile.
---@param method string
---@param params? table
---@param timeout? integer milliseconds
---@return any result or nil
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
        message = ('no answer to %s within %d ms'):format(method, timeout),
        data = { kind = 'timeout' },
      }
  end
  return result, err
end

---@param id string
---@param what 'appended'|'moved'|'changed'|'reload'|'gone'|'away'|'back'
---@param ... any
local function notify_followers(id, what, ...)
  local session = followed[id]
  for _, follower in ipairs(session and vim.tbl_keys(session.followers) or {}) do
    if follower[what] then
      follower[what](...)
    end
  end
end

---Whether an automatic request failed only because the daemon ended or is about to end.
---@param err sessiond.RpcError
---@return boolean
local function comes_again(err)
  return not err.data or err.data.kind == 'disconnected' or repeating.is_draining(err)
end

---@param id string
local function subscribe(id)
  local session = followed[id]
  if not session then
    return
  end
  M.request(
    'session/subscribe',
    { sessionId = id, after = session.seq and { logId = session.logId, seq = session.seq } },
    function(err, result)
      if followed[id] ~= session then
        return
      end
      if err then
        if not comes_again(err) then
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

---Follow a session from now on.
---@param id string whole id of the session
---@param follower sessiond.Follower
---@return fun() unfollow
function M.follow(id, follower)
  local session = followed[id]
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
    followed[id] = { followers = { [follower] = true } }
    subscribe(id)
  end
  return function()
    M.unfollow(id, follower)
  end
end

---@param id string
---@param follower sessiond.Follower
function M.unfollow(id, follower)
  local session = followed[id]
  if not session then
    return
  end
  session.followers[follower] = nil
  if next(session.followers) then
    return
  end
  followed[id] = nil
  if connect.state().status == 'online' and not keeps_open[id] then
    M.request('session/unsubscribe', { sessionId = id })
  end
end

---Call a listener when the connection is made or lost, and for every notification. While there is one, the plugin
---reconnects after an outage.
---@param listener sessiond.ConnectionListener
function M.add_listener(listener)
  listeners[listener] = true
end

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

---@return boolean whether anything here waits for the daemon's return
function M.is_wanted()
  return next(followed) ~= nil or next(keeps_open) ~= nil or next(listeners) ~= nil
end

---The seq of the last line of a followed session that is known here.
---@param id string
---@return integer?
function M.seq(id)
  return followed[id] and followed[id].seq
end

function M.connection_lost()
  for id in pairs(followed) do
    notify_followers(id, 'away')
  end
  call_listeners('connection_lost')
end

function M.connection_made()
  for id, how in pairs(keeps_open) do
    M.request('session/open', how, function(err)
      if err and not comes_again(err) then
        keeps_open[id] = nil
      end
    end, true)
  end
  for id in pairs(followed) do
    subscribe(id)
  end
  call_listeners('connection_made')
end

---@type table<string, fun(note: table)>
local NOTES = {
  ['session/appended'] = function(note)
    local session = followed[note.sessionId]
    if session then
      if session.seq and session.logId == note.logId and note.toSeq <= session.seq then
        return
      end
      -- What opening told already may be told again when following began meanwhile.
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
    keeps_open[note.sessionId] = nil
    notify_followers(note.sessionId, 'gone', 'The session is in the trash.')
  end,
  ['session/restored'] = function(note)
    subscribe(note.session.sessionId)
  end,
  ['session/lagged'] = function(note)
    local session = followed[note.sessionId]
    if session then
      session.logId, session.seq = note.logId, note.lastSeq
      subscribe(note.sessionId)
    end
  end,
}

---Notifications of sessions, and the User autocommand that each of them is.
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
