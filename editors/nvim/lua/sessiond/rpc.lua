---JSON-RPC 2.0 over a unix socket, with the framing of LSP. It knows nothing of sessions.
---
---A connection is used by the plugin and by `vim.lsp`, whose transport is `client()`. Every callback is called exactly
---once, on the main loop, in the order of the messages. When the connection ends, the requests in flight fail.
local M = {}

local uv = vim.uv

---@class sessiond.RpcError
---@field code integer
---@field message string
---@field data? {kind: string, retryable?: boolean, [string]: any}

---@class sessiond.RpcHandlers
---@field notified fun(method: string, params: table)
---@field request fun(method: string, params: table): any, sessiond.RpcError? handles a request of the daemon
---@field closed fun(reason: string)

---@class sessiond.Rpc
---@field private pipe uv.uv_pipe_t
---@field private handlers sessiond.RpcHandlers
---@field private waiting table<integer, fun(err: sessiond.RpcError?, result: any)>
---@field private replied table<integer, fun(id: integer)>
---@field private last_id integer
---@field private pieces string[]
---@field private gathered integer bytes in `pieces`
---@field private body_length integer? bytes of the body that is being read
---@field private inbox string[] received bodies that the main loop has not handled
---@field private reading boolean whether the main loop is scheduled to handle them
---@field closing boolean
local Rpc = {}
Rpc.__index = Rpc

---The error kind of a request whose connection ended before the response.
M.DISCONNECTED = 'disconnected'

