---The connection of this Neovim to the daemon: made on demand, and made again after an outage.
---
---A request starts the daemon if it does not run. A reconnection does not, since the user may have stopped the daemon.
---`vim.lsp` does not connect by itself, because its clients do not reconnect.
local M = {}

local log = require('sessiond.log')
local locations = require('sessiond.locations')
local rpc = require('sessiond.rpc')

local uv = vim.uv

---@alias sessiond.ConnectionStatus 'offline'|'connecting'|'online'

---Maximum milliseconds of a handshake.
M.HANDSHAKE_TIMEOUT = 30000

---Milliseconds: the first and the longest pause before an attempt to reconnect.
local FIRST_PAUSE, LONGEST_PAUSE = 200, 2000

---Return a function that returns the milliseconds to wait before each next attempt: twice the last pause, up to a maximum.
---@return fun(): integer
function M.pauses()
  local pause = FIRST_PAUSE
  return function()
    local this = pause
    pause = math.min(pause * 2, LONGEST_PAUSE)
    return this
  end
end

---@class sessiond.Connection
---@field status sessiond.ConnectionStatus
---@field rpc sessiond.Rpc?
---@field handshake sessiond.HelloResult?
---@field version string? of the daemon
---@field lsp_id integer? of the `vim.lsp` client
---@field problem string? why there is no connection
---@field outages integer how often the connection was lost
---@field attempts integer how often the plugin tried to reconnect since the last loss
local state = { status = 'offline', outages = 0, attempts = 0 }

---@type (fun(err: sessiond.RpcError?, rpc: sessiond.Rpc?))[]
local waiting = {}
local next_pause = M.pauses()
local is_scheduled = false -- a timer for the next attempt runs
local may_start = false -- a request was made since the last failure
local is_outage_notified = false
local is_loss_expected = false -- the next loss of the connection was requested

---Return the state of the connection. Callers do not change it.
---@return sessiond.Connection
function M.state()
  return state
end

---@param name string
---@param data? table
local function emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, data = data or {}, modeline = false })
end

---Return whether the connected daemon has a method.
---@param method string
---@return boolean
function M.has(method)
  return state.handshake ~= nil and vim.tbl_contains(state.handshake.methods or {}, method)
end

---@param problem string
---@return sessiond.RpcError
local function no_connection(problem)
  return { code = -32000, message = problem, data = { kind = rpc.DISCONNECTED, retryable = true } }
end

---@param err sessiond.RpcError?
---@param connection sessiond.Rpc?
local function call_waiting(err, connection)
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(err, connection)
  end
end

---Return the command of the daemon.
---@return string[]? command nil: it cannot be run
---@return string? problem why
function M.command()
  local chosen = require('sessiond.config').get().command
  local command = chosen or { 'sessiond' }
  if vim.fn.executable(command[1]) == 1 then
    return command
  end
  return nil,
    chosen and ('`command` names %s, which is not an executable program'):format(command[1])
      or 'the command `sessiond` is not on the PATH: install it (pip install sessiond), or set vim.g.sessiond = { command = { "/path/to/sessiond" } }'
end

---Try to connect after a pause, if anything in this Neovim needs the daemon.
local function schedule_attempt()
  if is_scheduled or vim.v.exiting ~= vim.NIL then
    return
  end
  if not (require('sessiond.client').is_wanted() or require('sessiond.lsp').is_wanted()) then
    return
  end
  is_scheduled = true
  vim.defer_fn(function()
    is_scheduled = false
    state.attempts = state.attempts + 1
    if state.status == 'offline' then
      M.attempt()
    end
  end, next_pause())
end

---@param problem string
local function failed(problem)
  state.status, state.problem = 'offline', problem
  log.warn(problem)
  call_waiting(no_connection(problem))
  emit('SessiondStatus')
  if state.outages > 0 then
    schedule_attempt()
  end
end

---@param reason string
local function lost(reason)
  local was = state.status
  state.status, state.rpc, state.handshake, state.lsp_id = 'offline', nil, nil, nil
  state.problem = 'The connection was lost: ' .. reason
  log.info(state.problem)
  if was ~= 'online' then
    state.outages = math.max(state.outages, 1)
    failed('The daemon closed the connection during the handshake: ' .. reason)
    return
  end
  state.outages, state.attempts = state.outages + 1, 0
  if vim.v.exiting ~= vim.NIL then
    return
  end
  require('sessiond.client').connection_lost()
  emit('SessiondDetach', { reason = reason })
  emit('SessiondStatus')
  if not is_loss_expected and not is_outage_notified and require('sessiond.config').get().notify then
    is_outage_notified = true
    log.notify('the daemon is away; the plugin reconnects when it is back', vim.log.levels.WARN)
  end
  pause = FIRST_PAUSE
  schedule_attempt()
end

