---What lets a request that writes be sent again: the daemon carries out a request with a `commandId` once, and
---stores an entry with an id once, however often they are sent.
local M = {}

local connect = require('sessiond.connect')
local protocol = require('sessiond.protocol')
local rpc = require('sessiond.rpc')

---Milliseconds that a request whose answer was lost waits for a connection.
M.PATIENCE = 30000

---Milliseconds: the first pause before looking for one again, and the longest.
local FIRST_PAUSE, LONGEST_PAUSE = 200, 2000

local LOOK = 'Look whether it was done before you do it again.'

---What only the message or answer of a provider has; bare, it has no place for the id of an entry.
local OF_PROVIDERS = { 'role', 'choices', 'candidates', 'parts' }

---@param bytes integer
---@return string of hexadecimal characters, two for each byte
local function random(bytes)
  return (vim.uv.random(bytes):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

---@param value any
---@return boolean
local function is_there(value)
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
---@return boolean whether the entry is the bare message of a provider
local function is_bare(params, entry)
  if not is_there(params.format) or params.format == 'agent' then
    return false
  end
  return vim.iter(OF_PROVIDERS):any(function(name)
    return entry[name] ~= nil
  end)
end

---@param params table
---@return table params
---@return boolean repeatable
local function named_append(params)
  local all = true
  local entries = vim.tbl_map(function(entry)
    if is_bare(params, entry) then
      all = false
      return entry
    end
    return is_there(entry.id) and entry or with(entry, 'id', random(8))
  end, params.entries)
  return with(params, 'entries', entries), all
end

---Give a request what lets it be sent again, if it writes, and has nothing like it.
---@param method string
---@param params? table
---@return table? params as they are sent, each time the same
---@return boolean repeatable whether it takes effect once, however often it is sent
function M.named(method, params)
  if method == protocol.methods.sessionAppend and vim.tbl_get(params or {}, 'entries') then
    return named_append(params)
  end
  if not protocol.repeatable[method] then
    return params, false
  end
  params = params or {}
  -- An `id` beside the session is that of the line, and makes the request repeatable instead.
  if is_there(params.commandId) or (is_there(params.sessionId) and is_there(params.id)) then
    return params, true
  end
  return with(params, 'commandId', random(16)), true
end

---@param err sessiond.RpcError?
---@return boolean whether the connection ended before the reply
function M.is_loss(err)
  return err ~= nil and err.data ~= nil and err.data.kind == rpc.DISCONNECTED
end

---@param message string
---@return sessiond.RpcError
function M.lost(message)
  return { code = -32000, message = message, data = { kind = rpc.DISCONNECTED, retryable = true } }
end

---@param err sessiond.RpcError?
---@return boolean whether the daemon did nothing, because it is about to end
function M.is_draining(err)
  return err ~= nil and err.data ~= nil and err.data.kind == 'draining'
end

---Send again what was sent once: over the next connection, which is looked for until `M.PATIENCE` is over. If that
---connection is lost as well, it is not sent a third time, for it may be what daemons die of.
---@param method string
---@param params table
---@param callback fun(err: sessiond.RpcError?, result: any)
function M.again(method, params, callback)
  local deadline = vim.uv.now() + M.PATIENCE
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
          if M.is_loss(refused) then
            refused = M.lost('The connection to sessiond ended twice before the answer. ' .. LOOK)
          end
          callback(refused, result)
        end)
      if sent then
        return
      end
      if vim.uv.now() >= deadline then
        local why = err and (' (' .. err.message .. ')') or ''
        callback(M.lost('sessiond ended before it answered, and is not back' .. why .. '. ' .. LOOK))
        return
      end
      later()
    end)
  end
  -- Those who wait are told before the connection counts as lost.
  vim.schedule(attempt)
end

return M