---Decode a message. Nulls are absent from the tables.
---@param body string
---@return boolean ok
---@return any message or the error
function M.decode(body)
  local options = { luanil = { object = true, array = true } }
  local ok, message = pcall(vim.json.decode, body, options)
  if not ok and body:find('\\u[dD][89a-fA-F]') then
    -- Half a surrogate pair is legal JSON and occurs in transcripts, but the decoder refuses it.
    local whole = {}
    body = body:gsub('\\u[dD][89abAB]%x%x\\u[dD][c-fC-F]%x%x', function(pair)
      whole[#whole + 1] = pair
      return ('\1%d\1'):format(#whole)
    end)
    body = body:gsub('\\u[dD][89a-fA-F]%x%x', '\\ufffd'):gsub('\1(%d+)\1', function(number)
      return whole[tonumber(number)]
    end)
    ok, message = pcall(vim.json.decode, body, options)
  end
  return ok, message
end

---Connect to a socket.
---@param path string
---@param handlers sessiond.RpcHandlers
---@param callback fun(err: string?, rpc: sessiond.Rpc?) on the main loop; `err` as ECONNREFUSED
function M.connect(path, handlers, callback)
  local pipe = assert(uv.new_pipe(false))
  callback = vim.schedule_wrap(callback)
  local ok, problem = pcall(pipe.connect, pipe, path, function(err)
    if err then
      pipe:close()
      callback(err)
      return
    end
    local rpc = setmetatable({
      pipe = pipe,
      handlers = handlers,
      waiting = {},
      replied = {},
      last_id = 0,
      pieces = {},
      gathered = 0,
      inbox = {},
      reading = false,
      closing = false,
    }, Rpc)
    rpc:read()
    callback(nil, rpc)
  end)
  if not ok then
    pipe:close()
    callback(tostring(problem))
  end
end

---@private
function Rpc:read()
  self.pipe:read_start(function(err, chunk)
    if err or not chunk then
      self:ended(err or 'the daemon closed the connection')
      return
    end
    self:receive(chunk)
  end)
end

---Split received bytes into bodies. Runs outside the main loop.
---@private
---@param chunk string
function Rpc:receive(chunk)
  self.pieces[#self.pieces + 1] = chunk
  self.gathered = self.gathered + #chunk
  while true do
    if self.body_length and self.gathered < self.body_length then
      return
    end
    local bytes = #self.pieces == 1 and self.pieces[1] or table.concat(self.pieces)
    local body
    if self.body_length then
      body, bytes = bytes:sub(1, self.body_length), bytes:sub(self.body_length + 1)
      self.body_length = nil
    else
      local _, stop = bytes:find('\r\n\r\n', 1, true)
      if stop then
        local length = bytes:sub(1, stop):lower():match('content%-length: *(%d+)')
        if not length then
          self:ended('the daemon sent bytes that are not a message')
          return
        end
        self.body_length, bytes = tonumber(length), bytes:sub(stop + 1)
      end
    end
    self.pieces, self.gathered = { bytes }, #bytes
    if body then
      self:deliver(body)
    elseif not self.body_length then
      return
    end
  end
end

---@private
---@param body string
function Rpc:deliver(body)
  self.inbox[#self.inbox + 1] = body
  if self.reading then
    return
  end
  self.reading = true
  vim.schedule(function()
    self.reading = false
    local bodies = self.inbox
    self.inbox = {}
    for _, each in ipairs(bodies) do
      self:handle(each)
    end
  end)
end

---@private
---@param body string
function Rpc:handle(body)
  local ok, message = M.decode(body)
  if not ok or type(message) ~= 'table' then
    require('sessiond.log').warn('a message of the daemon cannot be decoded: ' .. tostring(message))
    -- Its request must not wait forever.
    local id = tonumber(body:sub(1, 200):match('"id":%s*(%d+)'))
    if id then
      self:answered(
        id,
        { code = -32700, message = 'The response of the daemon cannot be decoded.', data = { kind = 'parse' } }
      )
    end
  elseif message.method and message.id ~= nil then
    self:answer(message)
  elseif message.method then
    self.handlers.notified(message.method, message.params or {})
  elseif type(message.id) == 'number' then
    self:answered(message.id, message.error, message.result)
  end
end

---@private
---@param id integer of the request
---@param err sessiond.RpcError?
---@param result any
function Rpc:answered(id, err, result)
  local callback, replied = self.waiting[id], self.replied[id]
  self.waiting[id], self.replied[id] = nil, nil
  if replied then
    replied(id)
  end
  if callback then
    callback(err, result)
  end
end

---@private
---@param message table a request of the daemon
function Rpc:answer(message)
  coroutine.wrap(function()
    local ok, result, err = pcall(self.handlers.request, message.method, message.params or {})
    if not ok then
      result, err = nil, { code = -32603, message = tostring(result) }
    end
    if result == nil and not err then
      result = vim.NIL
    end
    self:send({ jsonrpc = '2.0', id = message.id, result = result, error = err })
  end)()
end

---@private
---@param message table
---@return boolean sent
function Rpc:send(message)
  if self.closing then
    return false
  end
  local body = vim.json.encode(message)
  self.pipe:write(('Content-Length: %d\r\n\r\n%s'):format(#body, body), function(err)
    if err then
      self:ended(err)
    end
  end)
  return true
end

---Send a request.
---@param method string
---@param params any
---@param callback fun(err: sessiond.RpcError?, result: any)
---@return boolean sent false: the connection has ended, and the callback is not called
---@return integer? id
function Rpc:request(method, params, callback)
  self.last_id = self.last_id + 1
  local id = self.last_id
  if not self:send({ jsonrpc = '2.0', id = id, method = method, params = params }) then
    return false
  end
  self.waiting[id] = callback
  return true, id
end

---Send a notification.
---@param method string
---@param params any
---@return boolean sent
function Rpc:notify(method, params)
  return self:send({ jsonrpc = '2.0', method = method, params = params })
end

---End the connection. The requests in flight fail with `reason`.
---@param reason string
function Rpc:close(reason)
  self:ended(reason)
end

---@private
---@param reason string
function Rpc:ended(reason)
  if self.closing then
    return
  end
  self.closing = true
  if not self.pipe:is_closing() then
    self.pipe:close()
  end
  vim.schedule(function()
    local waiting = self.waiting
    self.waiting, self.replied = {}, {}
    local err = {
      code = -32000,
      message = 'The connection to sessiond ended: ' .. reason,
      data = { kind = M.DISCONNECTED, retryable = true },
    }
    for _, id in ipairs(vim.fn.sort(vim.tbl_keys(waiting), 'N')) do
      waiting[id](err)
    end
    self.handlers.closed(reason)
  end)
end

---Return the transport of this connection for `vim.lsp`.
---@return vim.lsp.rpc.PublicClient
function Rpc:client()
  return {
    request = function(method, params, callback, replied)
      local sent, id = self:request(method, params, function(err, result)
        -- vim.lsp drops its requests when a client exits, and reports an error of `initialize` as a defect.
        if not (err and err.data and err.data.kind == M.DISCONNECTED) then
          callback(err, result)
        end
      end)
      if sent and replied then
        self.replied[id] = replied
      end
      return sent, id
    end,
    notify = function(method, params)
      return self:notify(method, params)
    end,
    is_closing = function()
      return self.closing
    end,
    terminate = function()
      self:ended('the client closed it')
    end,
  }
end

return M
