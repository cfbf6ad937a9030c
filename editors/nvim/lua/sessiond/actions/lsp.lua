---A language server inside Neovim for the plugin's own buffers. It offers code actions for the entry under the cursor,
---and an outline, so that `gra` and `gO` work there as in any other buffer.
local M = {}

local name = 'sessiond-actions'

---@type {[1]: string, [2]: string}[] title and function of `sessiond.actions`
M.OFFERED = {
  { 'Move the leaf here', 'branch' },
  { 'Move the leaf here, and summarize the branch it leaves', 'branch_summary' },
  { 'Fork the path to here into a new session', 'fork' },
  { 'Label this entry', 'label' },
  { 'Append a message here', 'append' },
  { 'Show the context here', 'context' },
  { 'Copy the id', 'copy_id' },
  { 'Copy the text', 'copy_text' },
}

---@param params {textDocument: {uri: string}, range?: lsp.Range, position?: lsp.Position}
---@return string? id of the session
---@return string? entry
local function at(params)
  local buffer = vim.uri_to_bufnr(params.textDocument.uri)
  local view = require('sessiond.tree.view').of(buffer)
  if view then
    local row = view.canvas.rows.list[(params.range and params.range.start or params.position).line + 1]
    return view.id, row and row.id
  end
  return vim.b[buffer].sessiond_session, vim.b[buffer].sessiond_entry
end

---@type table<string, fun(params: table): any>
local METHODS = {
  initialize = function()
    return {
      serverInfo = { name = name },
      capabilities = {
        codeActionProvider = true,
        executeCommandProvider = {
          commands = vim.tbl_map(function(offered)
            return 'sessiond.' .. offered[2]
          end, M.OFFERED),
        },
        documentSymbolProvider = true,
      },
    }
  end,
  ['textDocument/codeAction'] = function(params)
    local id, entry = at(params)
    local actions = {}
    if id and entry then
      for _, offered in ipairs(M.OFFERED) do
        local command = { title = offered[1], command = 'sessiond.' .. offered[2], arguments = { id, entry } }
        actions[#actions + 1] = { title = offered[1], command = command }
      end
    end
    return actions
  end,
  ['textDocument/documentSymbol'] = function(params)
    local view = require('sessiond.tree.view').of(vim.uri_to_bufnr(params.textDocument.uri))
    local symbols = {}
    for place, row in ipairs(view and view.canvas.rows.list or {}) do
      if row.role == 'user' or row.label then
        local range =
          { start = { line = place - 1, character = 0 }, ['end'] = { line = place - 1, character = 0 } }
        local title = (row.label and '[' .. row.label .. '] ' or '') .. row.preview
        symbols[#symbols + 1] = {
          name = require('sessiond.text').one_line(title) .. ' ',
          kind = 15,
          range = range,
          selectionRange = range,
        }
      end
    end
    return symbols
  end,
  ['workspace/executeCommand'] = function(params)
    local action = params.command:match('^sessiond%.(.*)$')
    vim.schedule(function()
      require('sessiond.actions')[action](params.arguments[1], params.arguments[2])
    end)
  end,
}

---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function server(dispatchers)
  local closing, last = false, 0
  return {
    request = function(method, params, callback, replied)
      last = last + 1
      local id = last
      vim.schedule(function()
        local handle = METHODS[method]
        if replied then
          replied(id)
        end
        if handle then
          callback(nil, handle(params))
        elseif method == 'shutdown' then
          callback(nil, nil)
        else
          callback({ code = -32601, message = 'unknown method ' .. method })
        end
      end)
      return true, id
    end,
    notify = function(method)
      if method == 'exit' and not closing then
        closing = true
        dispatchers.on_exit(0, 0)
      end
      return true
    end,
    is_closing = function()
      return closing
    end,
    terminate = function()
      closing = true
    end,
  }
end

---Attach the server to a buffer.
---@param buffer integer of a tree or an entry
function M.attach(buffer)
  vim.lsp.start({ name = name, cmd = server, root_dir = '/' }, {
    bufnr = buffer,
    reuse_client = function(client)
      return client.name == name
    end,
  })
end

return M