---@param connection sessiond.Rpc
---@param client vim.lsp.Client
---@param version string?
local function attached(connection, client, version)
  state.status, state.rpc, state.lsp_id, state.problem = 'online', connection, client.id, nil
  state.handshake = vim.tbl_get(client.server_capabilities or {}, 'experimental', 'sessiond')
  state.version = version
  next_pause, is_loss_expected = M.pauses(), false
  log.info(('attached to the daemon %s'):format(version or '?'))
  if is_outage_notified then
    is_outage_notified = false
    log.notify('the daemon is back')
  end
  require('sessiond.client').connection_made()
  require('sessiond.lsp').reattach(client.id)
  call_waiting(nil, connection)
  emit('SessiondAttach', { version = version, epoch = state.handshake and state.handshake.epoch })
  emit('SessiondStatus')
end

---Perform the handshake on a new connection.
---@param connection sessiond.Rpc
---@param dispatch {to: vim.lsp.rpc.Dispatchers?} filled in when vim.lsp takes the connection
local function shake_hands(connection, dispatch)
  local done = false
  vim.defer_fn(function()
    if not done and not connection.closing then
      connection:close(('no response to the handshake within %.1f s'):format(M.HANDSHAKE_TIMEOUT / 1000))
    end
  end, M.HANDSHAKE_TIMEOUT)
  require('sessiond.lsp').start(connection, dispatch, function(client, version)
    done = true
    attached(connection, client, version)
  end)
end

---@param paths string[]
---@param index integer
---@param none fun(err: string) called if no process listens at any of them
local function dial(paths, index, none)
  local path = paths[index]
  local unsafe = locations.unsafe(path)
  if unsafe then
    failed('The socket cannot be used: ' .. unsafe)
    return
  end
  ---@type {to: vim.lsp.rpc.Dispatchers?}
  local dispatch = {}
  rpc.connect(path, {
    notified = function(method, params)
      require('sessiond.client').notified(method, params)
      if dispatch.to then
        dispatch.to.notification(method, params)
      end
    end,
    request = function(method, params)
      return dispatch.to.server_request(method, params)
    end,
    closed = function(reason)
      if dispatch.to then
        dispatch.to.on_exit(0, 0)
      end
      lost(reason)
    end,
  }, function(err, connection)
    if connection then
      shake_hands(connection, dispatch)
    elseif err:find('EAGAIN') then
      -- The daemon listens and is busy: do not start another one.
      vim.defer_fn(function()
        dial(paths, index, none)
      end, 50)
    elseif paths[index + 1] then
      dial(paths, index + 1, none)
    else
      none(err)
    end
  end)
end

---@param none fun(err: string)
local function start(none)
  local command, problem = M.command()
  if not command then
    failed('sessiond cannot be started: ' .. problem)
    return
  end
  log.info('starting the daemon: ' .. table.concat(command, ' '))
  local full = vim.list_extend(vim.deepcopy(command), { 'serve', '--detach' })
  local ok, err = pcall(
    vim.system,
    full,
    { text = true, env = { SESSIOND_HOME = locations.home() } },
    function(done)
      vim.schedule(function()
        if done.code == 0 then
          dial(locations.sockets(), 1, none)
        else
          failed(
            'sessiond could not be started: '
              .. vim.trim(done.stderr ~= '' and done.stderr or done.stdout or '')
          )
        end
      end)
    end
  )
  if not ok then
    failed('sessiond could not be started: ' .. tostring(err))
  end
end

---Try to connect once. If a request waits, the daemon is started if it does not run.
function M.attempt()
  if state.status ~= 'offline' then
    return
  end
  state.status = 'connecting'
  emit('SessiondStatus')
  local function not_listening(err)
    if may_start and #waiting > 0 then
      may_start = false
      start(function(again)
        failed('sessiond was started, but does not accept connections: ' .. again)
      end)
    else
      failed('sessiond is not running (' .. err .. ')')
    end
  end
  dial(locations.sockets(), 1, not_listening)
end

---Call a function with the connection, which is made first if there is none.
---@param callback fun(err: sessiond.RpcError?, rpc: sessiond.Rpc?)
function M.ensure(callback)
  if state.status == 'online' then
    callback(nil, state.rpc)
    return
  end
  waiting[#waiting + 1] = callback
  may_start = require('sessiond.config').get().autostart and not uv.os_getenv('SESSIOND_NO_AUTOSTART')
  M.attempt()
end

---Do not notify the user of the next loss of the connection, because this Neovim causes it.
function M.expect_loss()
  is_loss_expected = true
end

---End the connection and connect again.
---@param callback fun(err: sessiond.RpcError?)
function M.reconnect(callback)
  local before = state.rpc
  if before then
    M.expect_loss()
    before:close('the client closed it')
  end
  vim.schedule(function()
    M.ensure(callback)
  end)
end

return M
