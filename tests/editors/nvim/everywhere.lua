-- Checks for every supported Neovim. Run by `nvim --clean -l`, with a daemon and a session that
-- test_versions.py has made; prints one line for each thing that holds, and ends with 1 if one does not.
local id = arg[1]

local failed = false

---@param says string
---@param holds fun(): any
local function check(says, holds)
  local ok, value = pcall(function()
    local found
    vim.wait(45000, function()
      found = holds()
      return found
    end, 10)
    return found
  end)
  if ok and value then
    io.stdout:write('ok ', says, '\n')
  else
    failed = true
    io.stdout:write('not ok ', says, ': ', tostring(value), '\n', vim.fn.execute('messages'), '\n')
  end
end

---@param text string
---@return boolean
local function shows(text)
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find(text, 1, true) ~= nil
end

vim.cmd('runtime! plugin/sessiond.lua')
local sessiond = require('sessiond')

check('a call is answered', function()
  return sessiond.call('server/status', {}, 45000)
end)
check('an error has its kind', function()
  local _, err = sessiond.call('session/info', { sessionId = 'nobody-1' }, 45000)
  return err and err.data.kind == 'sessionNotFound'
end)
vim.cmd('Sessiond tree ' .. id)
check('a tree is shown', function()
  return shows('◉ assistant  It fails, as it should.') and shows('└─○ user       Fix it.')
end)
check('the tree has a file type', function()
  return vim.bo.filetype == 'sessiond-tree'
end)
vim.cmd('Sessiond append From everywhere.')
check('an append appears', function()
  return shows('◉ user       From everywhere.')
end)
check('a branch folds', function()
  return vim.fn.foldlevel(3) > 0 and vim.fn.foldlevel(1) == 0
end)
vim.cmd('normal! zR')
vim.api.nvim_win_set_cursor(0, { 4, 0 })
require('sessiond.tree.keys').ACTIONS.branch.run(require('sessiond.tree.view').of(0))
check('the leaf moves', function()
  return shows('◉ assistant  Done: it counts.')
end)
vim.cmd('Sessiond label here')
check('a label appears', function()
  return shows('[here] Done: it counts.')
end)
check('code actions are offered', function()
  local client = vim.lsp.get_clients({ bufnr = 0, name = 'sessiond-actions' })[1]
  local params = vim.lsp.util.make_range_params(0, 'utf-8')
  params.context = { diagnostics = {} }
  local answers = client and vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 10000)
  return answers and answers[client.id] and #answers[client.id].result > 3
end)
local entry = require('sessiond.current').entry()
vim.cmd('edit ' .. require('sessiond.buffers').entry_name(id, entry))
check('an entry is shown as Markdown', function()
  return shows('Done: it counts.') and vim.bo.filetype == 'markdown'
end)
local path = sessiond.call('session/info', { sessionId = id }, 45000).session.path
vim.cmd('edit ' .. vim.fn.fnameescape(path))
vim.cmd('filetype detect')
check('a session file has the client', function()
  return #vim.lsp.get_clients({ bufnr = 0, name = 'sessiond' }) == 1
end)
check('a session file has an outline', function()
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/documentSymbol', { textDocument = vim.lsp.util.make_text_document_params() }, 20000)
  for _, answer in pairs(answers or {}) do
    return answer.result and #answer.result > 0
  end
end)
local before = require('sessiond.connect').state().handshake.epoch
vim.cmd('Sessiond! restart')
check('the client is back after a restart of the daemon', function()
  local state = require('sessiond.connect').state()
  return state.handshake and state.handshake.epoch ~= before and #vim.lsp.get_clients({ bufnr = 0, name = 'sessiond' }) == 1
end)
check('health finds no error', function()
  local errors = {}
  local real = vim.health.error
  vim.health.error = function(text)
    errors[#errors + 1] = text
  end
  local ok, err = pcall(require('sessiond.health').check)
  vim.health.error = real
  return ok and #errors == 0 or error(vim.inspect(errors) .. tostring(err))
end)
vim.cmd(failed and 'cquit 1' or 'qall!')
