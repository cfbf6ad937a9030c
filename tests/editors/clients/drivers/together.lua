-- Requests of a test to a Neovim that goes on running.
local log = vim.api.nvim_get_current_buf()

function Outline()
  vim.cmd.buffer(log)
  vim.cmd.checktime() -- as when a person comes back to the window
  local params = { textDocument = { uri = vim.uri_from_bufnr(log) } }
  local answer = vim.lsp.buf_request_sync(log, 'textDocument/documentSymbol', params, 60000)
  local names = {}
  local function add(symbols)
    for _, symbol in ipairs(symbols) do
      table.insert(names, symbol.name)
      add(symbol.children or {})
    end
  end
  for _, from in pairs(answer or {}) do
    add(from.result or {})
  end
  return names
end

function Act(line, beginning)
  vim.cmd.buffer(log)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action) return vim.startswith(action.title, beginning) end,
  })
  return true
end
