---The `vim.lsp` client, which uses the connection of the plugin and is attached to session files.
local M = {}

local name = 'sessiond'

---Buffers to which the client is attached, also after a reconnection.
---@type table<integer, true>
local buffers = {}

---The id of this client, in the `origin` of its changes.
local client_id = ('nvim-%d-%x'):format(vim.fn.getpid(), vim.uv.hrtime() % 0x7fffffff)

---Return the id of this client.
---@return string id as in `origin.clientId`
function M.client_id()
  return client_id
end

---Return the configuration of the client: that of `vim.lsp.config('sessiond', …)` with the fields of the plugin.
---@param cmd fun(dispatchers: vim.lsp.rpc.Dispatchers): vim.lsp.rpc.PublicClient
---@param ready fun(client: vim.lsp.Client, result: table)
---@return vim.lsp.ClientConfig
local function configuration(cmd, ready)
  local chosen = {}
  if vim.fn.has('nvim-0.11') == 1 then
    chosen = vim.deepcopy(vim.lsp.config[name] or {})
  end
  local on_init = chosen.on_init
  chosen.capabilities = chosen.capabilities or vim.lsp.protocol.make_client_capabilities()
  return vim.tbl_extend('force', chosen, {
    name = name,
    cmd = cmd,
    root_dir = vim.NIL,
    init_options = {
      sessiond = {
        protocolVersions = { 1 },
        clientId = client_id,
        terminal = require('sessiond.terminal').here(),
      },
    },
    on_init = function(client, result)
      for _, callback in ipairs(type(on_init) == 'table' and on_init or { on_init }) do
        callback(client, result)
      end
      ready(client, result)
    end,
  })
end

---Start the client on a connection.
---@param connection sessiond.Rpc
---@param dispatch {to: vim.lsp.rpc.Dispatchers?}
---@param ready fun(client: vim.lsp.Client, version: string?)
function M.start(connection, dispatch, ready)
  local config = configuration(function(dispatchers)
    dispatch.to = dispatchers
    return connection:client()
  end, function(client, result)
    ready(client, vim.tbl_get(result or {}, 'serverInfo', 'version'))
  end)
  config.root_dir = nil
  if vim.fn.has('nvim-0.11') == 1 then
    vim.lsp.start(config, {
      attach = false,
      reuse_client = function()
        return false
      end,
    })
  else
    vim.lsp.start_client(config)
  end
end

---Return whether a buffer has a session file: its first line is a header.
---@param buffer integer
---@return boolean
function M.is_session(buffer)
  local first = vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] or ''
  -- oh-my-pi writes a title line before the header.
  if first:find('^{"type": ?"title"') then
    first = vim.api.nvim_buf_get_lines(buffer, 1, 2, false)[1] or ''
  end
  return #first < 1e6 and first:find('"type"%s*:%s*"session"') ~= nil
end

---Attach to a buffer with a session file: now, or when the connection is made.
---@param buffer integer
function M.attach(buffer)
  if not require('sessiond.config').get().lsp or not M.is_session(buffer) then
    return
  end
  buffers[buffer] = true
  local state = require('sessiond.connect').state()
  if state.status == 'online' and state.lsp_id then
    vim.lsp.buf_attach_client(buffer, state.lsp_id)
  else
    require('sessiond.connect').ensure(function(err)
      if err then
        require('sessiond.log').info('the session file is shown without the daemon: ' .. err.message)
      end
    end)
  end
end

---Attach a new client to the buffers of the former one.
---@param id integer of the `vim.lsp` client
function M.reattach(id)
  for buffer in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.lsp.buf_attach_client(buffer, id)
    else
      buffers[buffer] = nil
    end
  end
end

---Return whether the client is attached to a buffer.
---@return boolean
function M.is_wanted()
  return next(buffers) ~= nil
end

return M
