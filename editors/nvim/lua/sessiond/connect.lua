---The one connection of this Neovim: found or started on demand, and looked for again when it was lost.
---
---`vim.lsp` never connects by itself, since a client of its own stays dead when the daemon ends. Who asks for
---something starts the daemon; who only waits for its return does not, for somebody may have stopped it.
local M = {}

local log = require('sessiond.log')
local places = require('sessiond.places')
local rpc = require('sessiond.rpc')

local uv = vim.uv

---@alias sessiond.ConnectionStatus 'offline'|'connecting'|'online'

---Milliseconds that one handshake may take.
M.PATIENCE = 30000

---Milliseconds: the first pause before looking again, and the longest.
local FIRST_PAUSE, LONGEST_PAUSE = 100, 2000

---@class sessiond.Connection
---@field status sessiond.ConnectionStatus
---@field rpc sessiond.Rpc?
---@field handshake sessiond.HelloResult?
---@field version string? of the daemon
---@field lsp_id integer? of the `vim.lsp` client
---@field problem string? why there is no connection
---@field outages integer how often it was lost
---@field looks integer how often the daemon was looked for since then
local state = { status = 'offline', outages = 0, looks = 0 }

---@type (fun(err: sessiond.RpcError?, rpc: sessiond.Rpc?))[]
local waiting = {}
local pause = FIRST_PAUSE
local looking = false -- a timer for the next look runs
local may_start = false -- a request was made since the last failure
local outage_told = false
local expected = false -- the next loss of the connection was requested

---What became of the connection; read only.
---@return sessiond.Connection
function M.state()
  return state
end

---@param name string
---@param data? table
local function emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, data = data or {}, modeline = false })
end

---@param method string
---@return boolean whether the daemon that we are connected to has this method
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
local function answer_all(err, connection)
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(err, connection)
  end
end

---@return string[]? command
---@return string? problem
function M.command()
  local chosen = require('sessiond.config').get().command
  local command = chosen or { 'sessiond' }
  if vim.fn.executable(command[1]) == 1 then
    return command
  end
  return nil,
    chosen and ('`command` names %s, which is no program that can be run'):format(command[1])
      or 'there is no command `sessiond` on the PATH: install it (pip install sessiond), or name it: vim.g.sessiond = { command = { "/path/to/sessiond" } }'
end

---Look for the daemon after a pause, if anything here waits for its return.
local function look_again()
  if looking or vim.v.exiting ~= vim.NIL then
    return
  end
  if not (require('sessiond.client').is_wanted() or require('sessiond.lsp').is_wanted()) then
    return
  end
  looking = true
  vim.defer_fn(function()
    looking = false
    state.looks = state.looks + 1
    if state.status == 'offline' then
      M.attempt()
    end
  end, pause)
  pause = math.min(pause * 2, LONGEST_PAUSE)
end

---@param problem string
local function failed(problem)
  state.status, state.problem = 'offline', problem
  log.warn(problem)
  answer_all(no_connection(problem))
  emit('SessiondStatus')
  if state.outages > 0 then
    look_again()
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
    failed('The daemon took the connection and ended it: ' .. reason)
    return
  end
  state.outages, state.looks = state.outages + 1, 0
  if vim.v.exiting ~= vim.NIL then
    return
  end
  require('sessiond.client').connection_lost()
  emit('SessiondDetach', { reason = reason })
  emit('SessiondStatus')
  if not expected and not outage_told and require('sessiond.config').get().notify then
    outage_told = true
    log.notify('the daemon is away; everything goes on when it is back', vim.log.levels.WARN)
  end
  pause = FIRST_PAUSE
  look_again()
end

---@param connection sessiond.Rpc
---@param client vim.lsp.Client
---@param version string?
local function attached(connection, client, version)
  state.status, state.rpc, state.lsp_id, state.problem = 'online', connection, client.id, nil
  state.handshake = vim.tbl_get(client.server_capabilities or {}, 'experimental', 'sessiond')
  state.version = version
  pause, expected = FIRST_PAUSE, false
  log.info(('attached to the daemon %s'):format(version or '?'))
  if outage_told then
    outage_told = false
    log.notify('the daemon is back')
  end
  require('sessiond.client').connection_made()
  require('sessiond.lsp').reattach(client.id)
  answer_all(nil, connection)
  emit('SessiondAttach', { version = version, epoch = state.handshake and state.handshake.epoch })
  emit('SessiondStatus')
end

---Greet over a connection that stands.
---@param connection sessiond.Rpc
---@param dispatch {to: vim.lsp.rpc.Dispatchers?} filled in when vim.lsp takes the connection
local function greet(connection, dispatch)
  local done = false
  vim.defer_fn(function()
    if not done and not connection.closing then
      connection:close(('no answer to the greeting for %.1f s'):format(M.PATIENCE / 1000))
    end
  end, M.PATIENCE)
  require('sessiond.lsp').start(connection, dispatch, function(client, version)
    done = true
    attached(connection, client, version)
  end)
end

---@param paths string[]
---@param index integer
---@param none fun(err: string) no process listens at any of them
local function knock(paths, index, none)
  local path = paths[index]
  local unsafe = places.unsafe(path)
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
      greet(connection, dispatch)
    elseif err:find('EAGAIN') then
      -- A busy daemon listens: do not start another one.
      vim.defer_fn(function()
        knock(paths, index, none)
      end, 50)
    elseif paths[index + 1] then
      knock(paths, index + 1, none)
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
    { text = true, env = { SESSIOND_HOME = places.home() } },
    function(done)
      vim.schedule(function()
        if done.code == 0 then
          knock(places.sockets(), 1, none)
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

---Look for the daemon once; start it when somebody waits for an answer.
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
        failed('sessiond was started, but cannot be reached: ' .. again)
      end)
    else
      failed('sessiond is not running (' .. err .. ')')
    end
  end
  knock(places.sockets(), 1, not_listening)
end

---Have a connection.
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

---The daemon is about to be stopped from here: nobody needs to be told that it is away.
function M.expect_loss()
  expected = true
end

---End the connection and connect again.
---@param callback fun(err: sessiond.RpcError?)
function M.reconnect(callback)
  local before = state.rpc
  if before then
    M.expect_loss()
    before:close('it was ended here')
  end
  vim.schedule(function()
    M.ensure(callback)
  end)
end

return M
