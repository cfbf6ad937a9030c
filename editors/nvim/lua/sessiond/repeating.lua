---Repeats of requests that write. The daemon executes a request with a `commandId` once and stores an entry with an id
---once, however often they are sent.
local M = {}

local connect = require('sessiond.connect')
local protocol = require('sessiond.protocol')
local rpc = require('sessiond.rpc')

---Milliseconds that a request whose response was lost waits for a connection.
M.RECONNECT_TIMEOUT = 30000

local CHECK = 'Check whether it took effect before you repeat it.'

---Fields that only a message or response of a provider has, and no entry with a `message`.
local PROVIDER_FIELDS = { 'role', 'choices', 'candidates', 'parts' }

---The methods that the `id` of their line makes repeatable, too.
local WITH_ID_OF_LINE = { ['state/update'] = true, ['state/beginTask'] = true }

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
---@param item table
---@return boolean whether it has a field for the id of an entry; the `id` of a provider's message is another one
local function can_have_id(params, item)
  if params.format == nil or params.format == 'agent' then
    return true
  end
  return item.message ~= nil
    and not vim.iter(PROVIDER_FIELDS):any(function(name)
      return item[name] ~= nil
    end)
end

---@param params table
---@return table params
---@return boolean is_repeatable
local function repeatable_append(params)
  local all = #params.entries > 0
  local entries = vim.tbl_map(function(entry)
    if not can_have_id(params, entry) then
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
  if is_present(params.commandId) or (WITH_ID_OF_LINE[method] and is_present(params.id)) then
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

---Send a request again, on the next connection within `M.RECONNECT_TIMEOUT`, and as often as a daemon refuses it because
---it is about to stop. A request whose response was lost twice fails, because it may be the one that ends the daemon.
---@param method string
---@param params table
---@param may_repeat boolean whether it may be sent once more if the connection ends before the response
---@param callback fun(err: sessiond.RpcError?, result: any)
function M.send_again(method, params, may_repeat, callback)
  local deadline = vim.uv.now() + M.RECONNECT_TIMEOUT
  local next_pause = connect.pauses()
  local attempt
  local function later()
    vim.defer_fn(attempt, next_pause())
  end
  function attempt()
    connect.ensure(function(err, connection)
      local sent = connection
        and connection:request(method, params, function(refused, result)
          if M.is_draining(refused) and vim.uv.now() < deadline then
            later()
          elseif M.is_disconnected(refused) and may_repeat then
            may_repeat = false
            later()
          elseif M.is_disconnected(refused) then
            callback(M.disconnected('The connection to sessiond ended before the response. ' .. CHECK))
          else
            callback(refused, result)
          end
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
