---The LSP side: one `vim.lsp` client over the plugin's own connection, attached to files that are sessions.
local M = {}

local name = 'sessiond'

---Buffers that the client is for; kept over a loss of the connection.
---@type table<integer, true>
local buffers = {}

---Name under which this Neovim's changes come back to it.
local client_id = ('nvim-%d-%x'):format(vim.fn.getpid(), vim.uv.hrtime() % 0x7fffffff)

---@return string as `origin.clientId` has it
function M.client_id()
  return client_id
end

---What a person may override with `vim.lsp.config('sessiond', …)`, and what is ours.
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

---Start the client over a connection that stands.
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

---@param buffer integer
---@return boolean whether the buffer holds a session: its first line is a header
function M.is_session(buffer)
  local first = vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] or ''
  -- oh-my-pi writes a title slot before the header.
  if first:find('^{"type": ?"title"') then
    first = vim.api.nvim_buf_get_lines(buffer, 1, 2, false)[1] or ''
  end
  return #first < 1e6 and first:find('"type"%s*:%s*"session"') ~= nil
end

---Attach to a buffer, now or when there is a connection.
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
        require('sessiond.log').info('a session file is shown without the daemon: ' .. err.message)
      end
    end)
  end
end

---@param id integer of the `vim.lsp` client that has just been made
function M.reattach(id)
  for buffer in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.lsp.buf_attach_client(buffer, id)
    else
      buffers[buffer] = nil
    end
  end
end

---@return boolean whether something of this Neovim is attached to a buffer
function M.is_wanted()
  return next(buffers) ~= nil
end

return M
