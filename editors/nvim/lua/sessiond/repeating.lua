---Repeats of requests that write. The daemon executes a request with a `commandId` once and stores an entry with an id
---once, however often they are sent.
local M = {}

local connect = require('sessiond.connect')
local protocol = require('sessiond.protocol')
local rpc = require('sessiond.rpc')

---Milliseconds that a request whose response was lost waits for a connection.
M.RECONNECT_TIMEOUT = 30000

---Milliseconds: the first and the longest pause before the next attempt.
local FIRST_PAUSE, LONGEST_PAUSE = 200, 2000

local CHECK = 'Check whether it took effect before you repeat it.'

---Fields that only a message or response of a provider has. Such a message has no field for the id of an entry.
local PROVIDER_FIELDS = { 'role', 'choices', 'candidates', 'parts' }

---@param bytes integer
---@return string of hexadecimal characters, two for each byte
local function random(bytes)
  return (vim.uv.random(bytes):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

---@param value any
---@return boolean
local function is_present(value)
  return value ~= nil and value ~= vim.NIL
end

---@param value table
---@param name string
---@param field any
---@return table value with one field more
local function with(value, name, field)
  return vim.tbl_extend('force', value, { [name] = field })
end

---@param params table
---@param entry table
---@return boolean whether the entry is a message of a provider alone
local function is_provider_message(params, entry)
  if not is_present(params.format) or params.format == 'agent' then
    return false
  end
  return vim.iter(PROVIDER_FIELDS):any(function(name)
    return entry[name] ~= nil
  end)
end

---@param params table
---@return table params
---@return boolean is_repeatable
local function repeatable_append(params)
  local all = true
  local entries = vim.tbl_map(function(entry)
    if is_provider_message(params, entry) then
      all = false
      return entry
    end
    return is_present(entry.id) and entry or with(entry, 'id', random(8))
  end, params.entries)
  return with(params, 'entries', entries), all
end

---Add the ids to the params of a request that make it repeatable, if it writes and has none.
---@param method string
---@param params? table
---@return table? params the same for each repeat
---@return boolean is_repeatable whether the request takes effect once, however often it is sent
function M.repeatable_params(method, params)
  if method == protocol.methods.sessionAppend and vim.tbl_get(params or {}, 'entries') then
    return repeatable_append(params)
  end
  if not protocol.repeatable[method] then
    return params, false
  end
  params = params or {}
  -- An `id` beside `sessionId` is the id of the line, and makes the request repeatable, too.
  if is_present(params.commandId) or (is_present(params.sessionId) and is_present(params.id)) then
    return params, true
  end
  return with(params, 'commandId', random(16)), true
end

---Return whether the connection ended before the response.
---@param err sessiond.RpcError?
---@return boolean
function M.is_disconnected(err)
  return err ~= nil and err.data ~= nil and err.data.kind == rpc.DISCONNECTED
end

---Return the error of a request whose connection ended before the response.
---@param message string
---@return sessiond.RpcError
function M.disconnected(message)
  return { code = -32000, message = message, data = { kind = rpc.DISCONNECTED, retryable = true } }
end

---Return whether the daemon refused the request because it is about to stop.
---@param err sessiond.RpcError?
---@return boolean
function M.is_draining(err)
  return err ~= nil and err.data ~= nil and err.data.kind == 'draining'
end

---Send a request once more, on the next connection within `M.RECONNECT_TIMEOUT`. If that connection is lost, too, the
---request fails, because it may be the request that ends the daemon.
---@param method string
---@param params table
---@param callback fun(err: sessiond.RpcError?, result: any)
function M.send_again(method, params, callback)
  local deadline = vim.uv.now() + M.RECONNECT_TIMEOUT
  local pause = FIRST_PAUSE
  local attempt
  local function later()
    vim.defer_fn(attempt, pause)
    pause = math.min(pause * 2, LONGEST_PAUSE)
  end
  function attempt()
    connect.ensure(function(err, connection)
      local sent = connection
        and connection:request(method, params, function(refused, result)
          if M.is_draining(refused) and vim.uv.now() < deadline then
            later()
            return
          end
          if M.is_disconnected(refused) then
            refused = M.disconnected('The connection to sessiond ended twice before the response. ' .. CHECK)
          end
          callback(refused, result)
        end)
      if sent then
        return
      end
      if vim.uv.now() >= deadline then
        local why = err and (' (' .. err.message .. ')') or ''
        callback(M.disconnected('sessiond ended before the response, and is not back' .. why .. '. ' .. CHECK))
        return
      end
      later()
    end)
  end
  -- Requests fail before the connection counts as lost.
  vim.schedule(attempt)
end

return M
